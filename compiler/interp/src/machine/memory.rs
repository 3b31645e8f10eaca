//! Plain access to memory.
//!
//! [`Machine::locate`] is the one place where pointers become positions: it checks bounds, records faults
//! and notifies observers. Usually all lanes point into one region; then the check is a few vector operations
//! and the access a loop over one slice.

use super::pointer::pack_element;
use super::{Environment, Machine, UNDEFINED_BYTE};
use crate::lanes::{Lanes, lanes_in, split};
use crate::observer::{AccessOp, Accesses, LocalStart, State, Stored};
use crate::program::step::{Element, Pc, PtrSlots, Slot, SlotRange};
use crate::program::{Arena, Region};
use crate::report::{AccessKind, Fault, Variable};
use anymetal_ir::Pieces;

/// One access of all active lanes.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) op: AccessOp,
    pub(super) bytes: u64,
    /// Of a range, what is accessed at once where it is not in bounds as a whole.
    pub(super) pieces: Option<Pieces>,
    pub(super) align: u32,
    pub(super) pc: Pc,
    pub(super) stored: Stored,
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
    /// The order in which lanes write, see [`in_order`].
    pub(super) order: u32,
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
        let located = self.find(env, regions, offsets, request);
        if located.good != self.active {
            self.report_faults(env, regions, offsets, request, self.active & !located.good);
        }
        if request.notify && env.interests.accesses() {
            self.tell(env, regions, offsets, request, &located);
        }
        located
    }

    /// Where an access of the active lanes is.
    fn find(
        &self,
        env: &mut Environment<'_, '_>,
        regions: &Lanes,
        offsets: &Lanes,
        request: Request,
    ) -> Located {
        let number = regions[self.active.trailing_zeros() as usize & 31];
        let order = if request.op == AccessOp::Load { 0 } else { env.turns.lane_order() };
        let mut located = Located { good: 0, arena: None, at: [0; 32], order };
        let same = if self.active == u32::MAX {
            regions.iter().fold(0, |differences, region| differences | (region ^ number)) == 0
        } else {
            lanes_in(self.active).all(|lane| regions[lane] == number)
        };
        if same {
            let region = *env.region(number);
            located.arena = Some(region.arena);
            if let Some(last) = last_offset(&region, request.op, request.bytes) {
                for (lane, &offset) in offsets.iter().enumerate() {
                    located.good |= u32::from(offset.wrapping_add(region.before) <= last) << lane;
                    located.at[lane] = position(&region, lane, offset);
                }
                located.good &= self.active;
            }
        } else {
            for lane in lanes_in(self.active) {
                let region = env.region(regions[lane]);
                if let Some(at) = place_of(region, lane, offsets[lane], request.op, request.bytes) {
                    located.good |= 1 << lane;
                    located.at[lane] = at;
                }
            }
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
            if region.arena == Arena::Private && !env.program.reports_thread_accesses {
                continue;
            }
            let is_outside = |&(start, bytes): &(u64, u64)| {
                place_of(&region, lane, offsets[lane].wrapping_add(start), request.op, bytes).is_none()
            };
            // Of a range only padding may be out of bounds.
            let Some((start, bytes)) = accesses_of(false, request.bytes, request.pieces).find(is_outside)
            else {
                continue;
            };
            env.fault(Fault {
                kind: request.op.kind(),
                variable: region.variable,
                offset: offsets[lane].wrapping_add(start) as i64,
                bound: region.len,
                bytes,
                loc: env.program.locs[request.pc as usize],
                thread: env.thread(self.simdgroup, lane as u32),
            });
        }
    }

    /// The lanes whose access is in bounds and to memory that is watched.
    fn watched(&self, env: &Environment<'_, '_>, regions: &Lanes, located: &Located) -> u32 {
        let is_watched = |&lane: &usize| env.is_watched(env.region(regions[lane]));
        if located.arena.is_some() {
            let first = self.active.trailing_zeros() as usize & 31;
            return if is_watched(&first) { located.good } else { 0 };
        }
        lanes_in(located.good).filter(is_watched).fold(0, |mask, lane| mask | 1 << lane)
    }

    #[inline(never)]
    fn tell(
        &self,
        env: &mut Environment<'_, '_>,
        regions: &Lanes,
        offsets: &Lanes,
        request: Request,
        located: &Located,
    ) {
        let lanes = self.watched(env, regions, located);
        if lanes != 0 {
            let (state, observer) = env.watch(&self.private, &self.registers);
            observer.on_accesses(&self.accesses(state, (regions, offsets), request, located, lanes));
        }
    }

    fn accesses<'a>(
        &self,
        state: State<'a>,
        (regions, offsets): (&'a Lanes, &'a Lanes),
        request: Request,
        located: &'a Located,
        lanes: u32,
    ) -> Accesses<'a> {
        Accesses {
            op: request.op,
            simdgroup: self.simdgroup,
            lanes,
            bytes: request.bytes,
            align: request.align,
            loc: state.program.locs[request.pc as usize],
            site: request.pc,
            regions,
            offsets,
            at: &located.at,
            uniform: located.arena.map(|_| regions[self.active.trailing_zeros() as usize & 31]),
            stored: request.stored,
            source: None,
            state,
        }
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
        let count = if element.is_pointer() { 1 } else { u64::from(dst.len) };
        let (regions, offsets) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let bytes = element.size() * count;
        let (op, stored) = (AccessOp::Load, Stored::Unknown);
        let request = Request { op, bytes, pieces: None, align, pc, stored, notify: true };
        let located = self.locate(env, regions, offsets, request);
        let slots = &program.operands[dst.indices()];
        if element.is_pointer() {
            self.read(env, ptr, &located, element, 0, slots[1]);
            let dst = PtrSlots { region: slots[0], offset: slots[1] };
            match element {
                Element::Pointer(space) => self.unpack_pointer(env, dst, space, slots[1]),
                _ => self.unpack_slot(dst, slots[1]),
            }
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
        let count = if element.is_pointer() { 1 } else { u64::from(src.len) };
        let (regions, offsets) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let bytes = element.size() * count;
        let (op, stored) = (AccessOp::Store, Stored::Components(src, element));
        let request = Request { op, bytes, pieces: None, align, pc, stored, notify: true };
        let located = self.locate(env, regions, offsets, request);
        if element.is_pointer() {
            let (region, offset) = (&self.registers[slots[0].index()], &self.registers[slots[1].index()]);
            let bits = std::array::from_fn(|lane| {
                pack_element(element, &env.addresses, &env.regions, (region[lane], offset[lane]))
            });
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
        (bytes, align): (u64, u32),
        pieces: Pieces,
    ) {
        let (regions, offsets) = (&self.registers[dst.region.index()], &self.registers[dst.offset.index()]);
        let (op, stored) = (AccessOp::Store, Stored::Zeros);
        let pieces = Some(pieces);
        let request = Request { op, bytes, pieces, align, pc, stored, notify: true };
        let located = self.locate(env, regions, offsets, request);
        for lane in lanes_in(self.active) {
            if env.check_limits().is_err() {
                // The machine ends before its next instructions.
                break;
            }
            let region = *env.region(regions[lane]);
            let is_whole = located.good >> lane & 1 != 0;
            for (start, size) in accesses_of(is_whole, bytes, pieces) {
                if let Some(at) = place_of(&region, lane, offsets[lane].wrapping_add(start), op, size) {
                    env.bytes_mut(&mut self.private, region.arena)[at..at + size as usize].fill(0);
                }
            }
        }
    }

    /// Shows observers a write of an object of which the next store writes a part. It has no effect and no
    /// fault.
    pub(super) fn write_whole(&self, env: &mut Environment<'_, '_>, pc: Pc, ptr: PtrSlots, bytes: u64) {
        if !env.interests.accesses() {
            return;
        }
        let (regions, offsets) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let (op, stored) = (AccessOp::Store, Stored::Unknown);
        let request = Request { op, bytes, pieces: None, align: 1, pc, stored, notify: false };
        let located = self.find(env, regions, offsets, request);
        let lanes = self.watched(env, regions, &located);
        if lanes != 0 {
            let (state, observer) = env.watch(&self.private, &self.registers);
            observer.on_whole_writes(&self.accesses(state, (regions, offsets), request, &located, lanes));
        }
    }

    /// A piece whose source is out of bounds is copied as zeros, one whose target is not at all.
    pub(super) fn copy(
        &mut self,
        env: &mut Environment<'_, '_>,
        pc: Pc,
        (dst, src): (PtrSlots, PtrSlots),
        (bytes, align): (u64, u32),
        pieces: Pieces,
    ) {
        let stored = Stored::Unknown;
        let pieces = Some(pieces);
        let of = |op| Request { op, bytes, pieces, align, pc, stored, notify: false };
        let pair = |ptr: PtrSlots| (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        let (source, target) = (pair(src), pair(dst));
        let from = self.locate(env, source.0, source.1, of(AccessOp::Load));
        let to = self.locate(env, target.0, target.1, of(AccessOp::Store));
        if env.interests.accesses() {
            self.tell_copy(env, (source, &from), (target, &to), of);
        }
        let mut scratch = std::mem::take(&mut env.scratch);
        for lane in in_order(self.active, to.order) {
            if env.check_limits().is_err() {
                // The machine ends before its next instructions.
                break;
            }
            let of_lane = |(regions, offsets): (&Lanes, &Lanes)| (*env.region(regions[lane]), offsets[lane]);
            let ((source, source_at), (target, target_at)) = (of_lane(source), of_lane(target));
            let is_whole = from.good & to.good & 1 << lane != 0;
            for (start, size) in accesses_of(is_whole, bytes, pieces) {
                let at = target_at.wrapping_add(start);
                let Some(to) = place_of(&target, lane, at, AccessOp::Store, size) else { continue };
                scratch.clear();
                let at = source_at.wrapping_add(start);
                match place_of(&source, lane, at, AccessOp::Load, size) {
                    Some(from) => {
                        let bytes = env.bytes(&self.private, source.arena);
                        scratch.extend_from_slice(&bytes[from..from + size as usize]);
                    }
                    None => scratch.resize(size as usize, 0),
                }
                env.bytes_mut(&mut self.private, target.arena)[to..to + size as usize]
                    .copy_from_slice(&scratch);
            }
        }
        env.scratch = scratch;
    }

    /// A copy is told of if its source or its target is watched; as a store of zeros where the source is
    /// out of bounds.
    #[inline(never)]
    fn tell_copy(
        &self,
        env: &mut Environment<'_, '_>,
        (source, from): ((&Lanes, &Lanes), &Located),
        (target, to): ((&Lanes, &Lanes), &Located),
        of: impl Fn(AccessOp) -> Request,
    ) {
        let watched_targets = self.watched(env, target.0, to);
        let copies = (watched_targets | self.watched(env, source.0, from)) & from.good & to.good;
        let zeros = watched_targets & !from.good;
        let (state, observer) = env.watch(&self.private, &self.registers);
        if copies != 0 {
            let read = self.accesses(state, source, of(AccessOp::Load), from, copies);
            let mut written = self.accesses(state, target, of(AccessOp::Store), to, copies);
            written.source = Some(&read);
            observer.on_copies(&read, &written);
        }
        if zeros != 0 {
            let request = Request { stored: Stored::Zeros, ..of(AccessOp::Store) };
            observer.on_accesses(&self.accesses(state, target, request, to, zeros));
        }
    }

    pub(super) fn local_start(&mut self, env: &mut Environment<'_, '_>, pc: Pc, number: u32) {
        let region = *env.region(u64::from(number));
        let Variable::Local(function, local) = region.variable else {
            unreachable!("region {number} is started, but is not that of a local")
        };
        for lane in lanes_in(self.active) {
            let at = position(&region, lane, 0);
            self.private[at..at + region.len as usize].fill(UNDEFINED_BYTE);
        }
        if env.is_watched(&region) {
            let start = LocalStart {
                thread: env.thread(self.simdgroup, self.active.trailing_zeros() & 31),
                lanes: self.active,
                function,
                local,
                private_index: region.private_index(),
                bytes: region.len,
                loc: env.program.locs[pc as usize],
            };
            env.observer.on_local_start(&start);
        }
    }
}

/// The starts and sizes of single accesses: all bytes, or the pieces of a range that is not in bounds.
fn accesses_of(is_whole: bool, bytes: u64, pieces: Option<Pieces>) -> impl Iterator<Item = (u64, u64)> {
    let (size, stride) = match pieces.filter(|_| !is_whole) {
        Some(pieces) => (pieces.size.into(), pieces.stride.into()),
        None => (bytes, bytes.max(1)),
    };
    (0..bytes).step_by(stride as usize).map(move |start| (start, size))
}

/// Where a lane's access is, if it is in bounds.
fn place_of(region: &Region, lane: usize, offset: u64, op: AccessOp, bytes: u64) -> Option<usize> {
    let last = last_offset(region, op, bytes)?;
    (offset.wrapping_add(region.before) <= last).then(|| position(region, lane, offset))
}

/// The greatest offset from the first byte that may be accessed at which the access is in bounds. As unsigned
/// numbers, negative offsets are above any such limit.
fn last_offset(region: &Region, op: AccessOp, bytes: u64) -> Option<u64> {
    if op.kind() != AccessKind::Load && !region.writable {
        return None;
    }
    region.before.checked_add(region.len)?.checked_sub(bytes)
}

fn position(region: &Region, lane: usize, offset: u64) -> usize {
    region.start.wrapping_add(region.lane_stride * lane as u64).wrapping_add(offset) as usize
}

fn read_lanes(bytes: &[u8], element: Element, located: &Located, mask: u32, add: usize, out: &mut Lanes) {
    match element {
        Element::Bytes(4) => read_as::<4>(bytes, located, mask, add, out),
        Element::Bytes(2) => read_as::<2>(bytes, located, mask, add, out),
        Element::Bytes(8) | Element::Pointer(_) | Element::Slot => {
            read_as::<8>(bytes, located, mask, add, out)
        }
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

/// Writes one component, lanes in the order of [`in_order`]: of lanes that write one place the last wins.
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
    if mask == u32::MAX && located.order == 0 {
        for lane in 0..32 {
            write(lane);
        }
    } else {
        for lane in in_order(mask, located.order) {
            write(lane);
        }
    }
}

/// The lanes of a mask, ascending if `order` is 0. Each lane is the last with one order below 32, even of
/// all lanes.
pub(super) fn in_order(mask: u32, order: u32) -> impl Iterator<Item = usize> {
    (0..32).map(move |n| (n ^ order) as usize & 31).filter(move |lane| mask >> lane & 1 != 0)
}
