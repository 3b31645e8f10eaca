//! Tenants: users of one device whose memory and work are counted and limited.

pub use anymetal_core::tenant::{QuotaError, Tenant, TenantLimits, TenantUsage, TimeShare};
