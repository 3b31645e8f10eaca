//! Makes one copy of what a thread moves element by element between memories that threads share.
//!
//! Programs bring tiles to threadgroup memory in loops over a few elements that lie side by side at both ends. A code
//! generator for vectors of threads would gather and scatter each element; as one copy, a thread's elements are
//! moved at once. Only where one memory is the threadgroup's and the other is not, so they have nothing in common, and
//! where between the first load and the last store is only computing and the thread's own memory.
//!
//! For code generators, after the passes that forward what was stored, and before stores are paired.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::address::Address;
use super::pair::leaves_shared_memory;
use crate::analysis::use_counts;
use crate::{Function, Inst, Op, Scalar, Space, Type, Value};

/// Bytes of a copy, the largest first: what code generators move by one access.
const SIZES: [u64; 4] = [64, 32, 16, 8];

/// Joins moves of one function; returns whether there were any.
pub fn moves(function: &mut Function) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        changed |= moves_in(function, block, &uses);
    }
    changed
}

/// One end of an element's move.
#[derive(Clone, Copy, Debug)]
struct End {
    inst: Inst,
    ptr: Value,
    address: Address,
}

/// Elements side by side that are moved one after the other.
struct Row {
    ty: Type,
    loads: Vec<(End, Value)>,
    stores: Vec<End>,
}

impl Row {
    fn new(load: End, value: Value, ty: Type) -> Self {
        Self { ty, loads: vec![(load, value)], stores: Vec::new() }
    }

    /// Takes the load if it continues the row.
    fn takes_load(&mut self, function: &Function, load: End, value: Value) -> bool {
        let is_next = self.loads.last().is_some_and(|(last, _)| self.is_next(last, &load));
        let takes = is_next && function.ty(value) == self.ty;
        if takes {
            self.loads.push((load, value));
        }
        takes
    }

    /// Takes the store if it is that of the row's next element.
    fn takes_store(&mut self, function: &Function, store: End, value: Value) -> bool {
        let own = self.loads.get(self.stores.len()).filter(|&&(_, loaded)| loaded == value);
        let fits = own.is_some_and(|(load, _)| match self.stores.last() {
            Some(last) => self.is_next(last, &store),
            None => is_elsewhere(function, load.ptr, store.ptr),
        });
        if fits {
            self.stores.push(store);
        }
        fits
    }

    fn is_next(&self, last: &End, next: &End) -> bool {
        last.address.distance(&next.address) == Some(i64::from(self.ty.size()))
    }

    /// The copies that the row's whole moves are: their first elements and how many.
    fn copies(&self) -> Vec<(usize, usize)> {
        let size = u64::from(self.ty.size());
        let (mut copies, mut first) = (Vec::new(), 0);
        for bytes in SIZES {
            let count = (bytes / size) as usize;
            while count > 1 && bytes % size == 0 && first + count <= self.stores.len() {
                copies.push((first, count));
                first += count;
            }
        }
        copies
    }
}

/// Whether the pointers are to memories that have nothing in common.
fn is_elsewhere(function: &Function, a: Value, b: Value) -> bool {
    let is_threadgroup = |ptr: Value| function.ty(ptr) == Type::Ptr(Space::Threadgroup);
    is_threadgroup(a) != is_threadgroup(b)
}

fn moves_in(function: &mut Function, block: usize, uses: &[u32]) -> bool {
    let mut rows: Vec<Row> = Vec::new();
    let mut open: Option<Row> = None;
    for &inst in &function.blocks[block].insts {
        let data = function.inst(inst);
        let end = |ptr: Value| End { inst, ptr, address: Address::of(function, ptr) };
        match (&data.op, data.result) {
            (&Op::Load { ptr, align, volatile: false }, Some(value))
                if may_move(function, ptr, value, align) && uses[value.index()] == 1 =>
            {
                let load = end(ptr);
                if !open.as_mut().is_some_and(|row| row.takes_load(function, load, value)) {
                    rows.extend(open.replace(Row::new(load, value, function.ty(value))));
                }
            }
            (&Op::Store { ptr, value, align, volatile: false }, _)
                if may_move(function, ptr, value, align) =>
            {
                if !open.as_mut().is_some_and(|row| row.takes_store(function, end(ptr), value)) {
                    rows.extend(open.take());
                }
            }
            _ if leaves_shared_memory(function, inst) => {}
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

/// Whether the value is a number, and the memory one that threads share. Where a copy is partly out of bounds it goes
/// by pieces as large as its alignment: these are to be the elements.
fn may_move(function: &Function, ptr: Value, value: Value, align: u32) -> bool {
    let ty = function.ty(value);
    let is_number = ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool) && !matches!(ty, Type::Ptr(_));
    let is_piece = matches!(ty.size(), 1 | 2 | 4 | 8) && align >= ty.size();
    is_number && is_piece && function.ty(ptr) != Type::Ptr(Space::Thread)
}

/// Makes a copy in the place of its last store; notes what stands where its parts stood.
fn copy(
    function: &mut Function,
    row: &Row,
    parts: Range<usize>,
    replaced: &mut FxHashMap<Inst, Option<Inst>>,
) {
    let (loads, stores) = (&row.loads[parts.clone()], &row.stores[parts]);
    let align = row.ty.size();
    let size = u64::from(align) * stores.len() as u64;
    let like = function.inst(stores[0].inst);
    let (fp, loc) = (like.fp, like.loc);
    let op = Op::MemCopy { dst: stores[0].ptr, src: loads[0].0.ptr, size, align };
    let whole = function.add_inst(op, None, fp, loc);
    replaced.extend(loads.iter().map(|(load, _)| (load.inst, None)));
    replaced.extend(stores.iter().map(|store| (store.inst, None)));
    replaced.insert(stores[stores.len() - 1].inst, Some(whole));
}
