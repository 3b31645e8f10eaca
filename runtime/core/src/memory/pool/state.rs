//! The books of a pool: which block is in which hands, by class, and the totals.
//!
//! Owns [`PoolState`], which one lock of the pool guards. It allocates nothing, reads no clock and drops no
//! device memory: blocks that leave are handed to the caller, which drops them outside the lock.
//!
//! Invariant: each slot is in exactly one [`Hands`]; `idle` blocks have no handle but the one here and no
//! submitted work that uses them, so whoever takes one has it alone; the totals are the sums over the slots.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use anymetal_hal::buffer::{Buffer, StorageMode};

use crate::memory::backtrace::Backtrace;
use crate::memory::budget::Reservation;
use crate::memory::pool::PoolLimits;
use crate::memory::pool::stats::{PoolStats, Totals};
use crate::memory::size_class::CLASS_COUNT;

/// How many busy blocks of a class a acquire looks at: the oldest are done first, save for a few stragglers.
const LOOKED_AT: usize = 4;

/// A name for listings: a literal costs nothing.
pub(crate) type Label = Cow<'static, str>;

/// The list of blocks of one storage mode and class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shelf(u32);

impl Shelf {
    /// The shelf of a mode and class.
    pub(crate) fn new(mode: StorageMode, class: usize) -> Self {
        let mode = match mode {
            StorageMode::Shared => 0,
            StorageMode::Private => 1,
            StorageMode::Managed => 2,
        };
        Shelf((mode * CLASS_COUNT + class) as u32)
    }

    /// Whether its blocks are out of the host's reach, so that the pool cannot clear them.
    fn is_private(self) -> bool {
        self == Shelf::new(StorageMode::Private, self.0 as usize % CLASS_COUNT)
    }

    /// The shelf of the same mode with the next larger class.
    pub(crate) fn larger(self) -> Option<Self> {
        let class = self.0 as usize % CLASS_COUNT;
        (class + 1 < CLASS_COUNT).then_some(Shelf(self.0 + 1))
    }
}

/// All shelves of a pool.
const SHELF_COUNT: usize = 3 * CLASS_COUNT;

/// Names a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotId(u32);

/// Device memory of the pool with the part of the budget that it takes.
#[derive(Debug)]
pub(crate) struct Block {
    // Dropped first: the budget is free once the memory is.
    pub(crate) buffer: Arc<dyn Buffer>,
    pub(crate) _reservation: Option<Reservation>,
}

impl Block {
    /// Whether this handle is the only one and the device is done.
    pub(crate) fn is_free(&self) -> bool {
        // Weak handles do not count: recorders name buffers by them, and nobody makes a handle of one.
        let alone = Arc::strong_count(&self.buffer) == 1;
        // What the other handles were used for has happened, seen from here.
        fence(Ordering::Acquire);
        alone && self.buffer.is_unused()
    }
}

/// Whose data a block may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// It is new, and all zero.
    Nobody,
    /// The program's, outside of any tenant.
    Program,
    /// The tenant's with that identifier.
    Tenant(u64),
}

impl Owner {
    /// Whether a block of this owner shows the holder what it must not see.
    fn is_hidden_from(self, holder: Owner) -> bool {
        self != Owner::Nobody && self != holder
    }
}

/// One block's entry.
#[derive(Debug)]
struct BlockSlot {
    shelf: Shelf,
    /// Whose data the block may hold: its last holder's.
    owner: Owner,
    /// The block's bytes.
    capacity: u64,
    /// When it came into these hands.
    since: Duration,
    hands: Hands,
}

impl BlockSlot {
    /// Whether the holder may have the block, if need be after the pool has cleared it.
    fn may_go_to(&self, holder: Owner) -> bool {
        !self.shelf.is_private() || !self.owner.is_hidden_from(holder)
    }
}

/// Who has a block.
#[derive(Debug)]
enum Hands {
    /// Nobody: the slot is free.
    Vacant,
    /// A holder, or a caller who is allocating it.
    Acquired(Holding),
    /// The pool; submitted work or another handle still uses it as what its last holder had.
    Busy(Block, Holding),
    /// The pool alone.
    Idle(Block),
}

/// What a holder asked for.
#[derive(Debug)]
struct Holding {
    length: u64,
    label: Label,
    backtrace: Option<Backtrace>,
}

#[derive(Debug, Clone, Default)]
struct Lists {
    /// Taken from the back, where the most recently used are; the oldest are at the front.
    idle: VecDeque<SlotId>,
    busy: VecDeque<SlotId>,
}

