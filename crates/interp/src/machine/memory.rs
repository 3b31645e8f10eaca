//! Plain access to memory.
//!
//! [`Machine::locate`] is the one place where pointers become positions: it checks bounds, records faults
//! and notifies observers. Usually all lanes point into one region; then the check is a few vector operations
//! and the access a loop over one slice.

use super::{Environment, Machine, UNDEFINED_BYTE, pointer};
use crate::lanes::{Lanes, lanes_in, split};
use crate::observer::{Bytes, LocalStart};
use crate::program::step::{Element, Pc, PtrSlots, Slot, SlotRange};
use crate::program::{Arena, Region};
use crate::report::{AccessKind, Fault, Variable};

/// One access of all active lanes.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) kind: AccessKind,
    pub(super) bytes: u64,
    pub(super) align: u32,
    pub(super) pc: Pc,
    /// The components that a store writes, and their kind.
    pub(super) stored: Option<(SlotRange, Element)>,
    /// Whether observers are notified here; if not, the caller does it.
    pub(super) notify: bool,
}

/// Where the lanes' accesses are.
pub(super) struct Located {
    /// The lanes whose access is in bounds.
    pub(super) good: u32,
    /// The arena, if it is the same for all lanes.
    arena: Option<Arena>,
    /// Positions in the lane's arena.
    pub(super) at: [usize; 32],
}

impl Machine {
    /// Checks and locates an access of the active lanes.
    pub(super) fn locate(
        &self,
        env: &mut Environment<'_, '_>,
        regions: &Lanes,
        offsets: &Lanes,
        request: Request,
    ) -> Located {
        let number = regions[self.active.trailing_zeros() as usize & 31];
        let mut located = Located { good: 0, arena: None, at: [0; 32] };
        let same = if self.active == u32::MAX {
            regions.iter().fold(0, |differences, region| differences | (region ^ number)) == 0
        } else {
            lanes_in(self.active).all(|lane| regions[lane] == number)
        };
        if same {
            let region = *env.region(number);
            located.arena = Some(region.arena);
            if let Some(last) = last_offset(&region, request) {
                for (lane, &offset) in offsets.iter().enumerate() {
                    located.good |= u32::from(offset <= last) << lane;
                    located.at[lane] = position(&region, lane, offset);
                }
                located.good &= self.active;
            }
        } else {
            for lane in lanes_in(self.active) {
                let region = env.region(regions[lane]);
                if last_offset(region, request).is_some_and(|last| offsets[lane] <= last) {
                    located.good |= 1 << lane;
                    located.at[lane] = position(region, lane, offsets[lane]);
                }
            }
        }
        if located.good != self.active {
            self.report_faults(env, regions, offsets, request, self.active & !located.good);
        }
        let watched = env.interests.shared || env.interests.private;
        if watched && request.notify && located.arena.is_none_or(|arena| env.is_watched(arena)) {
            self.tell(env, regions, offsets, request, &located);
        }
        located
    }

    #[cold]
    fn report_faults(
        &self,
        env: &mut Environment<'_, '_>,
        regions: &Lanes,
        offsets: &Lanes,
        request: Request,
        bad: u32,
    ) {
        for lane in lanes_in(bad) {
            let region = *env.region(regions[lane]);
            env.fault(Fault {
                kind: request.kind,
                variable: region.variable,
                offset: offsets[lane] as i64,
                bound: region.len,
                bytes: request.bytes,
                loc: env.program.locs[request.pc as usize],
                thread: env.thread(self.simdgroup, lane as u32),
            });
        }
    }

    fn tell(
        &self,
        env: &mut Environment<'_, '_>,
        regions: &Lanes,
        offsets: &Lanes,
        request: Request,
        located: &Located,
    ) {
        for lane in lanes_in(located.good) {
            let region = *env.region(regions[lane]);
            if !env.is_watched(region.arena) {
                continue;
            }
            let thread = env.thread(self.simdgroup, lane as u32);
            let at = (offsets[lane], located.at[lane]);
            let mut access =
                env.access(&self.private, thread, &region, at, (request.bytes, request.align), request.pc);
            if let Some((slots, element)) = request.stored {
                access.written = self.stored(env, slots, element, lane);
            }
            match request.kind {
                AccessKind::Load => env.observer.on_load(&access),
                AccessKind::Store => env.observer.on_store(&access),
                // Atomics notify observers themselves, with the kind of operation.
                AccessKind::Atomic => {}
            }
        }
    }

    /// What a lane stores.
    fn stored(&self, env: &Environment<'_, '_>, slots: SlotRange, element: Element, lane: usize) -> Bytes {
        let slots = &env.program.operands[slots.indices()];
        let size = element.size() as usize;
        if element == Element::Pointer {
            let (region, offset) = (&self.registers[slots[0].index()], &self.registers[slots[1].index()]);
            return Bytes::new(&pointer::pack(env, region[lane], offset[lane]).to_le_bytes());
        }
        let mut bytes = [0; Bytes::MAX];
        let mut len = 0;
        for slot in slots.iter().take(Bytes::MAX / size) {
            let word = self.registers[slot.index()][lane].to_le_bytes();
            bytes[len..len + size].copy_from_slice(&word[..size]);
            len += size;
        }
        Bytes::new(&bytes[..len])
    }

