//! The bytes of a managed buffer: where copies are, and which of them are current.
//!
//! Owns [`Memory`]. A copy on the host or on a device is current if it has the memory's version; a
//! success that writes makes a new version. Between the commit of work that writes and its success
//! the copy on its device is *torn*: any part may be written.
//!
//! Invariants: a stale copy is never read; a torn one is read only to run the same work again;
//! contents whose last copy went with a device are lost, and every use is refused until they are
//! written anew. Concurrency: executions that share a memory exclude one another by the manager's
//! gate if one of them writes. `contents` is locked for copies between host and device memory, never
//! for the end of device work: what runs on a hung device may hold its buffers for ever.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

use anymetal_hal::sync::lock;

use super::core::Core;
use super::generation::Generation;
use super::host_bytes::HostBytes;
use anymetal::Buffer;
use anymetal::Error;

/// How a buffer's host copy is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// What the host writes is kept until device work changes it. Results are on their device only.
    #[default]
    Uploaded,
    /// After each execution that writes the buffer it is copied to the host, before the execution
    /// counts as done: no loss of a device loses its contents.
    HostCopy,
}

pub(super) struct Memory {
    id: u64,
    length: u64,
    label: String,
    durability: Durability,
    core: Weak<Core>,
    contents: Mutex<Contents>,
}

struct Contents {
    version: u64,
    /// The host's copy and its version.
    host: Option<(u64, HostBytes)>,
    /// By the number of the device's slot; all of generations that have not ended.
    replicas: BTreeMap<usize, Replica>,
    /// The device that the last copy was lost with.
    lost: Option<Arc<str>>,
    /// The slot that work on it left for another only because its device failed or was closed to it.
    displaced_from: Option<usize>,
}

struct Replica {
    generation: u64,
    device: Arc<str>,
    buffer: Buffer<u8>,
    state: ReplicaState,
}

/// The version before the first: of copies that are never current.
const NO_VERSION: u64 = 0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplicaState {
    /// All of that version.
    Version(u64),
    Torn,
}

/// Why a copy could not be made or read.
#[derive(Debug)]
pub(super) enum CopyError {
    /// The last copy went with that device.
    Lost(Arc<str>),
    /// The device that has a copy failed to give it.
    Source { slot: usize, generation: u64, error: Box<Error> },
    /// The device that is to have it failed.
    Target(Box<Error>),
}

/// Bytes to write over a torn copy.
#[derive(Debug)]
pub(super) struct Patch {
    pub(super) bytes: Range<u64>,
    pub(super) before: Vec<u8>,
}

impl Memory {
    pub(super) fn new(
        core: &Arc<Core>,
        length: u64,
        label: String,
        durability: Durability,
        host: HostBytes,
    ) -> Arc<Self> {
        let contents = Contents {
            version: 1,
            host: Some((1, host)),
            replicas: BTreeMap::new(),
            lost: None,
            displaced_from: None,
        };
        let (id, contents) = (core.next_id(), Mutex::new(contents));
        let memory = Arc::new(Memory { id, length, label, durability, core: Arc::downgrade(core), contents });
        core.note_memory(&memory);
        memory
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn durability(&self) -> Durability {
        self.durability
    }

    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        std::ptr::eq(self.core.as_ptr(), Arc::as_ptr(core))
    }

    /// The device that its contents were lost with.
    pub(super) fn lost_with(&self) -> Option<Arc<str>> {
        lock(&self.contents).lost.clone()
    }

    /// The bytes that would have to be moved before work on that device can use it. Contents that were
    /// displaced count as if they were still on the device that they left, so that work returns to it.
    pub(super) fn missing_on(&self, slot: usize) -> u64 {
        let contents = lock(&self.contents);
        let is_there = match contents.displaced_from {
            Some(home) => slot == home,
            None => contents.replicas.get(&slot).is_some_and(|replica| contents.is_current(replica)),
        };
        if is_there { 0 } else { self.length }
    }

    /// Notes where work ran that would have run on `preferred` if every device were open to it.
    pub(super) fn note_place(&self, preferred: usize, slot: usize) {
        lock(&self.contents).displaced_from = (slot != preferred).then_some(preferred);
    }

    /// Whether it has a buffer on that device.
    pub(super) fn is_on(&self, slot: usize) -> bool {
        lock(&self.contents).replicas.contains_key(&slot)
    }

    /// Whether the host has all of the present version.
    pub(super) fn has_host_copy(&self) -> bool {
        lock(&self.contents).host_copy().is_some()
    }

