//! Software prefetching of the next threadgroup's data, as LLVM's LoopDataPrefetch does for later iterations.
//!
//! A kernel that assigns a row to each threadgroup reads it, computes, and writes it, in separate phases.
//! Hardware prefetchers follow within a row; between rows memory idles until the next row's first load. Where
//! threadgroup *t* accesses the bytes from `base + t × row` to `base + (t + 1) × row`, in a loop or with
//! one access per thread, a [`Op::Prefetch`] of `p` is inserted one threadgroup before the access at `p`,
//! in the loop with the most computation.
//!
//! Requires that the stride of an address per threadgroup equals the range of the loop. Other patterns:
//! grid-stride loops (`strides`), several rows read in one loop (`rows`), one load per thread (`grid`,
//! `run_ahead`), tiles (`tiles`) and results of matrix products (`matrices`).

mod grid;
mod hints;
mod matrices;
mod rows;
mod run_ahead;
mod strides;
mod tiles;

use std::cmp::Reverse;

use rustc_hash::FxHashSet;

use self::grid::Advance;
use self::hints::PrefetchBuilder;
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_analysis::{CountedLoops, as_exit_test, walk_insts};
use anymetal_ir::{
    BinOp, Block, CastOp, Function, Inst, Label, Op, PrefetchHint, Query, Space, Type, Value, ValueDef,
};

/// Cost of a math function in instructions.
const MATH_COST: usize = 10;

/// Adds prefetches to one function; returns whether there are any.
pub fn prefetch(function: &mut Function) -> bool {
    let finder = Finder { function, loops: CountedLoops::new(function) };
    let mut found = Vec::new();
    finder.block(function.body, &mut found);
    let has_site = |root| found.iter().any(|site: &PrefetchSite| site.root == root);
    let loads = grid::BufferLoads::new(&finder);
    let mut single = grid::single_loads(&finder, &loads, &has_site);
    single.extend(tiles::loads_of_tiles(&finder, &loads, &has_site));
    let rows = rows::row_sites(&finder, &has_site);
    let results = matrices::result_tiles(&finder);
    let changed = !found.is_empty() || !single.is_empty() || !rows.is_empty() || !results.is_empty();
    for site in assign_loops(found).iter().chain(&rows) {
        insert_prefetch(function, site);
    }
    for load in &single {
        load.insert(function);
    }
    for result in &results {
        result.insert(function);
    }
    changed
}

/// Assigns one loop to each argument: the most expensive one without prefetches of another argument, if there
/// is one. A core has some 16 line fill buffers; several arguments in one loop compete for them, and loops
/// without prefetches leave them unused. Arguments with the fewest candidate loops are assigned first.
fn assign_loops(mut found: Vec<PrefetchSite>) -> Vec<PrefetchSite> {
    found.sort_by_key(|site| (site.root.index(), Reverse(site.cost)));
    let mut roots: Vec<Vec<PrefetchSite>> = Vec::new();
    for site in found {
        match roots.last_mut().filter(|sites| sites[0].root == site.root) {
            Some(sites) => sites.push(site),
            None => roots.push(vec![site]),
        }
    }
    roots.sort_by_key(Vec::len);
    let mut assigned: Vec<PrefetchSite> = Vec::new();
    for mut sites in roots {
        assert!(
            sites.iter().all(|site| site.root == sites[0].root && site.cost <= sites[0].cost),
            "the sites of one argument, the most expensive loop first",
        );
        let is_free = |site: &PrefetchSite| assigned.iter().all(|other| other.block != site.block);
        // Where every loop is taken, the most expensive one has the most time for another argument.
        let at = sites.iter().position(is_free).unwrap_or(0);
        assigned.push(sites.swap_remove(at));
    }
    assigned
}

/// A stride in bytes or elements: `value × times`, or the constant `times`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stride {
    value: Option<Value>,
    times: i64,
}

impl Stride {
    const ZERO: Self = Self { value: None, times: 0 };

    /// The change as a stride, if it is one.
    fn of(advance: &Advance) -> Option<Self> {
        match advance {
            Advance::Known(times) => Some(Self { value: None, times: *times }),
            Advance::Threads(_) => None,
            Advance::Sum(a, b) => Self::of(a)?.plus(Self::of(b)?),
            Advance::Times(advance, value) => {
                let stride = Self::of(advance).filter(|stride| stride.value.is_none())?;
                Some(Self { value: Some(*value), ..stride })
            }
            Advance::Scaled(advance, by) => Self::of(advance)?.scaled(*by),
        }
    }

    fn is_zero(self) -> bool {
        self.times == 0
    }

    fn scaled(self, by: i64) -> Option<Self> {
        Some(Self { times: self.times.checked_mul(by)?, ..self })
    }

    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::ZERO, sum) | (sum, Self::ZERO) => Some(sum),
            (a, b) if a.value == b.value => Some(Self { times: a.times.checked_add(b.times)?, ..a }),
            _ => None,
        }
    }
}