/// A block that is in use, for listings.
#[derive(Debug)]
pub(crate) struct UsedBlock {
    pub(crate) label: Label,
    pub(crate) length: u64,
    pub(crate) capacity: u64,
    pub(crate) since: Duration,
    pub(crate) backtrace: Option<Backtrace>,
}

/// The holder of a block.
#[derive(Debug)]
pub(crate) struct Holder {
    /// [`Owner::Nobody`] if the block is not going to be used.
    pub(crate) owner: Owner,
    pub(crate) length: u64,
    pub(crate) label: Label,
    pub(crate) backtrace: Option<Backtrace>,
    pub(crate) now: Duration,
}

/// A block that a holder takes.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) slot: SlotId,
    pub(crate) block: Block,
    /// It holds another owner's data, and must be cleared before the holder has it.
    pub(crate) is_foreign: bool,
}

/// What keeps a reservation from being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shortage {
    Bytes,
    Buffers,
}

/// The books.
#[derive(Debug)]
pub(crate) struct PoolState {
    slots: Vec<BlockSlot>,
    vacant: Vec<SlotId>,
    lists: Box<[Lists]>,
    totals: Totals,
    /// Callers that wait for a block to come back.
    pub(crate) waiting: usize,
}

impl Default for PoolState {
    fn default() -> Self {
        PoolState {
            slots: Vec::new(),
            vacant: Vec::new(),
            lists: vec![Lists::default(); SHELF_COUNT].into(),
            totals: Totals::default(),
            waiting: 0,
        }
    }
}

impl PoolState {
    /// Takes a block from the shelf, or from one of the next few larger ones. Private ones are only taken of
    /// the same owner.
    pub(crate) fn take(&mut self, shelf: Shelf, larger_steps: u32, holder: Holder) -> Result<Taken, Holder> {
        self.totals.acquisitions += 1;
        let mut next = Some(shelf);
        for _ in 0..=larger_steps {
            let Some(shelf) = next else { break };
            let found = self.take_idle(shelf, holder.owner).or_else(|| self.take_busy(shelf, holder.owner));
            if let Some(slot) = found {
                let is_foreign = self.slots[slot.0 as usize].owner.is_hidden_from(holder.owner);
                return match self.hand_out(slot, holder) {
                    Some(block) => Ok(Taken { slot, block, is_foreign }),
                    // A shelf only lists slots that have their block.
                    None => unreachable!("a shelved slot without a block"),
                };
            }
            next = shelf.larger();
        }
        Err(holder)
    }

    /// Takes the most recently used idle block of the shelf that the holder may have.
    fn take_idle(&mut self, shelf: Shelf, holder: Owner) -> Option<SlotId> {
        let idle = &mut self.lists[shelf.0 as usize].idle;
        let position = (0..idle.len()).rev().find(|&at| self.slots[idle[at].0 as usize].may_go_to(holder))?;
        idle.remove(position)
    }

    /// Takes a busy block of the shelf that has become free and that the holder may have.
    fn take_busy(&mut self, shelf: Shelf, holder: Owner) -> Option<SlotId> {
        let busy = &mut self.lists[shelf.0 as usize].busy;
        let position = (0..busy.len().min(LOOKED_AT)).find(|&position| {
            let slot = &mut self.slots[busy[position].0 as usize];
            slot.may_go_to(holder)
                && match &mut slot.hands {
                    Hands::Busy(block, _) => block.is_free(),
                    Hands::Vacant | Hands::Acquired(_) | Hands::Idle(_) => false,
                }
        })?;
        let id = busy.remove(position)?;
        let capacity = self.slots[id.0 as usize].capacity;
        // Now idle, for the moment in which `hand_out` looks at it.
        self.totals.busy_bytes -= capacity;
        self.totals.idle_bytes += capacity;
        Some(id)
    }

    fn hand_out(&mut self, id: SlotId, holder: Holder) -> Option<Block> {
        let Holder { owner, length, label, backtrace, now } = holder;
        let slot = &mut self.slots[id.0 as usize];
        (slot.owner, slot.since) = (owner, now);
        let holding = Holding { length, label, backtrace };
        let before = std::mem::replace(&mut slot.hands, Hands::Acquired(holding));
        self.totals.hits += 1;
        self.totals.idle_bytes -= slot.capacity;
        self.totals.add_acquired(slot.capacity, length);
        match before {
            Hands::Idle(block) | Hands::Busy(block, _) => Some(block),
            Hands::Vacant | Hands::Acquired(_) => None,
        }
    }

