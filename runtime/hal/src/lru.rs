//! A map of bounded size that drops the least recently used entry.
//!
//! Owns [`LruMap`]. Invariant: it never has more entries than its limit. For few entries, or entries that are
//! expensive to make: finding the oldest one visits all.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// A map of at most `limit` entries.
#[derive(Debug)]
pub struct LruMap<K, V> {
    limit: usize,
    /// Values, and when each was last used.
    entries: BTreeMap<K, (V, u64)>,
    clock: u64,
}

impl<K: Ord + Clone, V> LruMap<K, V> {
    /// An empty map.
    ///
    /// # Panics
    /// If `limit` is zero.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        assert!(limit > 0, "a map without entries has no use");
        Self { limit, entries: BTreeMap::new(), clock: 0 }
    }

    /// The value of a key, which becomes the most recently used one.
    pub fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.clock += 1;
        let (value, used) = self.entries.get_mut(key)?;
        *used = self.clock;
        Some(value)
    }

    /// Adds or replaces an entry. Returns the entry that this one displaces, for the caller to drop outside
    /// its lock.
    #[must_use = "dropping an entry may take long: do so without a lock"]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.clock += 1;
        if let Some((old, _)) = self.entries.insert(key, (value, self.clock)) {
            return Some(old);
        }
        if self.entries.len() <= self.limit {
            return None;
        }
        let oldest = self.entries.iter().min_by_key(|(_, (_, used))| *used).map(|(key, _)| key.clone());
        let oldest = oldest.expect("a map above its limit has entries");
        self.entries.remove(&oldest).map(|(value, _)| value)
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.keys()
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_displaced() {
        let mut map = LruMap::new(2);
        assert_eq!([map.insert("a", 1), map.insert("b", 2)], [None, None]);
        assert_eq!(map.get("a"), Some(&1));
        assert_eq!(map.insert("c", 3), Some(2));
        assert_eq!(["a", "b", "c"].map(|key| map.get(key).copied()), [Some(1), None, Some(3)]);
    }

    #[test]
    fn replacing_an_entry_displaces_no_other() {
        let mut map = LruMap::new(2);
        assert_eq!([map.insert("a", 1), map.insert("b", 2), map.insert("a", 4)], [None, None, Some(1)]);
        assert_eq!((map.len(), map.get("b")), (2, Some(&2)));
    }
}
