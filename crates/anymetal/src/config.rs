//! The environment variables that the crate reads; the only module that does.

/// The device that the user wants: `ANYMETAL_DEVICE`, if it is set and not empty.
pub(crate) fn device_name() -> Option<String> {
    std::env::var("ANYMETAL_DEVICE").ok().filter(|name| !name.trim().is_empty())
}
