//! Sums over all lanes of a SIMD-group, whose lanes take turns in the elements.
//!
//! In `for (i = lane * 4; i < n; i += 128) s += x[i] + x[i + 1] + x[i + 2] + x[i + 3]` with `simd_sum(s)`
//! each lane has neighbouring elements, as GPUs load them best. Vectors of one element of each lane are
//! strided: in quantised blocks each lane's bytes would be gathered and transposed. If the lanes' sums are
//! only added to each other, it does not matter which lane adds an element. So the four elements of 32 lanes
//! are added in four turns, in which lane `l` takes element `32 * turn + l` of all. Its loads are contiguous,
//! and values that neighbouring lanes had in common, such as a block's scale, become uniform.
//!
//! The loop remains for the iterations in which not all lanes take part. Invariant: a rewritten iteration
//! loads what the lanes' iterations would have loaded, and nothing in the loop changes memory. An access out
//! of bounds is found all the same, but another lane of the SIMD-group may report it.

mod form;
mod lane_sums;
mod terms;
mod write;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::limits::MAX_COUNTER;
use anymetal_analysis::divergence::{Divergence, Geometry, LANES, PlainContext};
use anymetal_analysis::{CountedLoop, CountedLoops, walk_insts};
use anymetal_ir::{BinOp, Block, CmpOp, FpMode, Function, Inst, Op, Scalar, SimdOp, Type, Value};
use form::{Forms, Rows};
use lane_sums::LaneSums;
use terms::{Load, Reader, Sum};

/// Rewrites the loops of a function whose sums may be computed in another order; returns whether there were
/// any.
pub fn interleave_sums(function: &mut Function, geometry: Geometry) -> bool {
    let plans = plans(function, geometry);
    for plan in &plans {
        write::rewrite(function, plan);
    }
    !plans.is_empty()
}

/// A loop that is to run in turns.
#[derive(Debug)]
struct Plan {
    inst: Inst,
    /// Where the loop is.
    block: Block,
    counted: CountedLoop,
    /// How far the last lane's counter is from that of lane 0.
    reach: i64,
    /// The loop's parameters, in order.
    params: Vec<Param>,
    /// Elements that each lane has in one iteration.
    count: usize,
    /// Pointers in the loop that are needed for lane 0, and what computes them, in order: before the loop and
    /// in it.
    before: Vec<Inst>,
    inside: Vec<Inst>,
    prefetches: Vec<(Inst, Rows)>,
}

#[derive(Debug)]
enum Param {
    Counter,
    /// Advances by a constant.
    Pointer {
        step: i64,
    },
    /// A sum that each iteration adds terms to.
    Sum {
        sum: Sum,
        fp: FpMode,
    },
}

fn plans(function: &Function, geometry: Geometry) -> Vec<Plan> {
    let is_whole = geometry.threads().is_some_and(|threads| threads.is_multiple_of(LANES as u32));
    let mut has_sum = false;
    walk_insts(function, function.body, &mut |inst| {
        has_sum |= matches!(function.inst(inst).op, Op::Simd(SimdOp::Sum, _));
    });
    if !is_whole || !has_sum || !matches!(geometry, Geometry::Full(_)) {
        return Vec::new();
    }
    let divergence = Divergence::of(function, geometry, &PlainContext);
    let loops = CountedLoops::new(function);
    let sums = LaneSums::new(function, &divergence);
    let finder = Finder { function, geometry, divergence: &divergence, loops: &loops, sums: &sums };
    let mut plans = Vec::new();
    for block in (0..function.blocks.len()).map(|block| Block(block as u32)) {
        for &inst in function.block(block) {
            if sums.is_convergent(inst) && matches!(function.inst(inst).op, Op::Loop { .. }) {
                plans.extend(finder.plan(block, inst));
            }
        }
    }
    plans
}

struct Finder<'a> {
    function: &'a Function,
    geometry: Geometry,
    divergence: &'a Divergence,
    loops: &'a CountedLoops<'a>,
    sums: &'a LaneSums<'a>,
}