/// An access to prefetch, and the distance to what is prefetched.
struct PrefetchSite {
    /// The argument.
    root: Value,
    /// The block of the access, and the access.
    block: Block,
    access: Inst,
    pointer: Value,
    bytes: u32,
    hint: PrefetchHint,
    /// The distance from a threadgroup's address to that of the next threadgroup.
    stride: Stride,
    /// Cost of the loop's body.
    cost: usize,
}

/// `for (counter = start; counter < bound; …)`, or `if (thread × times < bound)`.
struct CountedRange {
    /// The loop's parameter; `None`: the thread's position is the counter.
    counter: Option<Value>,
    start: Option<Value>,
    times: i64,
    bound: Value,
}

struct Finder<'f> {
    function: &'f Function,
    loops: CountedLoops<'f>,
}

impl Finder<'_> {
    fn block(&self, block: Block, found: &mut Vec<PrefetchSite>) {
        let insts = self.function.block(block);
        for &inst in insts {
            if let Op::Loop { label, body, .. } = self.function.inst(inst).op
                && let Some(counted) = self.counted(inst, label, body)
            {
                let cost = self.cost(inst);
                self.row_sites(body, &counted, cost, found);
                self.grid_stride_sites(body, &counted, cost, found);
            }
            if let Op::If { cond, then, .. } = self.function.inst(inst).op
                && let Some(counted) = self.guarded_range(cond)
            {
                self.row_sites(then, &counted, self.cost(inst), found);
            }
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested, found);
            }
        }
    }

    fn cost(&self, inst: Inst) -> usize {
        let mut cost = 0;
        for block in self.function.inst(inst).op.blocks() {
            walk_insts(self.function, block, &mut |inst| {
                cost += if let Op::Math(..) = self.function.inst(inst).op { MATH_COST } else { 1 };
            });
        }
        cost
    }

    fn counted(&self, inst: Inst, label: Label, body: Block) -> Option<CountedRange> {
        let mut insts = self.function.block(body).iter();
        let test = insts.find_map(|&inst| as_exit_test(self.function, inst, label))?;
        let compared = self.loops.compared(test, inst)?;
        Some(CountedRange {
            counter: Some(compared.counter),
            start: Some(self.loops.start(compared.counter)),
            times: 1,
            bound: compared.limit,
        })
    }

    /// The operands, if the value is a comparison.
    fn compared(&self, cond: Value) -> Option<(Value, Value)> {
        match *self.function.def(cond)? {
            Op::Compare(_, a, b) => Some((a, b)),
            _ => None,
        }
    }

    fn guarded_range(&self, cond: Value) -> Option<CountedRange> {
        let (a, b) = self.compared(cond)?;
        let of_thread = |value| self.stride(value, &|value| self.is_index(value, None));
        match (of_thread(a)?, of_thread(b)?) {
            (Stride { value: None, times }, Stride::ZERO) if times > 0 => {
                Some(CountedRange { counter: None, start: None, times, bound: b })
            }
            (Stride::ZERO, Stride { value: None, times }) if times > 0 => {
                Some(CountedRange { counter: None, start: None, times, bound: a })
            }
            _ => None,
        }
    }

    /// The accesses directly in a loop's body whose range ends where the next threadgroup's data starts.
    fn row_sites(&self, body: Block, counted: &CountedRange, cost: usize, found: &mut Vec<PrefetchSite>) {
        let function = self.function;
        let mut seen = FxHashSet::default();
        // Without a loop the whole row is prefetched at once, and the first-level cache has few line fill
        // buffers.
        let (read, write) = match counted.counter {
            Some(_) => (PrefetchHint::StreamRead, PrefetchHint::WriteL2),
            None => (PrefetchHint::ReadL2, PrefetchHint::Write),
        };
        for &inst in function.block(body) {
            let data = function.inst(inst);
            let (pointer, ty, hint) = match data.op {
                Op::Load { ptr, .. } => (ptr, function.ty(function.result(inst)), read),
                Op::Store { ptr, value, .. } => (ptr, function.ty(value), write),
                _ => continue,
            };
            if function.ty(pointer) != Type::Ptr(Space::Device) {
                continue;
            }
            let Some(root) = self.root(pointer) else { continue };
            let loop_stride = self.stride(pointer, &|value| self.is_index(value, counted.counter));
            let Some(Stride { value: None, times: loop_stride }) = loop_stride else { continue };
            let stride = self.stride_per_threadgroup(pointer, loop_stride, counted);
            assert!(counted.times > 0, "a counter that counts {} at a time", counted.times);
            let whole = loop_stride % counted.times == 0;
            let is_row_stride = |stride: &Stride| {
                whole && self.is_row_stride(*stride, loop_stride / counted.times, counted.bound)
            };
            let Some(stride) = stride.filter(is_row_stride) else { continue };
            if seen.insert(root) {
                let (block, access, bytes) = (body, inst, ty.size());
                found.push(PrefetchSite { root, block, access, pointer, bytes, hint, stride, cost });
            } else if hint == write
                && let Some(known) = found.iter_mut().rev().find(|site| site.root == root)
            {
                known.hint = write;
            }
        }
    }

    /// The pointer's stride per threadgroup along the first axis.
    fn stride_per_threadgroup(
        &self,
        pointer: Value,
        loop_stride: i64,
        counted: &CountedRange,
    ) -> Option<Stride> {
        let axis = Op::Query(Query::ThreadgroupPositionInGrid(0));
        let group = |value| (self.function.def(value) == Some(&axis)).then_some(Advance::Known(1));
        // The stride of the counter's start value is added below.
        let index = |value| self.is_index(value, counted.counter).map(|_| Advance::ZERO);
        let own = self.stride(pointer, &|value| group(value).or_else(|| index(value)))?;
        let started = counted.start.map_or(Some(Stride::ZERO), |start| self.stride(start, &group))?;
        own.plus(started.scaled(loop_stride)?).filter(|stride| !stride.is_zero())
    }

    /// A change of one, if the value is the counter.
    fn is_index(&self, value: Value, counter: Option<Value>) -> Option<Advance> {
        let found = match counter {
            Some(counter) => value == counter,
            None => matches!(
                self.function.def(value),
                Some(Op::Query(Query::ThreadIndexInThreadgroup | Query::ThreadPositionInThreadgroup(0)))
            ),
        };
        found.then_some(Advance::Known(1))
    }

    /// Whether the stride per threadgroup equals the range that the loop covers.
    fn is_row_stride(&self, stride: Stride, loop_stride: i64, bound: Value) -> bool {
        let row = |end: Value| self.covers(stride, loop_stride, end);
        let ends = match self.function.def(bound) {
            Some(Op::Binary(BinOp::UMin | BinOp::SMin, a, b)) => vec![*a, *b],
            _ => vec![bound],
        };
        ends.into_iter().any(|end| {
            let parts = match self.function.def(end) {
                Some(Op::Binary(BinOp::Add, a, b)) => vec![*a, *b],
                _ => vec![end],
            };
            parts.into_iter().any(row)
        })
    }

    /// Whether `count` iterations of `loop_stride` bytes cover the stride per threadgroup.
    fn covers(&self, stride: Stride, loop_stride: i64, count: Value) -> bool {
        let count = self.widened(count);
        let Some(value) = stride.value else {
            let count = self.function.as_const(count).and_then(|count| i64::try_from(count).ok());
            return count.and_then(|count| count.checked_mul(loop_stride)) == Some(stride.times);
        };
        if count == self.widened(value) {
            return stride.times == loop_stride;
        }
        // `columns / 4` iterations of four elements.
        self.divided(count).is_some_and(|(whole, by)| {
            self.widened(whole) == self.widened(value) && stride.times.checked_mul(by) == Some(loop_stride)
        })
    }

    /// The dividend and the constant divisor, if the value is a quotient.
    fn divided(&self, value: Value) -> Option<(Value, i64)> {
        match *self.function.def(value)? {
            Op::Binary(op @ (BinOp::UDiv | BinOp::SDiv | BinOp::LShr), whole, by) => {
                let by = u32::try_from(self.function.as_const(by)?).ok()?;
                let by = if op == BinOp::LShr { 1_i64.checked_shl(by)? } else { i64::from(by) };
                Some((whole, by))
            }
            _ => None,
        }
    }

    /// The value without extensions.
    fn widened(&self, mut value: Value) -> Value {
        while let Some(Op::Cast(CastOp::ZExt | CastOp::SExt, inner)) = self.function.def(value) {
            value = *inner;
        }
        value
    }

    /// The change of the value as a stride, given that of the values for which `known` returns one.
    fn stride(&self, value: Value, known: &dyn Fn(Value) -> Option<Advance>) -> Option<Stride> {
        Stride::of(&self.advance(value, known)?)
    }

    /// The argument that a pointer comes from.
    fn root(&self, mut pointer: Value) -> Option<Value> {
        loop {
            match self.function.values[pointer.index()].def {
                ValueDef::Param(_) => return Some(pointer),
                ValueDef::Inst(inst) => match self.function.inst(inst).op {
                    Op::PtrAdd { base, .. } => pointer = base,
                    _ => return None,
                },
                ValueDef::LoopParam(..) | ValueDef::Result(..) => return None,
            }
        }
    }

    /// Whether the value is a parameter of the function, which does not change.
    fn is_param(&self, value: Value) -> bool {
        matches!(self.function.values[value.index()].def, ValueDef::Param(_))
    }
}

/// Inserts the prefetch after the access.
fn insert_prefetch(function: &mut Function, site: &PrefetchSite) {
    let mut hints = PrefetchBuilder::new(function);
    let stride = match site.stride.value {
        Some(value) => hints.product(value, site.stride.times),
        None => hints.constant(site.stride.times.cast_unsigned()),
    };
    let stride = if site.hint == PrefetchHint::WriteL2 { hints.rows_ahead(stride) } else { stride };
    let address = Op::PtrAdd { base: site.pointer, index: Some(stride), scale: 1, offset: 0 };
    hints.prefetch_after(site.pointer, address, (site.bytes, site.hint), site.block, site.access);
}
