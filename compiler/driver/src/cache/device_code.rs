//! Code that a device's driver compiled, in the disk cache.

use std::sync::Arc;

use anymetal_hal::code_cache::CodeCache;

use super::disk::{DiskCache, Kind};
use crate::key::Key;

/// The disk cache as devices see it.
#[derive(Debug)]
pub(crate) struct DeviceCode(pub(crate) Arc<DiskCache>);

impl CodeCache for DeviceCode {
    fn read(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.0.read(Kind::DeviceCode, &Key::of_bytes(name))
    }

    fn write(&self, name: &[u8], bytes: &[u8]) {
        self.0.write(Kind::DeviceCode, &Key::of_bytes(name), bytes);
    }

    fn forget(&self, name: &[u8]) {
        self.0.remove(Kind::DeviceCode, &Key::of_bytes(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::note::Notes;

    #[test]
    fn code_is_kept_by_its_name_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let disk = || Arc::new(DiskCache::new(folder.path(), 1 << 20, Arc::new(Notes::default())));
        DeviceCode(disk()).write(b"sm_90 a", b"code");
        let again = DeviceCode(disk());
        assert_eq!(again.read(b"sm_90 a").as_deref(), Some(&b"code"[..]));
        assert_eq!(again.read(b"sm_90 b"), None);
        again.forget(b"sm_90 a");
        assert_eq!(again.read(b"sm_90 a"), None);
    }
}
