//! Combines adjacent load/store pairs into one `mem_copy` or `mem_convert`, as LLVM's LoopIdiomRecognize and
//! MemCpyOpt do.
//!
//! Kernels emit_copy tiles to threadgroup memory in loops over a few elements that are adjacent in source and
//! destination, often with a conversion. A vectorising code generator would gather and scatter each element;
//! one emit_copy moves all elements of a thread at once. Requires that exactly one side is threadgroup
//! memory, so they cannot alias, and that between the first load and the last store there are only pure
//! operations and accesses of thread memory.
//!
//! Runs for code generators, after store-to-load forwarding and before `merge_stores`.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::address::Address;
use anymetal_analysis::{Bounds, leaves_shared_memory, use_counts};
use anymetal_ir::{CastOp, Function, Inst, Op, Pieces, Scalar, Space, Type, Value};

/// Sizes of ranges in bytes, the largest first: what code generators move with one access.
const SIZES: [u64; 4] = [64, 32, 16, 8];
/// Minimum bytes of the smaller side of a converting emit_copy.
const MIN_END_BYTES: u64 = 8;

/// Forms ranges in one function; returns whether anything changed.
pub fn memcpy_idiom(function: &mut Function, bounds: Bounds<'_>) -> bool {
    let uses = use_counts(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        changed |= combine_in_block(function, block, &uses, bounds);
    }
    changed
}

/// Source or destination of one element.
#[derive(Clone, Copy, Debug)]
struct CopyEnd {
    inst: Inst,
    ptr: Value,
    address: Address,
    align: u32,
}

/// One element that is loaded, and possibly converted.
#[derive(Clone, Copy, Debug)]
struct Loaded {
    end: CopyEnd,
    /// The value to be stored: the loaded one, or its conversion.
    value: Value,
    conversion: Option<Inst>,
}

/// Adjacent elements that are copied one after the other.
struct CopyRun {
    /// Element type of the loads and of the stores.
    types: [Type; 2],
    loads: Vec<Loaded>,
    stores: Vec<CopyEnd>,
}

impl CopyRun {
    fn new(end: CopyEnd, value: Value, ty: Type) -> Self {
        Self { types: [ty; 2], loads: vec![Loaded { end, value, conversion: None }], stores: Vec::new() }
    }

    /// Appends the load if it is adjacent to the last one.
    fn append_load(&mut self, function: &Function, end: CopyEnd, value: Value) -> bool {
        let ty = self.types[0];
        let is_next = self.loads.last().is_some_and(|last| is_next(&last.end, &end, ty));
        let appends = is_next && function.ty(value) == ty;
        if appends {
            self.loads.push(Loaded { end, value, conversion: None });
        }
        appends
    }

    /// Records the conversion of an element, if it is one of the run. A conversion of a conversion is not
    /// part of a copy.
    fn set_conversion(&mut self, from: Value, inst: Inst, result: Value) {
        let mut unconverted = self.loads.iter_mut().filter(|loaded| loaded.conversion.is_none());
        if let Some(loaded) = unconverted.find(|loaded| loaded.value == from) {
            (loaded.value, loaded.conversion) = (result, Some(inst));
        }
    }

    /// Appends the store if it stores the run's next element.
    fn append_store(&mut self, function: &Function, store: CopyEnd, value: Value) -> bool {
        let own = self.loads.get(self.stores.len()).filter(|loaded| loaded.value == value);
        let ty = function.ty(value);
        let fits = own.is_some_and(|loaded| match self.stores.last() {
            Some(last) => self.types[1] == ty && is_next(last, &store, ty),
            None => is_disjoint(function, loaded.end.ptr, store.ptr),
        });
        if fits {
            self.types[1] = ty;
            self.stores.push(store);
        }
        fits
    }

    /// Whether all elements are converted; `None` if only some are.
    fn is_converted(&self) -> Option<bool> {
        let count = self.loads.iter().filter(|loaded| loaded.conversion.is_some()).count();
        (count == 0 || count == self.loads.len()).then_some(count > 0)
    }

    /// The ranges that the run is split into: first element and number of elements.
    fn ranges(&self) -> Vec<(usize, usize)> {
        let (mut ranges, mut first) = (Vec::new(), 0);
        for bytes in SIZES {
            let Some(count) = self.count_of(bytes) else { continue };
            assert!(count > 0, "a copy of {bytes} bytes has elements");
            while first + count <= self.stores.len() {
                ranges.push((first, count));
                first += count;
            }
        }
        ranges
    }

    /// Number of elements of a emit_copy whose larger side has `bytes` bytes; `None` if it is not profitable.
    fn count_of(&self, bytes: u64) -> Option<usize> {
        let sizes = self.types.map(|ty| u64::from(ty.size()));
        let count = bytes / sizes[0].max(sizes[1]);
        let fits = count * sizes[0].max(sizes[1]) == bytes && count * sizes[0].min(sizes[1]) >= MIN_END_BYTES;
        let is_profitable = match self.is_converted()? {
            true => count * u64::from(self.types[0].lanes()) > 1,
            false => count > 1 && self.is_element_aligned(),
        };
        (fits && is_profitable).then_some(count as usize)
    }