    /// Its buffer on a device, with the present contents: a current copy, or else a torn one with
    /// the patches written over it.
    pub(super) fn place(&self, site: &Generation, patches: &[Patch]) -> Result<Buffer<u8>, CopyError> {
        let mut contents = lock(&self.contents);
        if let Some(device) = &contents.lost {
            return Err(CopyError::Lost(Arc::clone(device)));
        }
        if site.has_ended() {
            return Err(CopyError::Target(Box::new(site.lost_error().into())));
        }
        let version = contents.version;
        let own = contents.replicas.get(&site.slot()).map(|own| (own.state, own.buffer.clone()));
        let buffer = match (contents.current()?, own) {
            (_, Some((ReplicaState::Version(own), buffer))) if own == version => return Ok(buffer),
            (Some(bytes), own) => {
                let buffer = self.fill(site, own.map(|(_, buffer)| buffer), bytes)?;
                contents.insert(site, buffer.clone(), ReplicaState::Version(version));
                return Ok(buffer);
            }
            (None, Some((ReplicaState::Torn, buffer))) => buffer,
            (None, own) => {
                let torn = contents.torn()?;
                self.fill(site, own.map(|(_, buffer)| buffer), HostBytes::Bytes(Arc::new(torn)))?
            }
        };
        for patch in patches {
            let written = buffer.as_hal().write(patch.bytes.start, &patch.before);
            written.map_err(|error| CopyError::Target(Box::new(error.into())))?;
        }
        contents.insert(site, buffer.clone(), ReplicaState::Torn);
        Ok(buffer)
    }

    /// Its buffer on a device for work that writes all of it and reads none: the contents are those of
    /// no version.
    pub(super) fn place_to_overwrite(&self, site: &Generation) -> Result<Buffer<u8>, CopyError> {
        let mut contents = lock(&self.contents);
        if site.has_ended() {
            return Err(CopyError::Target(Box::new(site.lost_error().into())));
        }
        if let Some(own) = contents.replicas.get(&site.slot()) {
            return Ok(own.buffer.clone());
        }
        let buffer = HostBytes::Zeros.in_new(site.device(), self.length, &self.label);
        let buffer = buffer.map_err(|error| CopyError::Target(Box::new(error)))?;
        contents.insert(site, buffer.clone(), ReplicaState::Version(NO_VERSION));
        Ok(buffer)
    }

    /// Work that writes it was committed.
    pub(super) fn begin_write(&self, site: &Generation) {
        if let Some(own) = lock(&self.contents).replicas.get_mut(&site.slot()) {
            own.state = ReplicaState::Torn;
        }
    }

    /// Work that wrote it succeeded, and this is the host's copy of the result if there is one. To
    /// be called within [`Generation::while_alive`].
    pub(super) fn finish_write(&self, site: &Generation, host: Option<Vec<u8>>) {
        let mut contents = lock(&self.contents);
        let next = contents.version + 1;
        if let Some(own) = contents.replicas.get_mut(&site.slot()) {
            own.state = ReplicaState::Version(next);
        }
        contents.version = next;
        contents.lost = None;
        contents.host = host.map(|bytes| (next, HostBytes::Bytes(Arc::new(bytes))));
    }

    /// After an execution that failed for good: the present version is restored if a copy of it is
    /// left, or if the patches are all that may have been written. Says whether it was.
    pub(super) fn settle(&self, patches: Option<&[Patch]>) -> bool {
        let mut contents = lock(&self.contents);
        let version = contents.version;
        // Contents that are lost stay lost.
        let has_copy = contents.lost.is_some()
            || contents.host_copy().is_some()
            || contents.replicas.values().any(|replica| replica.state == ReplicaState::Version(version));
        let torn = contents.replicas.values_mut().filter(|replica| replica.state == ReplicaState::Torn);
        let mut restored = true;
        for replica in torn {
            if has_copy {
                replica.state = ReplicaState::Version(NO_VERSION);
                continue;
            }
            let write =
                |patch: &Patch| replica.buffer.as_hal().write(patch.bytes.start, &patch.before).is_ok();
            restored &= patches.is_some_and(|patches| patches.iter().all(write));
            replica.state = ReplicaState::Version(version);
        }
        restored
    }

    /// The device's generation ended: forgets the copy there. Says whether that was the last.
    pub(super) fn forget(&self, slot: usize, generation: u64) -> bool {
        let mut contents = lock(&self.contents);
        let is_there = contents.replicas.get(&slot).is_some_and(|own| own.generation == generation);
        let Some(gone) = is_there.then(|| contents.replicas.remove(&slot)).flatten() else {
            return false;
        };
        let version = contents.version;
        let is_left = |replica: &Replica| {
            replica.state == ReplicaState::Version(version) || replica.state == ReplicaState::Torn
        };
        let is_lost = contents.host_copy().is_none() && !contents.replicas.values().any(is_left);
        if is_lost {
            contents.lost = Some(Arc::clone(&gone.device));
        }
        drop(contents);
        drop(gone);
        is_lost
    }

    /// Gives up the copy on a device if another one is current; the caller knows that nothing uses
    /// it.
    pub(super) fn release(&self, slot: usize) {
        let mut contents = lock(&self.contents);
        let version = contents.version;
        let elsewhere = contents.host_copy().is_some()
            || contents
                .replicas
                .iter()
                .any(|(other, replica)| *other != slot && replica.state == ReplicaState::Version(version));
        let stale =
            contents.replicas.get(&slot).is_some_and(|own| own.state != ReplicaState::Version(version));
        let released =
            if elsewhere || (stale && !contents.is_torn()) { contents.replicas.remove(&slot) } else { None };
        drop(contents);
        drop(released);
    }

