//! Makes one copy of what a thread moves element by element between memories that threads share.
//!
//! Programs bring tiles to threadgroup memory in loops over a few elements that lie side by side at both ends, and often
//! convert them on the way. A code generator for vectors of threads would gather and scatter each element; as one
//! copy, a thread's elements are moved at once. Only where one memory is the threadgroup's and the other is not, so they have nothing in common, and
//! where between the first load and the last store is only computing and the thread's own memory.
//!
//! For code generators, after the passes that forward what was stored, and before stores are paired.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::address::Address;
use crate::analysis::{Bounds, leaves_shared_memory, use_counts};
use crate::{CastOp, Function, Inst, Op, Scalar, Space, Type, Value};

/// Bytes of a copy, the largest first: what code generators move by one access.
const SIZES: [u64; 4] = [64, 32, 16, 8];
/// And of the smaller end of one that converts.
const LEAST: u64 = 8;

/// Joins moves of one function; returns whether there were any.
pub fn memcpy_idiom(function: &mut Function, bounds: Bounds<'_>) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        changed |= moves_in(function, block, &uses, bounds);
    }
    changed
}

/// One end of an element's move.
#[derive(Clone, Copy, Debug)]
struct End {
    inst: Inst,
    ptr: Value,
    address: Address,
    align: u32,
}

/// One element that is loaded, and perhaps converted.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    end: End,
    /// What is to be stored: what was loaded, or that converted.
    value: Value,
    conversion: Option<Inst>,
}

/// Elements side by side that are moved one after the other.
struct Row {
    /// What is loaded, and what is stored.
    types: [Type; 2],
    loads: Vec<Loaded>,
    stores: Vec<End>,
}

impl Row {
    fn new(end: End, value: Value, ty: Type) -> Self {
        Self { types: [ty; 2], loads: vec![Loaded { end, value, conversion: None }], stores: Vec::new() }
    }

    /// Takes the load if it continues the row.
    fn takes_load(&mut self, function: &Function, end: End, value: Value) -> bool {
        let ty = self.types[0];
        let is_next = self.loads.last().is_some_and(|last| is_next(&last.end, &end, ty));
        let takes = is_next && function.ty(value) == ty;
        if takes {
            self.loads.push(Loaded { end, value, conversion: None });
        }
        takes
    }

    /// Notes that an element is converted, if it is one of the row.
    fn converts(&mut self, from: Value, inst: Inst, result: Value) {
        if let Some(loaded) = self.loads.iter_mut().find(|loaded| loaded.value == from) {
            (loaded.value, loaded.conversion) = (result, Some(inst));
        }
    }

    /// Takes the store if it is that of the row's next element.
    fn takes_store(&mut self, function: &Function, store: End, value: Value) -> bool {
        let own = self.loads.get(self.stores.len()).filter(|loaded| loaded.value == value);
        let ty = function.ty(value);
        let fits = own.is_some_and(|loaded| match self.stores.last() {
            Some(last) => self.types[1] == ty && is_next(last, &store, ty),
            None => is_elsewhere(function, loaded.end.ptr, store.ptr),
        });
        if fits {
            self.types[1] = ty;
            self.stores.push(store);
        }
        fits
    }

    /// Whether each element is converted; `None` if some are, and others are not.
    fn is_converted(&self) -> Option<bool> {
        let count = self.loads.iter().filter(|loaded| loaded.conversion.is_some()).count();
        (count == 0 || count == self.loads.len()).then_some(count > 0)
    }

    /// The copies that the row's whole moves are: their first elements and how many.
    fn copies(&self) -> Vec<(usize, usize)> {
        let (mut copies, mut first) = (Vec::new(), 0);
        for bytes in SIZES {
            let Some(count) = self.count_of(bytes) else { continue };
            while first + count <= self.stores.len() {
                copies.push((first, count));
                first += count;
            }
        }
        copies
    }

    /// How many elements a copy has whose larger end has so many bytes; `None` if it is no gain.
    fn count_of(&self, bytes: u64) -> Option<usize> {
        let sizes = self.types.map(|ty| u64::from(ty.size()));
        let count = bytes / sizes[0].max(sizes[1]);
        let fits = count * sizes[0].max(sizes[1]) == bytes && count * sizes[0].min(sizes[1]) >= LEAST;
        let is_gain = match self.is_converted()? {
            true => count * u64::from(self.types[0].lanes()) > 1,
            false => count > 1 && self.is_in_pieces(),
        };
        (fits && is_gain).then_some(count as usize)
    }

