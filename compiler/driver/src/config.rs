//! The cache's settings and their environment variables.
//!
//! The only module of the crate that reads the environment (LLVM's own search is in `anymetal_llvm`).

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy;

/// Where results are kept and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheConfig {
    /// The folder of the disk cache; `None` switches it off.
    pub folder: Option<PathBuf>,
    /// The bytes that the disk cache may take; the longest unused entries go first.
    pub max_disk_bytes: u64,
    /// How many parsed or known sources are kept in memory.
    pub libraries_in_memory: usize,
    /// How many artifacts are kept in memory.
    pub artifacts_in_memory: usize,
}

impl CacheConfig {
    /// In memory only.
    pub fn memory_only() -> Self {
        CacheConfig {
            folder: None,
            max_disk_bytes: 512 << 20,
            libraries_in_memory: 16,
            artifacts_in_memory: 512,
        }
    }

    /// In memory and in that folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        CacheConfig { folder: Some(folder.into()), ..CacheConfig::memory_only() }
    }

    /// The user's cache folder, changed by `ANYMETAL_CACHE`: `off`, or the path of a folder.
    pub fn from_environment() -> Self {
        Self::from_setting(anymetal_environment::value("ANYMETAL_CACHE"), user_cache_folder)
    }

    fn from_setting(setting: Option<OsString>, default: impl FnOnce() -> Option<PathBuf>) -> Self {
        let setting = setting.filter(|value| !value.is_empty());
        let folder = match setting {
            Some(value) if ["off", "none", "0"].iter().any(|off| value.eq_ignore_ascii_case(off)) => None,
            Some(value) => Some(PathBuf::from(value)),
            None => default(),
        };
        CacheConfig { folder, ..CacheConfig::memory_only() }
    }
}

/// `~/.cache/anymetal` or what the platform has instead; `None` where there is no home folder.
fn user_cache_folder() -> Option<PathBuf> {
    etcetera::choose_base_strategy().ok().map(|strategy| strategy.cache_dir().join("anymetal"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(setting: Option<&str>) -> Option<PathBuf> {
        CacheConfig::from_setting(setting.map(OsString::from), || Some(PathBuf::from("/home/x"))).folder
    }

    #[test]
    fn the_variable_switches_off_or_moves_the_cache() {
        assert_eq!(folder(None), Some(PathBuf::from("/home/x")));
        assert_eq!(folder(Some("")), Some(PathBuf::from("/home/x")));
        assert_eq!(folder(Some("OFF")), None);
        assert_eq!(folder(Some("/tmp/c")), Some(PathBuf::from("/tmp/c")));
    }
}