    pub(super) fn load(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        dst: SlotRange,
        ptr: PtrSlots,
        element: Element,
        align: u32,
    ) {
        let program = env.program;
        let count = if element == Element::Pointer { 1 } else { u64::from(dst.len) };
        let (regions, offsets) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let bytes = element.size() * count;
        let request = Request { kind: AccessKind::Load, bytes, align, pc, stored: None, notify: true };
        let located = self.locate(env, regions, offsets, request);
        let slots = &program.operands[dst.indices()];
        if element == Element::Pointer {
            self.read(env, ptr, &located, element, 0, slots[1]);
            let bits = self.registers[slots[1].index()];
            self.registers[slots[0].index()] = bits.map(|bits| pointer::unpack(bits).0);
            self.registers[slots[1].index()] = bits.map(|bits| pointer::unpack(bits).1);
            return;
        }
        for (n, &slot) in slots.iter().enumerate() {
            self.read(env, ptr, &located, element, n * element.size() as usize, slot);
        }
    }

    /// Reads one component into a register; lanes out of bounds, and inactive ones, get zero.
    pub(super) fn read(
        &mut self,
        env: &Environment<'_, '_>,
        ptr: PtrSlots,
        located: &Located,
        element: Element,
        add: usize,
        dst: Slot,
    ) {
        let (out, others) = split(&mut self.registers, dst.index());
        if located.good != u32::MAX {
            out.fill(0);
        }
        if let Some(arena) = located.arena {
            read_lanes(env.bytes(&self.private, arena), element, located, located.good, add, out);
        } else {
            for lane in lanes_in(located.good) {
                let arena = env.region(others.get(ptr.region.index())[lane]).arena;
                read_lanes(env.bytes(&self.private, arena), element, located, 1 << lane, add, out);
            }
        }
    }

    pub(super) fn store(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        src: SlotRange,
        ptr: PtrSlots,
        element: Element,
        align: u32,
    ) {
        let program = env.program;
        let slots = &program.operands[src.indices()];
        let count = if element == Element::Pointer { 1 } else { u64::from(src.len) };
        let (regions, offsets) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let bytes = element.size() * count;
        let request =
            Request { kind: AccessKind::Store, bytes, align, pc, stored: Some((src, element)), notify: true };
        let located = self.locate(env, regions, offsets, request);
        if element == Element::Pointer {
            let (region, offset) = (&self.registers[slots[0].index()], &self.registers[slots[1].index()]);
            let bits = std::array::from_fn(|lane| pointer::pack(env, region[lane], offset[lane]));
            write(env, &mut self.private, regions, &located, element, 0, &bits);
            return;
        }
        for (n, slot) in slots.iter().enumerate() {
            let add = n * element.size() as usize;
            let value = &self.registers[slot.index()];
            write(env, &mut self.private, regions, &located, element, add, value);
        }
    }

    /// Writes one element per lane.
    pub(super) fn write_one(
        &mut self,
        env: &mut Environment<'_, '_>,
        ptr: PtrSlots,
        located: &Located,
        element: Element,
        value: &Lanes,
    ) {
        write(env, &mut self.private, &self.registers[ptr.region.index()], located, element, 0, value);
    }

    pub(super) fn zero(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        dst: PtrSlots,
        bytes: u64,
        align: u32,
    ) {
        let (regions, offsets) = (&self.registers[dst.region.index()], &self.registers[dst.offset.index()]);
        let request = Request { kind: AccessKind::Store, bytes, align, pc, stored: None, notify: true };
        let located = self.locate(env, regions, offsets, request);
        for lane in lanes_in(located.good) {
            let arena = env.region(regions[lane]).arena;
            let at = located.at[lane];
            env.bytes_mut(&mut self.private, arena)[at..at + bytes as usize].fill(0);
        }
    }