    /// A copy of a range of the present contents.
    pub(super) fn read(&self, bytes: Range<u64>) -> Result<Vec<u8>, CopyError> {
        let contents = lock(&self.contents);
        if let Some(device) = &contents.lost {
            return Err(CopyError::Lost(Arc::clone(device)));
        }
        let range = bytes.start as usize..bytes.end as usize;
        match contents.host_copy() {
            Some(HostBytes::Zeros) => Ok(vec![0; range.len()]),
            Some(HostBytes::Bytes(all)) => Ok(all[range].to_vec()),
            None => {
                let (slot, replica) = contents.current_replica().ok_or_else(|| contents.nothing_left())?;
                replica.read(slot, bytes)
            }
        }
    }

    /// Overwrites a range from the host.
    pub(super) fn write(&self, offset: u64, source: &[u8]) -> Result<(), CopyError> {
        let is_whole = source.len() as u64 == self.length;
        let mut all = match is_whole {
            true => source.to_vec(),
            false => self.read(0..self.length)?,
        };
        if !is_whole {
            all[offset as usize..offset as usize + source.len()].copy_from_slice(source);
        }
        self.replace(HostBytes::Bytes(Arc::new(all)));
        Ok(())
    }

    /// New contents, from the host.
    pub(super) fn replace(&self, host: HostBytes) {
        let mut contents = lock(&self.contents);
        contents.version += 1;
        contents.host = Some((contents.version, host));
        contents.lost = None;
    }

    /// Keeps a copy of the present version on the host.
    pub(super) fn keep(&self, bytes: Vec<u8>) {
        let mut contents = lock(&self.contents);
        contents.host = Some((contents.version, HostBytes::Bytes(Arc::new(bytes))));
    }

    /// Writes the bytes into the buffer, or into a new one.
    fn fill(
        &self,
        site: &Generation,
        buffer: Option<Buffer<u8>>,
        bytes: HostBytes,
    ) -> Result<Buffer<u8>, CopyError> {
        let filled = match buffer {
            Some(buffer) => bytes.write_to(&buffer, self.length).map(|()| buffer),
            None => bytes.in_new(site.device(), self.length, &self.label),
        };
        filled.map_err(|error| CopyError::Target(Box::new(error)))
    }
}

impl Contents {
    fn is_current(&self, replica: &Replica) -> bool {
        replica.state == ReplicaState::Version(self.version)
    }

    fn is_torn(&self) -> bool {
        self.replicas.values().any(|replica| replica.state == ReplicaState::Torn)
    }

    fn host_copy(&self) -> Option<&HostBytes> {
        self.host.as_ref().filter(|(version, _)| *version == self.version).map(|(_, bytes)| bytes)
    }

    fn current_replica(&self) -> Option<(usize, &Replica)> {
        let mut all = self.replicas.iter().map(|(slot, replica)| (*slot, replica));
        all.find(|(_, replica)| self.is_current(replica))
    }

    /// The present version, from wherever it is.
    fn current(&self) -> Result<Option<HostBytes>, CopyError> {
        if let Some(bytes) = self.host_copy() {
            return Ok(Some(bytes.clone()));
        }
        let replica = self.current_replica().map(|(slot, replica)| replica.read_all(slot));
        Ok(replica.transpose()?.map(|bytes| HostBytes::Bytes(Arc::new(bytes))))
    }

    fn torn(&self) -> Result<Vec<u8>, CopyError> {
        let mut torn = self.replicas.iter().filter(|(_, replica)| replica.state == ReplicaState::Torn);
        let (slot, replica) = torn.next().ok_or_else(|| self.nothing_left())?;
        replica.read_all(*slot)
    }

    /// Only told if there is neither a copy nor a loss, which does not happen: it is a loss then.
    fn nothing_left(&self) -> CopyError {
        CopyError::Lost(self.lost.clone().unwrap_or_else(|| Arc::from("its device")))
    }

    fn insert(&mut self, site: &Generation, buffer: Buffer<u8>, state: ReplicaState) {
        let (generation, device) = (site.number(), Arc::clone(site.name()));
        self.replicas.insert(site.slot(), Replica { generation, device, buffer, state });
    }
}

impl Replica {
    fn read_all(&self, slot: usize) -> Result<Vec<u8>, CopyError> {
        self.read(slot, 0..self.buffer.len() as u64)
    }

    fn read(&self, slot: usize, bytes: Range<u64>) -> Result<Vec<u8>, CopyError> {
        let mut read = vec![0; (bytes.end - bytes.start) as usize];
        let generation = self.generation;
        let copied = self.buffer.as_hal().read(bytes.start, &mut read);
        copied.map_err(|error| CopyError::Source { slot, generation, error: Box::new(error.into()) })?;
        Ok(read)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.forget_memory(self.id);
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Memory")
            .field("id", &self.id)
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