    /// Whether both sides are aligned as one element.
    fn is_element_aligned(&self) -> bool {
        let size = self.types[0].size();
        let is_aligned = |end: &CopyEnd| end.align >= size;
        matches!(size, 1 | 2 | 4 | 8)
            && self.loads.iter().all(|loaded| is_aligned(&loaded.end))
            && self.stores.iter().all(is_aligned)
    }
}

/// Whether the second element of this type directly follows the first.
fn is_next(last: &CopyEnd, next: &CopyEnd, ty: Type) -> bool {
    last.address.distance(&next.address) == Some(i64::from(ty.size()))
}

/// Whether the pointers are to address spaces that cannot alias.
fn is_disjoint(function: &Function, a: Value, b: Value) -> bool {
    let is_threadgroup = |ptr: Value| function.ty(ptr) == Type::Ptr(Space::Threadgroup);
    is_threadgroup(a) != is_threadgroup(b)
}

fn combine_in_block(function: &mut Function, block: usize, uses: &[u32], bounds: Bounds<'_>) -> bool {
    let mut runs: Vec<CopyRun> = Vec::new();
    let mut open: Option<CopyRun> = None;
    for &inst in &function.blocks[block].insts {
        let data = function.inst(inst);
        let end = |ptr: Value, align: u32| CopyEnd {
            inst,
            ptr,
            address: Address::of(function, ptr, bounds),
            align,
        };
        match (&data.op, data.result) {
            (&Op::Load { ptr, align, volatile: false }, Some(value))
                if is_copyable(function, ptr, value) && uses[value.index()] == 1 =>
            {
                let load = end(ptr, align);
                if !open.as_mut().is_some_and(|run| run.append_load(function, load, value)) {
                    runs.extend(open.replace(CopyRun::new(load, value, function.ty(value))));
                }
            }
            (&Op::Store { ptr, value, align, volatile: false }, _) if is_copyable(function, ptr, value) => {
                if !open.as_mut().is_some_and(|run| run.append_store(function, end(ptr, align), value)) {
                    runs.extend(open.take());
                }
            }
            (&Op::Cast(CastOp::FCast, from), Some(result)) if uses[result.index()] == 1 => {
                if let Some(run) = &mut open {
                    run.set_conversion(from, inst, result);
                }
            }
            _ if leaves_shared_memory(function, &function.inst(inst).op) => {}
            _ => runs.extend(open.take()),
        }
    }
    runs.extend(open);
    let mut replaced = FxHashMap::default();
    for run in runs {
        for (first, count) in run.ranges() {
            emit_copy(function, &run, first..first + count, &mut replaced);
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

/// Whether the value is numeric and the memory shared between threads.
fn is_copyable(function: &Function, ptr: Value, value: Value) -> bool {
    let is_number = function.ty(value).scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    is_number && function.ty(ptr) != Type::Ptr(Space::Thread)
}

/// Adds a emit_copy at its last store; records what replaces the instructions that it combines.
fn emit_copy(
    function: &mut Function,
    run: &CopyRun,
    parts: Range<usize>,
    replaced: &mut FxHashMap<Inst, Option<Inst>>,
) {
    let (loads, stores) = (&run.loads[parts.clone()], &run.stores[parts]);
    assert_eq!(loads.len(), stores.len(), "each element is loaded and stored once");
    assert!(
        loads.iter().all(|loaded| loaded.conversion.is_some() == loads[0].conversion.is_some()),
        "a copy converts all elements or none",
    );
    let (dst, src, [from, to]) = (stores[0].ptr, loads[0].end.ptr, run.types);
    let op = match loads[0].conversion {
        Some(_) => Op::MemConvert { dst, src, from, to, count: stores.len() as u32 },
        None => {
            let piece = from.size();
            let pieces = Pieces { size: piece, stride: piece };
            Op::MemCopy { dst, src, size: u64::from(piece) * stores.len() as u64, align: piece, pieces }
        }
    };
    assert!(is_disjoint(function, src, dst), "the bytes of a copy may overlap: {src} and {dst}");
    let like = function.inst(stores[0].inst);
    let whole = function.add_inst(op, None, like.fp, like.loc);
    replaced.extend(loads.iter().map(|loaded| (loaded.end.inst, None)));
    replaced.extend(loads.iter().filter_map(|loaded| loaded.conversion).map(|inst| (inst, None)));
    replaced.extend(stores.iter().map(|store| (store.inst, None)));
    replaced.insert(stores[stores.len() - 1].inst, Some(whole));
}