    /// Books a block that is about to be allocated, in the holder's hands. Idle blocks that had to go for it
    /// are added to `evicted`, also when they were not enough.
    pub(crate) fn book(
        &mut self,
        shelf: Shelf,
        capacity: u64,
        holder: Holder,
        limits: &PoolLimits,
        evicted: &mut Vec<Block>,
    ) -> Result<SlotId, Shortage> {
        while let Some(shortage) = self.shortage(capacity, limits) {
            if !self.evict_oldest(evicted) && !self.sweep() {
                return Err(shortage);
            }
        }
        let Holder { owner, length, label, backtrace, now } = holder;
        let slot = BlockSlot {
            shelf,
            owner,
            capacity,
            since: now,
            hands: Hands::Acquired(Holding { length, label, backtrace }),
        };
        self.totals.add_acquired(capacity, length);
        self.totals.add_block(capacity);
        match self.vacant.pop() {
            Some(id) => {
                self.slots[id.0 as usize] = slot;
                Ok(id)
            }
            None => {
                self.slots.push(slot);
                Ok(SlotId(self.slots.len() as u32 - 1))
            }
        }
    }

    fn shortage(&self, capacity: u64, limits: &PoolLimits) -> Option<Shortage> {
        if self.totals.buffers >= limits.max_buffers {
            return Some(Shortage::Buffers);
        }
        let fits = self.totals.bytes.checked_add(capacity).is_some_and(|bytes| bytes <= limits.max_bytes);
        (!fits).then_some(Shortage::Bytes)
    }

    /// Takes a booked block back out of the books: its allocation failed.
    pub(crate) fn unbook(&mut self, id: SlotId) {
        self.forget_acquired(id);
    }

    fn forget_acquired(&mut self, id: SlotId) {
        let slot = &mut self.slots[id.0 as usize];
        if let Hands::Acquired(holding) = std::mem::replace(&mut slot.hands, Hands::Vacant) {
            self.totals.remove_acquired(slot.capacity, holding.length);
            self.totals.remove_block(slot.capacity);
            self.vacant.push(id);
        }
    }

    /// A block comes back. What no longer fits among the idle ones is added to `evicted`.
    pub(crate) fn give_back(
        &mut self,
        id: SlotId,
        block: Block,
        free: bool,
        now: Duration,
        limits: &PoolLimits,
        evicted: &mut Vec<Block>,
    ) {
        let slot = &mut self.slots[id.0 as usize];
        let (capacity, shelf) = (slot.capacity, slot.shelf);
        let Hands::Acquired(holding) = std::mem::replace(&mut slot.hands, Hands::Vacant) else {
            unreachable!("a block that nobody had comes back")
        };
        self.totals.remove_acquired(capacity, holding.length);
        slot.since = now;
        let lists = &mut self.lists[shelf.0 as usize];
        if free {
            slot.hands = Hands::Idle(block);
            lists.idle.push_back(id);
            self.totals.idle_bytes += capacity;
        } else {
            slot.hands = Hands::Busy(block, holding);
            lists.busy.push_back(id);
            self.totals.busy_bytes += capacity;
        }
        while self.totals.idle_bytes > limits.max_idle_bytes && self.evict_oldest(evicted) {}
    }

    /// Moves busy blocks that have become free to the idle ones; says whether there were any.
    pub(crate) fn sweep(&mut self) -> bool {
        let before = self.totals.busy_bytes;
        for lists in self.lists.iter_mut().filter(|lists| !lists.busy.is_empty()) {
            let Lists { idle, busy } = lists;
            busy.retain(|&id| {
                let slot = &mut self.slots[id.0 as usize];
                let Hands::Busy(block, _) = &mut slot.hands else { return false };
                if !block.is_free() {
                    return true;
                }
                if let Hands::Busy(block, _) = std::mem::replace(&mut slot.hands, Hands::Vacant) {
                    slot.hands = Hands::Idle(block);
                }
                let (since, capacity) = (slot.since, slot.capacity);
                self.totals.busy_bytes -= capacity;
                self.totals.idle_bytes += capacity;
                // By age, for eviction: what counts is when it came back, not when this was noticed.
                let place = idle.partition_point(|other| self.slots[other.0 as usize].since <= since);
                idle.insert(place, id);
                false
            });
        }
        self.totals.busy_bytes < before
    }