impl Finder<'_> {
    fn plan(&self, block: Block, inst: Inst) -> Option<Plan> {
        let counted = self.loops.find(inst)?;
        let goes_up = matches!(counted.goes_on, CmpOp::SLt | CmpOp::ULt)
            && counted.step > 0
            && counted.scalar == Scalar::I32;
        if !goes_up || !self.divergence.is_uniform(counted.limit) || !self.is_simple(inst, &counted) {
            return None;
        }
        let Forms { params, .. } = self.params(inst, &counted)?;
        let forms = Forms { params, ..self.forms() };
        let reader = Reader { forms: &forms, loops: self.loops, inst };
        let reach = forms.params[&counted.counter].0;
        // Lane 0 is the first, so that no lane's counter is below its own.
        let (least, reach) = (*reach.iter().min()?, *reach.iter().max()?);
        if least < 0 {
            return None;
        }
        let kinds = self.function.inst(inst).op.params().iter().map(|&p| self.param(&reader, &counted, p));
        let mut params = kinds.collect::<Option<Vec<Param>>>()?;
        let count = group(&mut params)?;
        let sums = || {
            params
                .iter()
                .filter_map(|param| if let Param::Sum { sum, .. } = param { Some(sum) } else { None })
        };
        let loads: Vec<&Load> = sums().flat_map(Sum::loads).collect();
        if loads.is_empty() || !loads.iter().all(|load| is_better(load, count)) {
            return None;
        }
        let prefetches = self.prefetches(&forms, inst);
        let pointers = loads.iter().map(|load| load.inst).chain(prefetches.iter().map(|&(inst, _)| inst));
        let (before, inside) = self.slices(inst, pointers)?;
        Some(Plan { inst, block, counted, reach, params, count, before, inside, prefetches })
    }

    fn forms(&self) -> Forms<'_> {
        let Self { function, divergence, geometry, .. } = *self;
        Forms { function, divergence, geometry, params: FxHashMap::default() }
    }

    /// The forms of the loop's counter and pointers.
    fn params(&self, inst: Inst, counted: &CountedLoop) -> Option<Forms<'_>> {
        let outside = self.forms();
        let mut params = FxHashMap::default();
        for &param in self.function.inst(inst).op.params() {
            let is_pointer = matches!(self.function.ty(param), Type::Ptr(_));
            if param != counted.counter && !is_pointer {
                continue;
            }
            let start = outside.of(self.loops.start(param))?;
            let range = match is_pointer {
                true => form::UNKNOWN,
                // In the loop the counter is below the limit.
                false => (start.range().0, outside.range(counted.limit).1.min(MAX_COUNTER.into()) - 1),
            };
            if !is_pointer && counted.goes_on == CmpOp::ULt && range.0 < 0 {
                return None;
            }
            params.insert(param, (start.relative(), range));
        }
        Some(Forms { params, ..outside })
    }

    fn param(&self, reader: &Reader<'_>, counted: &CountedLoop, param: Value) -> Option<Param> {
        if param == counted.counter {
            return Some(Param::Counter);
        }
        let next = self.loops.next(param)?;
        match *self.function.def(next)? {
            Op::PtrAdd { base, index: None, offset: step, .. } if base == param => {
                (0..=i64::from(u32::MAX)).contains(&step).then_some(Param::Pointer { step })
            }
            Op::Binary(BinOp::FAdd, ..) => {
                let fp = self.function.inst(self.function.defining_inst(next)?).fp;
                let is_free =
                    matches!(self.function.ty(param), Type::Scalar(_)) && self.sums.is_added_only(param);
                let sum = if is_free {
                    reader.added(param, next)?
                } else {
                    // A vector, or a sum of which each lane's part is used.
                    return None;
                };
                Some(Param::Sum { sum, fp })
            }
            _ => None,
        }
    }

    /// Whether the body is the test and then only loads and computes.
    fn is_simple(&self, inst: Inst, counted: &CountedLoop) -> bool {
        let (label, body, _) = self.function.as_loop(inst).expect("a counted loop is a loop");
        let (&last, insts) = self.function.block(body).split_last().expect("a body ends with a jump");
        let is_plain = |&inst: &Inst| {
            inst == counted.test.inst
                || matches!(
                    self.function.inst(inst).op,
                    Op::Const(_)
                        | Op::Unary(..)
                        | Op::Binary(..)
                        | Op::Compare(..)
                        | Op::Select(..)
                        | Op::Cast(..)
                        | Op::Math(..)
                        | Op::Splat(_)
                        | Op::Compose(_)
                        | Op::Extract(..)
                        | Op::Insert(..)
                        | Op::Query(_)
                        | Op::PtrAdd { .. }
                        | Op::Load { volatile: false, .. }
                        | Op::Prefetch { .. }
                )
        };
        let ends = matches!(self.function.inst(last).op, Op::Continue(to, _) if to == label);
        ends && insts.contains(&counted.test.inst) && insts.iter().all(is_plain)
    }

    /// The prefetches whose lanes are in rows.
    fn prefetches(&self, forms: &Forms<'_>, inst: Inst) -> Vec<(Inst, Rows)> {
        let (_, body, _) = self.function.as_loop(inst).expect("a plan is for a loop");
        let rows = |&inst: &Inst| {
            let Op::Prefetch { ptr, .. } = self.function.inst(inst).op else {
                // Not a prefetch.
                return None;
            };
            Some((inst, Rows::of(&forms.of(ptr)?.relative())?))
        };
        self.function.block(body).iter().filter_map(rows).collect()
    }

    /// The instructions that compute the operands of instructions of the loop: those before the loop that
    /// are not uniform, and those in it.
    fn slices(&self, inst: Inst, of: impl Iterator<Item = Inst>) -> Option<(Vec<Inst>, Vec<Inst>)> {
        let function = self.function;
        let (_, body, _) = function.as_loop(inst).expect("a plan is for a loop");
        let params = function.inst(inst).op.params();
        let mut needed: Vec<Value> = params
            .iter()
            .filter(|&&param| !function.ty(param).scalar().is_some_and(Scalar::is_float))
            .map(|&param| self.loops.start(param))
            .collect();
        of.for_each(|inst| function.inst(inst).op.for_each_operand(|value| needed.push(value)));
        let mut found = std::collections::BTreeSet::new();
        while let Some(value) = needed.pop() {
            let is_inside = self.loops.is_inside(value, inst);
            if params.contains(&value) || !is_inside && self.divergence.is_uniform(value) {
                continue;
            }
            let def = function.defining_inst(value)?;
            let op = &function.inst(def).op;
            let is_pure = matches!(
                op,
                Op::Const(_)
                    | Op::Query(_)
                    | Op::Unary(..)
                    | Op::Binary(..)
                    | Op::Cast(..)
                    | Op::PtrAdd { .. }
            );
            if !is_pure && !(is_inside && matches!(op, Op::Load { .. })) {
                return None;
            }
            if found.insert(def) {
                op.for_each_operand(|operand| needed.push(operand));
            }
        }
        let own = function.block(body);
        let mut before = Vec::new();
        walk_insts(function, function.body, &mut |inst| {
            if found.contains(&inst) && !own.contains(&inst) {
                before.push(inst);
            }
        });
        let inside = own.iter().copied().filter(|inst| found.contains(inst)).collect();
        Some((before, inside))
    }
}

