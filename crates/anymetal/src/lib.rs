//! Metal compute on any machine: the crate users depend on.