    /// Takes the idle block out that has been idle longest; says whether there was one.
    fn evict_oldest(&mut self, evicted: &mut Vec<Block>) -> bool {
        let oldest = self.lists.iter().enumerate().filter_map(|(shelf, lists)| {
            let id = *lists.idle.front()?;
            Some((self.slots[id.0 as usize].since, shelf))
        });
        let Some((_, shelf)) = oldest.min() else { return false };
        let Some(id) = self.lists[shelf].idle.pop_front() else { return false };
        let slot = &mut self.slots[id.0 as usize];
        if let Hands::Idle(block) = std::mem::replace(&mut slot.hands, Hands::Vacant) {
            evicted.push(block);
        }
        self.totals.idle_bytes -= slot.capacity;
        self.totals.evictions += 1;
        let capacity = slot.capacity;
        self.totals.remove_block(capacity);
        self.vacant.push(id);
        true
    }

    /// Takes out idle blocks: those that came back before `before`, and the oldest ones until `bytes` are
    /// freed.
    pub(crate) fn trim(&mut self, before: Option<Duration>, bytes: u64, evicted: &mut Vec<Block>) -> u64 {
        self.sweep();
        let start = self.totals.bytes;
        loop {
            let old = before.is_some_and(|before| self.oldest_idle().is_some_and(|since| since < before));
            let freed = start - self.totals.bytes;
            if !(old || freed < bytes) || !self.evict_oldest(evicted) {
                return freed;
            }
        }
    }

    fn oldest_idle(&self) -> Option<Duration> {
        let fronts = self.lists.iter().filter_map(|lists| lists.idle.front());
        fronts.map(|id| self.slots[id.0 as usize].since).min()
    }

    /// The block that came back first among those that submitted work still uses.
    pub(crate) fn oldest_at_work(&self) -> Option<Arc<dyn Buffer>> {
        let busy = self.slots.iter().filter_map(|slot| match &slot.hands {
            Hands::Busy(block, _) if !block.buffer.is_unused() => Some((slot.since, &block.buffer)),
            Hands::Vacant | Hands::Acquired(_) | Hands::Busy(..) | Hands::Idle(_) => None,
        });
        busy.min_by_key(|(since, _)| *since).map(|(_, buffer)| Arc::clone(buffer))
    }

    /// Bytes and buffers that cannot be evicted: acquired or busy.
    pub(crate) fn in_use_bytes(&self) -> u64 {
        self.totals.bytes - self.totals.idle_bytes
    }

    /// The blocks that holders have, and those that work uses after its holder gave them back.
    pub(crate) fn used(&self) -> impl Iterator<Item = UsedBlock> {
        self.slots
            .iter()
            .filter_map(|slot| match &slot.hands {
                Hands::Acquired(holding) => Some((slot, holding)),
                Hands::Busy(block, holding) if !block.is_free() => Some((slot, holding)),
                Hands::Vacant | Hands::Busy(..) | Hands::Idle(_) => None,
            })
            .map(|(slot, holding)| UsedBlock {
                label: holding.label.clone(),
                length: holding.length,
                capacity: slot.capacity,
                since: slot.since,
                backtrace: holding.backtrace.clone(),
            })
    }

    /// The figures.
    pub(crate) fn stats(&self) -> PoolStats {
        self.totals.stats()
    }

    /// The number of idle blocks.
    pub(crate) fn idle_buffers(&self) -> usize {
        self.lists.iter().map(|lists| lists.idle.len()).sum()
    }

    /// Recounts everything from the slots and compares: for tests.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let mut counted = Totals::default();
        for slot in &self.slots {
            match &slot.hands {
                Hands::Vacant => continue,
                Hands::Acquired(holding) => counted.add_acquired(slot.capacity, holding.length),
                Hands::Busy(..) => counted.busy_bytes += slot.capacity,
                Hands::Idle(_) => counted.idle_bytes += slot.capacity,
            }
            counted.add_block(slot.capacity);
        }
        self.totals.assert_same_now(&counted);
        let listed: usize = self.lists.iter().map(|lists| lists.idle.len() + lists.busy.len()).sum();
        let shelved = |slot: &&BlockSlot| matches!(slot.hands, Hands::Busy(..) | Hands::Idle(_));
        assert_eq!(listed, self.slots.iter().filter(shelved).count());
    }
}
