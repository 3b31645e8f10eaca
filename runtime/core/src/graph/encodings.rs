//! A graph's pieces in a device's own form, for each way of running it.
//!
//! Owns [`Encodings`]. Encoding costs about as much as one run without it, so a way of running is only
//! divided into parts by its first run, and encoded by the second with the same arguments. Invariant: what is
//! encoded is what the present arguments say: whoever changes one calls [`Encodings::forget`]. Concurrency:
//! everything is behind one lock, held while a device encodes.

use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::command::Command;
use anymetal_hal::device::Device;
use anymetal_hal::indirect::IndirectCommandBuffer;

use crate::graph::partition::Partition;

/// More ways of running one graph are not kept; the oldest goes.
const MAX_KEPT: usize = 8;
/// Fewer commands are as quickly given as they are.
const FEWEST_COMMANDS: usize = 2;

/// A way of running a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// As one command buffer.
    Whole,
    /// Over so many streams.
    Over(usize),
    /// In pieces between what the host does.
    BetweenHostNodes,
}

/// A part in the form of a device, or nothing where that does not pay or is not possible.
pub(crate) type EncodedPartition = Option<Arc<dyn IndirectCommandBuffer>>;

/// What a way of running consists of.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    /// The parts, in the order of handing them over.
    pub(crate) partitions: Arc<[Partition]>,
    /// Each part's form, if they have been encoded.
    encoded: Option<Arc<[EncodedPartition]>>,
}

impl Prepared {
    /// The form of a part, if it has one.
    pub(crate) fn encoded(&self, partition: usize) -> EncodedPartition {
        self.encoded.as_ref().and_then(|encoded| encoded[partition].clone())
    }
}

/// The ways in which a graph has run with its present arguments.
#[derive(Debug, Default)]
pub(crate) struct Encodings {
    entries: Mutex<Vec<EncodedRun>>,
}

#[derive(Debug)]
struct EncodedRun {
    mode: RunMode,
    partitions: Arc<[Partition]>,
    /// By which device.
    encoded: Option<(Arc<dyn Device>, Arc<[EncodedPartition]>)>,
}

impl Encodings {
    /// An argument has changed.
    pub(crate) fn forget(&mut self) {
        self.entries.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The parts of a way of running, and their forms for that device if it pays. `divide` makes the parts,
    /// `commands` those of some nodes; a mistake in the graph is told by the run itself.
    pub(crate) fn prepare(
        &self,
        mode: RunMode,
        device: &Arc<dyn Device>,
        divide: impl FnOnce() -> Vec<Partition>,
        commands: impl Fn(&[usize]) -> Option<Vec<Command>>,
    ) -> Prepared {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = entries.iter_mut().find(|entry| entry.mode == mode) else {
            if entries.len() >= MAX_KEPT {
                entries.remove(0);
            }
            let partitions: Arc<[Partition]> = divide().into();
            entries.push(EncodedRun { mode, partitions: Arc::clone(&partitions), encoded: None });
            return Prepared { partitions, encoded: None };
        };
        let same = |of: &Arc<dyn Device>| std::ptr::addr_eq(Arc::as_ptr(of), Arc::as_ptr(device));
        let partitions = Arc::clone(&entry.partitions);
        if let Some((_, encoded)) = entry.encoded.as_ref().filter(|(of, _)| same(of)) {
            return Prepared { partitions, encoded: Some(Arc::clone(encoded)) };
        }
        let encode = |partition: &Partition| -> EncodedPartition {
            let pays = partition.nodes.len() >= FEWEST_COMMANDS;
            pays.then(|| device.indirect_command_buffer(commands(&partition.nodes)?).ok()).flatten()
        };
        let encoded: Arc<[EncodedPartition]> = partitions.iter().map(encode).collect();
        entry.encoded = Some((Arc::clone(device), Arc::clone(&encoded)));
        Prepared { partitions, encoded: Some(encoded) }
    }

    /// How many parts of a way of running a device has encoded.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn encoded_partitions(&self, mode: RunMode) -> usize {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter().find(|entry| entry.mode == mode);
        let encoded = entry.and_then(|entry| entry.encoded.as_ref());
        encoded.map_or(0, |(_, encoded)| encoded.iter().flatten().count())
    }
}
