//! The listing of live resources: what exists, how large, how old, who made it.
//!
//! Owns [`Registry`]. Resources enter it one by one ([`Registry::register`]) or through an [`Inventory`] that
//! keeps its own books, as pools do. Invariant: a resource is listed from its registration until that is
//! dropped; totals are the sums over what is listed, and peaks never go down.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use anymetal_hal::clock::Clock;

use crate::memory::backtrace::Backtrace;
use crate::sync::{Mutex, lock};

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ResourceKind {
    /// A buffer.
    Buffer,
    /// A pooled buffer of a pool.
    PooledBuffer,
    /// A heap.
    Heap,
    /// A pipeline.
    Pipeline,
    /// A queue.
    Queue,
    /// An event.
    Event,
    /// A graph.
    Graph,
}

impl ResourceKind {
    fn word(self) -> &'static str {
        match self {
            ResourceKind::Buffer => "buffer",
            ResourceKind::PooledBuffer => "pooled buffer",
            ResourceKind::Heap => "heap",
            ResourceKind::Pipeline => "pipeline",
            ResourceKind::Queue => "queue",
            ResourceKind::Event => "event",
            ResourceKind::Graph => "graph",
        }
    }
}

/// A resource that lives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LiveResource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its name; may be empty.
    pub label: String,
    /// The bytes that were asked for.
    pub bytes: u64,
    /// The bytes that it takes.
    pub held_bytes: u64,
    /// How long it has lived, or for a pooled buffer, been acquired.
    pub age: Duration,
    /// Where it was made, if that is kept.
    pub backtrace: Option<Backtrace>,
}

impl fmt::Display for LiveResource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = if self.label.is_empty() { "(no label)" } else { &self.label };
        let (kind, bytes, age) = (self.kind.word(), self.bytes, self.age);
        write!(formatter, "{kind} `{label}`, {bytes} bytes, {age:?} old")?;
        match &self.backtrace {
            None => Ok(()),
            Some(backtrace) => write!(formatter, ", made at:\n{backtrace}"),
        }
    }
}

/// Keeps books of its own that a registry lists.
pub trait Inventory: Send + Sync {
    /// Adds what lives. `now` is the registry's time.
    fn list(&self, now: Duration, into: &mut Vec<LiveResource>);
}

/// Live resources of one kind, in sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegistryTotals {
    /// How many are registered one by one.
    pub count: usize,
    /// Their bytes.
    pub bytes: u64,
    /// The most there ever were.
    pub peak_count: usize,
    /// The most bytes there ever were.
    pub peak_bytes: u64,
}

/// Lists live resources. Clones are handles to the same listing.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<RegistryShared>,
}

struct RegistryShared {
    clock: Arc<dyn Clock>,
    backtraces: bool,
    state: Mutex<RegistryState>,
}

#[derive(Default)]
struct RegistryState {
    /// By the order of registration.
    entries: BTreeMap<u64, RegistryEntry>,
    next: u64,
    totals: RegistryTotals,
    inventories: Vec<Weak<dyn Inventory>>,
}

struct RegistryEntry {
    kind: ResourceKind,
    label: String,
    bytes: u64,
    since: Duration,
    backtrace: Option<Backtrace>,
}

/// A resource's place in the listing; dropping it takes the resource off.
pub struct Registration {
    shared: Arc<RegistryShared>,
    id: u64,
}

impl Registry {
    /// An empty listing; `backtraces` says whether to keep where resources were made.
    pub fn new(clock: Arc<dyn Clock>, backtraces: bool) -> Self {
        Registry {
            shared: Arc::new(RegistryShared {
                clock,
                backtraces,
                state: Mutex::new(RegistryState::default()),
            }),
        }
    }

    /// Lists a resource.
    pub fn register(&self, kind: ResourceKind, label: impl Into<String>, bytes: u64) -> Registration {
        let entry = RegistryEntry {
            kind,
            label: label.into(),
            bytes,
            since: self.shared.clock.now(),
            backtrace: Backtrace::capture(self.shared.backtraces),
        };
        let mut state = lock(&self.shared.state);
        let id = state.next;
        state.next += 1;
        state.entries.insert(id, entry);
        let totals = &mut state.totals;
        totals.count += 1;
        totals.bytes += bytes;
        totals.peak_count = totals.peak_count.max(totals.count);
        totals.peak_bytes = totals.peak_bytes.max(totals.bytes);
        Registration { shared: Arc::clone(&self.shared), id }
    }

    /// Lists what an inventory holds too, while it lives.
    pub fn attach(&self, inventory: Weak<dyn Inventory>) {
        let mut state = lock(&self.shared.state);
        state.inventories.retain(|known| known.strong_count() > 0);
        state.inventories.push(inventory);
    }

    /// What lives, the oldest first.
    pub fn live(&self) -> Vec<LiveResource> {
        let now = self.shared.clock.now();
        let (mut live, inventories) = {
            let state = lock(&self.shared.state);
            let own = state.entries.values().map(|entry| LiveResource {
                kind: entry.kind,
                label: entry.label.clone(),
                bytes: entry.bytes,
                held_bytes: entry.bytes,
                age: now.saturating_sub(entry.since),
                backtrace: entry.backtrace.clone(),
            });
            (own.collect::<Vec<_>>(), state.inventories.clone())
        };
        // Outside the lock: an inventory takes its own.
        for inventory in inventories.iter().filter_map(Weak::upgrade) {
            inventory.list(now, &mut live);
        }
        live.sort_by_key(|resource| std::cmp::Reverse(resource.age));
        live
    }

    /// The figures of what is registered one by one.
    pub fn totals(&self) -> RegistryTotals {
        lock(&self.shared.state).totals
    }

    /// For tests: panics with the listing if anything lives.
    #[track_caller]
    pub fn assert_no_leaks(&self) {
        let live = self.live();
        let listing: Vec<String> = live.iter().map(LiveResource::to_string).collect();
        assert!(live.is_empty(), "{} resources were not given back:\n{}", live.len(), listing.join("\n"));
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut state = lock(&self.shared.state);
        if let Some(entry) = state.entries.remove(&self.id) {
            state.totals.count -= 1;
            state.totals.bytes -= entry.bytes;
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registry").field("totals", &self.totals()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Registration").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use anymetal_hal::clock::ManualClock;

    use super::*;

    #[test]
    fn what_lives_is_listed_by_age_and_leaves_the_totals() {
        let clock = ManualClock::new();
        let registry = Registry::new(clock.clone(), true);
        let weights = registry.register(ResourceKind::Buffer, "weights", 64);
        clock.advance(Duration::from_secs(3));
        let queue = registry.register(ResourceKind::Queue, "", 0);
        let live = registry.live();
        assert_eq!((live.len(), live[0].label.as_str(), live[0].age.as_secs()), (2, "weights", 3));
        assert!(live[0].backtrace.is_some());
        assert!(live[1].to_string().starts_with("queue `(no label)`, 0 bytes, 0ns old, made at:"));
        drop(weights);
        let totals = RegistryTotals { count: 1, bytes: 0, peak_count: 2, peak_bytes: 64 };
        assert_eq!(registry.totals(), totals);
        drop(queue);
        registry.assert_no_leaks();
    }

    #[test]
    #[should_panic(expected = "1 resources were not given back:\nbuffer `lost`, 8 bytes")]
    fn a_leak_fails_the_test_with_its_label() {
        let registry = Registry::new(ManualClock::new(), false);
        let _lost = registry.register(ResourceKind::Buffer, "lost", 8);
        registry.assert_no_leaks();
    }
}