    /// Where a copy is partly out of bounds it goes by pieces as large as its alignment: these are to be the elements.
    fn is_in_pieces(&self) -> bool {
        let size = self.types[0].size();
        let is_aligned = |end: &End| end.align >= size;
        matches!(size, 1 | 2 | 4 | 8)
            && self.loads.iter().all(|loaded| is_aligned(&loaded.end))
            && self.stores.iter().all(is_aligned)
    }
}

/// Whether the second element of this type is right behind the first.
fn is_next(last: &End, next: &End, ty: Type) -> bool {
    last.address.distance(&next.address) == Some(i64::from(ty.size()))
}

/// Whether the pointers are to memories that have nothing in common.
fn is_elsewhere(function: &Function, a: Value, b: Value) -> bool {
    let is_threadgroup = |ptr: Value| function.ty(ptr) == Type::Ptr(Space::Threadgroup);
    is_threadgroup(a) != is_threadgroup(b)
}

fn moves_in(function: &mut Function, block: usize, uses: &[u32], bounds: Bounds<'_>) -> bool {
    let mut rows: Vec<Row> = Vec::new();
    let mut open: Option<Row> = None;
    for &inst in &function.blocks[block].insts {
        let data = function.inst(inst);
        let end =
            |ptr: Value, align: u32| End { inst, ptr, address: Address::of(function, ptr, bounds), align };
        match (&data.op, data.result) {
            (&Op::Load { ptr, align, volatile: false }, Some(value))
                if may_move(function, ptr, value) && uses[value.index()] == 1 =>
            {
                let load = end(ptr, align);
                if !open.as_mut().is_some_and(|row| row.takes_load(function, load, value)) {
                    rows.extend(open.replace(Row::new(load, value, function.ty(value))));
                }
            }
            (&Op::Store { ptr, value, align, volatile: false }, _) if may_move(function, ptr, value) => {
                if !open.as_mut().is_some_and(|row| row.takes_store(function, end(ptr, align), value)) {
                    rows.extend(open.take());
                }
            }
            (&Op::Cast(CastOp::FCast, from), Some(result)) if uses[result.index()] == 1 => {
                if let Some(row) = &mut open {
                    row.converts(from, inst, result);
                }
            }
            _ if leaves_shared_memory(function, &function.inst(inst).op) => {}
            _ => rows.extend(open.take()),
        }
    }
    rows.extend(open);
    let mut replaced = FxHashMap::default();
    for row in rows {
        for (first, count) in row.copies() {
            copy(function, &row, first..first + count, &mut replaced);
        }
    }
    if replaced.is_empty() {
        return false;
    }
    let insts = std::mem::take(&mut function.blocks[block].insts);
    let kept = insts.into_iter().filter_map(|inst| replaced.get(&inst).map_or(Some(inst), |&copy| copy));
    function.blocks[block].insts = kept.collect();
    true
}

/// Whether the value is made of numbers, and the memory one that threads share.
fn may_move(function: &Function, ptr: Value, value: Value) -> bool {
    let is_number = function.ty(value).scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    is_number && function.ty(ptr) != Type::Ptr(Space::Thread)
}

/// Makes a copy in the place of its last store; notes what stands where its parts stood.
fn copy(
    function: &mut Function,
    row: &Row,
    parts: Range<usize>,
    replaced: &mut FxHashMap<Inst, Option<Inst>>,
) {
    let (loads, stores) = (&row.loads[parts.clone()], &row.stores[parts]);
    let (dst, src, [from, to]) = (stores[0].ptr, loads[0].end.ptr, row.types);
    let op = match loads[0].conversion {
        Some(_) => Op::MemConvert { dst, src, from, to, count: stores.len() as u32 },
        None => {
            let align = from.size();
            Op::MemCopy { dst, src, size: u64::from(align) * stores.len() as u64, align }
        }
    };
    let like = function.inst(stores[0].inst);
    let whole = function.add_inst(op, None, like.fp, like.loc);
    replaced.extend(loads.iter().map(|loaded| (loaded.end.inst, None)));
    replaced.extend(loads.iter().filter_map(|loaded| loaded.conversion).map(|inst| (inst, None)));
    replaced.extend(stores.iter().map(|store| (store.inst, None)));
    replaced.insert(stores[stores.len() - 1].inst, Some(whole));
}