    /// A copy whose source is out of bounds writes zeros, one whose target is writes nothing.
    pub(super) fn copy(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        dst: PtrSlots,
        src: PtrSlots,
        (bytes, align): (u64, u32),
    ) {
        let of = |kind| Request { kind, bytes, align, pc, stored: None, notify: false };
        let pair = |ptr: PtrSlots| (ptr.region.index(), ptr.offset.index());
        let ((src_region, src_offset), (dst_region, dst_offset)) = (pair(src), pair(dst));
        let registers = &self.registers;
        let from = self.locate(env, &registers[src_region], &registers[src_offset], of(AccessKind::Load));
        let to = self.locate(env, &registers[dst_region], &registers[dst_offset], of(AccessKind::Store));
        let mut scratch = std::mem::take(&mut env.scratch);
        for lane in lanes_in(to.good) {
            let target = *env.region(self.registers[dst_region][lane]);
            let source = *env.region(self.registers[src_region][lane]);
            let is_good = from.good >> lane & 1 != 0;
            if env.is_watched(target.arena) || env.is_watched(source.arena) {
                let thread = env.thread(self.simdgroup, lane as u32);
                let at = (self.registers[dst_offset][lane], to.at[lane]);
                let mut written = env.access(&self.private, thread, &target, at, (bytes, align), pc);
                let at = (self.registers[src_offset][lane], from.at[lane]);
                if is_good {
                    let read = env.access(&self.private, thread, &source, at, (bytes, align), pc);
                    written.written = read.before;
                    env.observer.on_copy(&read, &written);
                } else {
                    env.observer.on_store(&written);
                }
            }
            scratch.clear();
            if is_good {
                let at = from.at[lane];
                scratch.extend_from_slice(&env.bytes(&self.private, source.arena)[at..at + bytes as usize]);
            } else {
                scratch.resize(bytes as usize, 0);
            }
            let at = to.at[lane];
            env.bytes_mut(&mut self.private, target.arena)[at..at + bytes as usize].copy_from_slice(&scratch);
        }
        env.scratch = scratch;
    }

    pub(super) fn local_start(&mut self, env: &mut Environment<'_, '_>, pc: Pc, number: u32) {
        let region = *env.region(u64::from(number));
        let Variable::Local(function, local) = region.variable else { return };
        for lane in lanes_in(self.active) {
            let at = position(&region, lane, 0);
            self.private[at..at + region.len as usize].fill(UNDEFINED_BYTE);
            if env.interests.private {
                let thread = env.thread(self.simdgroup, lane as u32);
                let loc = env.program.locs[pc as usize];
                let (offset, bytes) = (at as u64, region.len);
                env.observer.on_local_start(&LocalStart { thread, function, local, offset, bytes, loc });
            }
        }
    }
}

/// The greatest offset at which the access is in bounds. As unsigned numbers, negative offsets are above
/// any such limit.
fn last_offset(region: &Region, request: Request) -> Option<u64> {
    if request.kind != AccessKind::Load && !region.writable {
        return None;
    }
    region.len.checked_sub(request.bytes)
}

fn position(region: &Region, lane: usize, offset: u64) -> usize {
    region.start.wrapping_add(region.lane_stride * lane as u64).wrapping_add(offset) as usize
}

fn read_lanes(bytes: &[u8], element: Element, located: &Located, mask: u32, add: usize, out: &mut Lanes) {
    match element {
        Element::Bytes(4) => read_as::<4>(bytes, located, mask, add, out),
        Element::Bytes(2) => read_as::<2>(bytes, located, mask, add, out),
        Element::Bytes(8) | Element::Pointer => read_as::<8>(bytes, located, mask, add, out),
        Element::Bytes(_) => read_as::<1>(bytes, located, mask, add, out),
        Element::Bool => {
            read_as::<1>(bytes, located, mask, add, out);
            for lane in lanes_in(mask) {
                out[lane] = u64::from(out[lane] != 0);
            }
        }
    }
}

fn read_as<const N: usize>(bytes: &[u8], located: &Located, mask: u32, add: usize, out: &mut Lanes) {
    let read = |lane: usize| {
        let at = located.at[lane] + add;
        let mut word = [0; 8];
        word[..N].copy_from_slice(&bytes[at..at + N]);
        u64::from_le_bytes(word)
    };
    if mask == u32::MAX {
        for (lane, out) in out.iter_mut().enumerate() {
            *out = read(lane);
        }
    } else {
        for lane in lanes_in(mask) {
            out[lane] = read(lane);
        }
    }
}

/// Writes one component, lanes in ascending order: of lanes that write one place the highest wins.
fn write(
    env: &mut Environment<'_, '_>,
    private: &mut [u8],
    regions: &Lanes,
    located: &Located,
    element: Element,
    add: usize,
    value: &Lanes,
) {
    if let Some(arena) = located.arena {
        write_lanes(env.bytes_mut(private, arena), element, located, located.good, add, value);
    } else {
        for lane in lanes_in(located.good) {
            let arena = env.region(regions[lane]).arena;
            write_lanes(env.bytes_mut(private, arena), element, located, 1 << lane, add, value);
        }
    }
}

fn write_lanes(bytes: &mut [u8], element: Element, located: &Located, mask: u32, add: usize, value: &Lanes) {
    match element.size() {
        4 => write_as::<4>(bytes, located, mask, add, value),
        2 => write_as::<2>(bytes, located, mask, add, value),
        8 => write_as::<8>(bytes, located, mask, add, value),
        _ => write_as::<1>(bytes, located, mask, add, value),
    }
}

fn write_as<const N: usize>(bytes: &mut [u8], located: &Located, mask: u32, add: usize, value: &Lanes) {
    let mut write = |lane: usize| {
        let at = located.at[lane] + add;
        bytes[at..at + N].copy_from_slice(&value[lane].to_le_bytes()[..N]);
    };
    if mask == u32::MAX {
        for lane in 0..32 {
            write(lane);
        }
    } else {
        for lane in lanes_in(mask) {
            write(lane);
        }
    }
}
