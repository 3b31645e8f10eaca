//! The code of a device's pipelines: its size, and the bound on code that is kept for later launches.
//!
//! Owns [`CodeAccount`]. Code for one threadgroup size can be compiled again, so the least recently used code
//! of this kind is evicted beyond a number of bytes. Code for any size belongs to its pipeline and is only
//! counted.
//! Invariant: the code that was added last stays, so that a launch whose code alone exceeds the bound runs.
//! Concurrency: the list is not locked while code is evicted.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use anymetal_hal::artifact::Artifact;
use anymetal_hal::caches::{CacheLimit, CacheOwner, CacheUsage};
use anymetal_hal::pipeline::Pipeline as HalPipeline;

/// Code that a pipeline can do without.
pub(crate) trait Evictable: Debug + Send + Sync {
    /// [`CodeAccount::tick`] at the last launch with it.
    fn last_used(&self) -> u64;

    /// Removes it from its pipeline. It ends with the last launch or graph that has it.
    fn evict(&self);
}

/// The account of one device.
#[derive(Debug)]
pub(crate) struct CodeAccount {
    device: String,
    limit: u64,
    clock: AtomicU64,
    loaded: Mutex<Vec<Loaded>>,
}

#[derive(Debug)]
struct Loaded {
    /// Keeps the allocation, so that its address names one artifact. Devices load an artifact once for all
    /// its pipelines, and it is counted once.
    artifact: Weak<Artifact>,
    bytes: u64,
    code: Weak<dyn HalPipeline>,
    /// The entry that keeps it for later launches; dangling after an eviction.
    kept: Option<Weak<dyn Evictable>>,
}

impl Loaded {
    fn address(&self) -> usize {
        self.artifact.as_ptr().addr()
    }

    fn kept(&self) -> Option<Arc<dyn Evictable>> {
        self.kept.as_ref()?.upgrade()
    }
}

impl CodeAccount {
    pub(crate) fn new(device: &str, limit: u64) -> Self {
        let (clock, loaded) = (AtomicU64::new(0), Mutex::default());
        CodeAccount { device: device.to_owned(), limit, clock, loaded }
    }

    /// The time of a use, which later uses exceed.
    pub(crate) fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Counts code while it lives. Code that an entry keeps may displace other code that entries keep.
    pub(crate) fn add(
        &self,
        artifact: &Arc<Artifact>,
        code: &Arc<dyn HalPipeline>,
        kept: Option<Weak<dyn Evictable>>,
    ) {
        let (bytes, artifact, code) = (artifact.code.bytes(), Arc::downgrade(artifact), Arc::downgrade(code));
        let mut loaded = self.lock();
        loaded.retain(|loaded| loaded.code.strong_count() > 0);
        let victims = match kept {
            Some(_) => excess(&loaded, artifact.as_ptr().addr(), self.limit.saturating_sub(bytes)),
            None => Vec::new(),
        };
        loaded.push(Loaded { artifact, bytes, code, kept });
        drop(loaded);
        victims.iter().for_each(|victim| victim.evict());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries to evict, the least recently used first, so that the code of the others has at most `limit`
/// bytes in all, without the artifact at `spared`.
fn excess(loaded: &[Loaded], spared: usize, limit: u64) -> Vec<Arc<dyn Evictable>> {
    let kept = loaded.iter().filter_map(|loaded| Some((loaded.address(), loaded.bytes, loaded.kept()?)));
    let mut kept: Vec<_> = kept.filter(|(address, ..)| *address != spared).collect();
    let mut entries: BTreeMap<usize, usize> = BTreeMap::new();
    let mut total = 0;
    for (address, bytes, _) in &kept {
        let count = entries.entry(*address).or_default();
        if *count == 0 {
            total += bytes;
        }
        *count += 1;
    }
    kept.sort_by_key(|(_, _, entry)| entry.last_used());
    let mut victims = Vec::new();
    for (address, bytes, entry) in kept {
        if total <= limit {
            break;
        }
        let count = entries.get_mut(&address).expect("each entry was counted");
        *count -= 1;
        if *count == 0 {
            total -= bytes;
        }
        victims.push(entry);
    }
    victims
}

impl CacheOwner for CodeAccount {
    fn usage(&self, into: &mut Vec<CacheUsage>) {
        let loaded = self.lock();
        let (mut kept, mut others) = (BTreeMap::new(), BTreeMap::new());
        for loaded in loaded.iter().filter(|loaded| loaded.code.strong_count() > 0) {
            let list = if loaded.kept().is_some() { &mut kept } else { &mut others };
            list.insert(loaded.address(), loaded.bytes);
        }
        others.retain(|address, _| !kept.contains_key(address));
        let mut list = |name, code: &BTreeMap<usize, u64>, limit| {
            let usage = CacheUsage::new(name, self.device.clone(), limit);
            into.push(usage.entries(code.len() as u64).bytes(code.values().sum()));
        };
        list("code for threadgroup sizes", &kept, CacheLimit::Bytes(self.limit));
        list("code of pipelines", &others, CacheLimit::Pipelines);
    }

    fn trim(&self) {
        let kept: Vec<_> = self.lock().iter().filter_map(Loaded::kept).collect();
        kept.iter().for_each(|entry| entry.evict());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Error};

    #[test]
    fn trimming_evicts_the_code_that_can_be_compiled_again() -> Result<(), Error> {
        let device = Device::system_default()?;
        let source = "kernel void set(device uint *y) { y[0] = 1; }";
        let set = device.library_from_source(source)?.pipeline("set")?;
        set.warm_up([32, 64])?;
        set.compile()?;
        // Not of the whole process, whose other tests have code.
        device.code().trim();
        assert_eq!(set.compiled_group_sizes(), Vec::<[u32; 3]>::new());
        let mut usage = Vec::new();
        device.code().usage(&mut usage);
        let entries = usage.iter().map(|usage| (usage.name, usage.entries >= 1)).collect::<Vec<_>>();
        assert_eq!(entries, [("code for threadgroup sizes", false), ("code of pipelines", true)]);
        Ok(())
    }
}
