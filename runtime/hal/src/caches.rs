//! The list of the process's caches: what each contains, its limit, and how to empty it.
//!
//! Owns [`CacheOwner`], [`usage`] and [`trim`]. Compilers, devices and pools list their caches here.
//! Invariant: an owner is listed while it is alive. Concurrency: the list is not locked while an owner is
//! called, so owners may take their locks.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use anymetal_types::setters;

/// The bound of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheLimit {
    /// The number of entries.
    Entries(u64),
    /// Bytes; `u64::MAX` where only the memory of the device bounds them.
    Bytes(u64),
    /// Instructions of intermediate code.
    Instructions(u64),
    /// The pipelines and graphs that are alive: an entry ends with the last of them that uses it.
    Pipelines,
}

/// The contents of a cache at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheUsage {
    /// The contents, such as `artifacts`.
    pub name: &'static str,
    /// The device or component that it belongs to.
    pub owner: String,
    /// The number of entries.
    pub entries: u64,
    /// The bytes of code, text or buffers in them, without bookkeeping.
    pub bytes: u64,
    /// Its bound.
    pub limit: CacheLimit,
}

impl CacheUsage {
    /// An empty cache.
    #[must_use]
    pub fn new(name: &'static str, owner: impl Into<String>, limit: CacheLimit) -> Self {
        CacheUsage { name, owner: owner.into(), entries: 0, bytes: 0, limit }
    }
}

setters!(CacheUsage { entries: u64, bytes: u64 });

/// An object with caches.
pub trait CacheOwner: Send + Sync {
    /// Adds the usage of each of its caches.
    fn usage(&self, into: &mut Vec<CacheUsage>);

    /// Drops the entries that nothing uses.
    fn trim(&self);
}

static OWNERS: Mutex<Vec<Weak<dyn CacheOwner>>> = Mutex::new(Vec::new());

/// Lists the caches of an object while it is alive.
pub fn register(owner: Weak<dyn CacheOwner>) {
    let mut owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    owners.retain(|known| known.strong_count() > 0);
    owners.push(owner);
}

/// The usage of all caches of this process, by owner and name.
#[must_use]
pub fn usage() -> Vec<CacheUsage> {
    let mut usage = Vec::new();
    live().iter().for_each(|owner| owner.usage(&mut usage));
    usage.sort_by(|a, b| (&a.owner, a.name).cmp(&(&b.owner, b.name)));
    usage
}

/// Empties all caches of this process as far as nothing uses the entries.
pub fn trim() {
    live().iter().for_each(|owner| owner.trim());
}

fn live() -> Vec<Arc<dyn CacheOwner>> {
    let owners = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    owners.iter().filter_map(Weak::upgrade).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Owner(AtomicU64);

    impl CacheOwner for Owner {
        fn usage(&self, into: &mut Vec<CacheUsage>) {
            let entries = self.0.load(Ordering::SeqCst);
            let (owner, limit) = ("caches::tests".to_owned(), CacheLimit::Entries(8));
            into.push(CacheUsage { name: "numbers", owner, entries, bytes: 8 * entries, limit });
        }

        fn trim(&self) {
            self.0.store(0, Ordering::SeqCst);
        }
    }

    fn listed() -> Vec<CacheUsage> {
        usage().into_iter().filter(|usage| usage.owner == "caches::tests").collect()
    }

    #[test]
    fn owners_are_listed_and_trimmed_while_they_live() {
        let owner = Arc::new(Owner(AtomicU64::new(3)));
        let listing: Arc<dyn CacheOwner> = Arc::<Owner>::clone(&owner);
        register(Arc::downgrade(&listing));
        drop(listing);
        assert_eq!(listed().iter().map(|usage| (usage.entries, usage.bytes)).collect::<Vec<_>>(), [(3, 24)]);
        trim();
        assert_eq!(listed()[0].entries, 0);
        drop(owner);
        assert_eq!(listed(), []);
    }
}