/// Groups the terms of all sums. Returns the number of elements of a lane.
fn group(params: &mut [Param]) -> Option<usize> {
    let mut counts = Vec::new();
    let sums = |params: &mut [Param], each: &mut dyn FnMut(&mut Sum) -> Option<()>| {
        params.iter_mut().try_for_each(|param| match param {
            Param::Sum { sum, .. } => each(sum),
            Param::Counter | Param::Pointer { .. } => Some(()),
        })
    };
    sums(params, &mut |sum| {
        sum.counts(&mut counts);
        Some(())
    })?;
    // A power of two divides the lanes evenly.
    let all = counts.iter().fold(LANES, |all, count| all | count);
    let count = 1usize << all.trailing_zeros();
    if counts.is_empty() || count < 2 {
        return None;
    }
    let mut firsts = BTreeMap::new();
    sums(params, &mut |sum| {
        sum.note_groups(count, &mut firsts);
        Some(())
    })?;
    sums(params, &mut |sum| {
        *sum = sum.grouped(count, &firsts)?;
        Some(())
    })?;
    Some(count)
}

/// Lanes of a row, at least: a register of floats.
const MIN_ROW_LOG: u32 = 3;

/// Whether neighbouring lanes load neighbouring elements, or the same one, in each turn.
fn is_better(load: &Load, count: usize) -> bool {
    let size = i64::from(load.scalar.size());
    load.turns(count).is_some_and(|(rows, _)| rows.log >= MIN_ROW_LOG && (0..=2 * size).contains(&rows.step))
}
