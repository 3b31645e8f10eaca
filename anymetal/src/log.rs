//! Messages that kernels write (`os_log`, MSL specification 6.19).

pub use anymetal_hal::logging::{DEFAULT_LOG_BYTES, LogLevel, LogMessage, Logs};
