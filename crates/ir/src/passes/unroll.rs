//! Unrolls short loops of a known number of iterations completely, where that makes indices into
//! local arrays or constant tables constant, where it brings matrix products, or loads or moves of shared memory together, or
//! where the loop is tiny; and where it has a barrier, if those are the steps of a tree: each is of half as many
//! threads as the one before, and code for threads that are known is much better.
//!
//! The loop must count with one variable (as [`super::forward`] knows them): a constant stored
//! before it, one store directly in its continuing block, and one test, either first in the body
//! or in the continuing block, that leaves it. The number of iterations is found by trying.

use rustc_hash::FxHashSet;

use super::copy::Copier;
use super::forward::variables;
use super::slope::slope;
use crate::analysis::{LocalPointers, local_pointers, walk_insts};
use crate::eval::{eval_binary, eval_cast, eval_compare, eval_unary};
use crate::{BarrierScope, BinOp, Block, Function, Inst, Label, Local, MatrixOp, Op, Space, Type, Value};

/// Longer loops stay loops.
const MAX_TRIPS: usize = 32;

/// Instructions that one unrolled loop may have.
const MAX_SIZE: usize = 2048;

/// A loop that stays below this is unrolled even if no array gains from it.
const TINY: usize = 48;

/// A loop around matrix products is unrolled below this: code generators work on the products of one
/// block together, and the next iteration continues their sums.
const MAX_PRODUCTS: usize = 768;

/// A loop that reads a table of constants by its counter is unrolled below this: what it reads folds.
const MAX_TABLE: usize = 256;

/// A loop that reads shared memory by its counter is unrolled below this, if it is short: what lies side by side is
/// then loaded together.
const MAX_BESIDE: usize = 384;
const MAX_BESIDE_TRIPS: usize = 8;

/// A loop that moves a few elements side by side to other memory is unrolled below this: they are then moved as one.
const MAX_MOVES: usize = 384;

/// A loop with a barrier is unrolled below this, if it is short, the counter doubles or halves, and a condition in it depends on that.
const MAX_STEPS: usize = 384;
/// As many as halve the largest threadgroup.
const MAX_STEPS_TRIPS: usize = 10;

/// Instructions that one run may add to a function.
const MAX_GROWTH: usize = 16_384;

/// Unrolls loops of one function; returns whether anything changed.
pub fn unroll(function: &mut Function) -> bool {
    let pointers = local_pointers(function);
    let variables = variables(function, &pointers);
    let array_pointers = array_pointers(function);
    let mut unroller = Unroller { function, pointers, variables, array_pointers, added: 0 };
    let body = unroller.function.body;
    unroller.block(body);
    unroller.added > 0
}

/// For each value, whether it points into a local.
fn array_pointers(function: &Function) -> Vec<bool> {
    let mut into = vec![false; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let Some(result) = data.result {
            into[result.index()] = match data.op {
                Op::LocalAddr(_) => true,
                Op::PtrAdd { base, .. } => into[base.index()],
                _ => false,
            };
        }
    });
    into
}

/// How to unroll a loop.
struct Plan {
    label: Label,
    body: Block,
    continuing: Block,
    /// The `if` that leaves the loop.
    test: Inst,
    /// Complete executions of the body.
    trips: usize,
    /// Whether something besides the test breaks out.
    breaks: bool,
    /// Whether something continues.
    continues: bool,
}

struct Unroller<'a> {
    function: &'a mut Function,
    pointers: LocalPointers,
    variables: Vec<bool>,
    array_pointers: Vec<bool>,
    added: usize,
}

impl Unroller<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        for inst in insts {
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            match self.plan(inst, &out) {
                Some(plan) => self.expand(inst, &plan, &mut out),
                None => out.push(inst),
            }
        }
        self.function.blocks[block.index()].insts = out;
    }

    fn variable(&self, ptr: Value) -> Option<Local> {
        let (local, _) = self.pointers.get(ptr.index()).copied().flatten()?;
        self.variables[local.index()].then_some(local)
    }

    /// `before`: what stands before the loop in its block.
    fn plan(&self, inst: Inst, before: &[Inst]) -> Option<Plan> {
        let Op::Loop { label, body, continuing } = self.function.inst(inst).op else { return None };
        let (test, tested_first) = self.find_test(label, body, continuing)?;
        let Op::If { cond, then, .. } = self.function.inst(test).op else { return None };
        let leaves_when = !self.function.block(then).is_empty();
        let counter = self.counter(cond, 0)?;
        let next = self.only_store(counter, inst, continuing)?;
        let expression =
            Expression { unroller: self, current: self.current_loads(counter, body, continuing) };
        let mut value = self.stored_before(counter, before)?;
        let mut trips = 0;
        loop {
            let done = (expression.evaluate(cond, value, 0)? != 0) == leaves_when;
            if tested_first && done {
                break;
            }
            trips += 1;
            if trips > MAX_TRIPS {
                return None;
            }
            value = expression.evaluate(next, value, 0)?;
            if !tested_first && done {
                break;
            }
        }
        let facts = self.facts(label, test, &expression.current, [body, continuing]);
        let size = facts.size * trips;
        if facts.has_barrier {
            let is_simple = facts.breaks <= 1 && facts.continues == 0;
            let is_tree = facts.parts_threads && self.is_multiple(next);
            if !is_simple || !is_tree || size > MAX_STEPS || trips > MAX_STEPS_TRIPS {
                return None;
            }
        }
        let worthwhile = facts.has_barrier
            || size <= MAX_SIZE && facts.indexes_array
            || size <= MAX_PRODUCTS && facts.multiplies
            || size <= MAX_TABLE && facts.indexes_table
            || size <= MAX_MOVES && facts.moves_beside()
            || size <= MAX_BESIDE && trips <= MAX_BESIDE_TRIPS && facts.reads_shared
            || size <= TINY;
        (worthwhile && self.added + size <= MAX_GROWTH).then_some(Plan {
            label,
            body,
            continuing,
            test,
            trips,
            breaks: facts.breaks > 1,
            continues: facts.continues > 0,
        })
    }

    /// Whether a counter whose next value this is doubles or halves, or the like.
    fn is_multiple(&self, next: Value) -> bool {
        use BinOp::{AShr, LShr, Mul, SDiv, Shl, UDiv};
        matches!(self.function.def(next), Some(Op::Binary(Mul | UDiv | SDiv | Shl | LShr | AShr, ..)))
    }

    /// The `if` that leaves the loop, and whether it comes first.
    fn find_test(&self, label: Label, body: Block, continuing: Block) -> Option<(Inst, bool)> {
        let is_test = |inst: Inst| match self.function.inst(inst).op {
            Op::If { then, otherwise, .. } => {
                let leaves = |block: Block| {
                    let insts = self.function.block(block);
                    insts.len() == 1 && self.function.inst(insts[0]).op == Op::Break(label)
                };
                let empty = |block: Block| self.function.block(block).is_empty();
                leaves(then) && empty(otherwise) || empty(then) && leaves(otherwise)
            }
            _ => false,
        };
        let first = self.function.block(body).iter().copied().find(|&inst| !self.is_quiet(inst));
        if let Some(inst) = first.filter(|&inst| is_test(inst)) {
            return Some((inst, true));
        }
        let last = *self.function.block(continuing).last()?;
        is_test(last).then_some((last, false))
    }

    /// Whether it has no effect and cannot leave the block.
    fn is_quiet(&self, inst: Inst) -> bool {
        !super::dead::has_effect(&self.function.inst(inst).op)
    }

    /// The one variable that a condition reads.
    fn counter(&self, value: Value, depth: usize) -> Option<Local> {
        const MAX_DEPTH: usize = 6;
        let op = self.function.def(value)?;
        match op {
            Op::Load { ptr, .. } => self.variable(*ptr),
            _ if depth >= MAX_DEPTH => None,
            Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Cast(..) => {
                let mut found = None;
                let mut several = false;
                op.for_each_operand(|operand| {
                    if let Some(local) = self.counter(operand, depth + 1) {
                        several |= found.is_some_and(|other| other != local);
                        found = Some(local);
                    }
                });
                found.filter(|_| !several)
            }
            _ => None,
        }
    }

    /// The loads in the loop that read what the counter holds during the whole iteration: all but
    /// those after the store.
    fn current_loads(&self, counter: Local, body: Block, continuing: Block) -> FxHashSet<Value> {
        let mut loads = FxHashSet::default();
        let mut note = |inst: Inst| {
            let data = self.function.inst(inst);
            if let (Op::Load { ptr, volatile: false, .. }, Some(result)) = (&data.op, data.result)
                && self.variable(*ptr) == Some(counter)
            {
                loads.insert(result);
            }
        };
        walk_insts(self.function, body, &mut note);
        for &inst in self.function.block(continuing) {
            match self.function.inst(inst).op {
                Op::Store { ptr, .. } if self.variable(ptr) == Some(counter) => break,
                _ => note(inst),
            }
        }
        loads
    }

    /// The value of the loop's only store to the counter, if it stands directly in the continuing
    /// block and the lifetime does not begin anew in the loop.
    fn only_store(&self, counter: Local, inst: Inst, continuing: Block) -> Option<Value> {
        let mut writes = 0;
        let mut note = |inst: Inst| match self.function.inst(inst).op {
            Op::Store { ptr, .. } => writes += usize::from(self.variable(ptr) == Some(counter)),
            Op::LocalStart(local) => writes += usize::from(local == counter),
            _ => {}
        };
        for block in self.function.inst(inst).op.blocks() {
            walk_insts(self.function, block, &mut note);
        }
        let store =
            self.function.block(continuing).iter().find_map(|&inst| match self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.variable(ptr) == Some(counter) => Some(value),
                _ => None,
            });
        store.filter(|_| writes == 1)
    }

    /// The constant that the counter holds after these instructions.
    fn stored_before(&self, counter: Local, before: &[Inst]) -> Option<u64> {
        for &inst in before.iter().rev() {
            let op = &self.function.inst(inst).op;
            match op {
                Op::Store { ptr, value, .. } if self.variable(*ptr) == Some(counter) => {
                    return self.function.as_const(*value);
                }
                Op::LocalStart(local) if *local == counter => return None,
                _ => {}
            }
            let mut written = false;
            for block in op.blocks() {
                walk_insts(self.function, block, &mut |inst| match self.function.inst(inst).op {
                    Op::Store { ptr, .. } => written |= self.variable(ptr) == Some(counter),
                    Op::LocalStart(local) => written |= local == counter,
                    _ => {}
                });
            }
            if written {
                return None;
            }
        }
        None
    }

    /// `test` leaves the loop; `current`: the loads of the counter.
    fn facts(&self, label: Label, test: Inst, current: &FxHashSet<Value>, blocks: [Block; 2]) -> Facts {
        let mut facts = Facts::default();
        let mut counted = current.clone();
        for block in blocks {
            walk_insts(self.function, block, &mut |inst| {
                facts.size += 1;
                let data = self.function.inst(inst);
                let mut counts = false;
                data.op.for_each_operand(|operand| counts |= counted.contains(&operand));
                if let (Some(result), true) = (data.result, counts) {
                    counted.insert(result);
                }
                match data.op {
                    Op::Load { ptr, volatile: false, .. } => {
                        let shared = self.function.ty(ptr) != Type::Ptr(Space::Thread);
                        facts.reads_shared |= shared && counts;
                        if let Some(result) = data.result.filter(|_| shared) {
                            facts.loads += 1;
                            let size = i64::from(self.function.ty(result).size());
                            facts.loads_beside |= slope(self.function, ptr, current, &counted) == Some(size);
                        }
                    }
                    Op::Store { ptr, .. } => {
                        facts.stores += usize::from(self.function.ty(ptr) != Type::Ptr(Space::Thread));
                    }
                    Op::Break(l) if l == label => facts.breaks += 1,
                    Op::Continue(l) if l == label => facts.continues += 1,
                    Op::If { .. } if inst != test => facts.parts_threads |= counts,
                    Op::Barrier(BarrierScope::Threadgroup) => facts.has_barrier = true,
                    Op::Matrix(MatrixOp::MultiplyAccumulate, _) => facts.multiplies = true,
                    Op::PtrAdd { base, index: Some(_), .. } => {
                        facts.indexes_array |= self.array_pointers.get(base.index()) == Some(&true);
                        facts.indexes_table |= matches!(self.function.def(base), Some(Op::GlobalAddr(_)));
                    }
                    Op::ExtractDynamic(..) | Op::InsertDynamic(..) => facts.indexes_array = true,
                    _ => {}
                }
            });
        }
        facts
    }

    fn expand(&mut self, inst: Inst, plan: &Plan, out: &mut Vec<Inst>) {
        let first_new = self.function.insts.len();
        let all = self.function.add_label();
        let mut copies = Vec::new();
        for _ in 0..plan.trips {
            let one = self.function.add_label();
            let mut copier = Copier::new(self.function);
            copier.unroll(plan.label, all, one);
            copier.omit(plan.test);
            let body = copier.block(plan.body);
            let continuing = copier.block(plan.continuing);
            // Kept as long as the value table: a copied pointer points where the original does.
            for (old, _) in std::mem::take(&mut copier.copied) {
                self.pointers.push(self.pointers[old.index()]);
                self.array_pointers.push(self.array_pointers[old.index()]);
            }
            if plan.continues {
                copies.push(self.scope(one, body, inst));
            } else {
                copies.append(&mut self.function.blocks[body.index()].insts);
            }
            copies.append(&mut self.function.blocks[continuing.index()].insts);
        }
        if plan.breaks {
            let block = self.function.add_block();
            self.function.blocks[block.index()].insts = copies;
            out.push(self.scope(all, block, inst));
        } else {
            out.append(&mut copies);
        }
        // Even a loop that never ran counts as a change.
        self.added += (self.function.insts.len() - first_new).max(1);
    }

    fn scope(&mut self, label: Label, body: Block, like: Inst) -> Inst {
        let (fp, loc) = (self.function.inst(like).fp, self.function.inst(like).loc);
        self.function.add_inst(Op::Scope { label, body }, None, fp, loc)
    }
}

/// Evaluates expressions over constants and the counter.
struct Expression<'a, 'f> {
    unroller: &'a Unroller<'f>,
    /// The loads that give the counter's value.
    current: FxHashSet<Value>,
}

impl Expression<'_, '_> {
    /// The expression's value while the counter holds these bits.
    fn evaluate(&self, value: Value, current: u64, depth: usize) -> Option<u64> {
        const MAX_DEPTH: usize = 8;
        let function = &*self.unroller.function;
        let ty = function.ty(value);
        let Type::Scalar(scalar) = ty else { return None };
        if depth > MAX_DEPTH {
            return None;
        }
        let operand = |value: Value| {
            let operand_ty = function.ty(value).scalar()?;
            Some((operand_ty, self.evaluate(value, current, depth + 1)?))
        };
        match function.def(value)? {
            Op::Const(bits) => Some(*bits),
            Op::Load { .. } => self.current.contains(&value).then_some(current & crate::eval::mask(scalar)),
            Op::Unary(op, a) => operand(*a).map(|(ty, a)| eval_unary(*op, ty, a)),
            Op::Binary(op, a, b) => {
                let ((ty, a), (_, b)) = (operand(*a)?, operand(*b)?);
                Some(eval_binary(*op, ty, a, b))
            }
            Op::Compare(op, a, b) => {
                let ((ty, a), (_, b)) = (operand(*a)?, operand(*b)?);
                Some(u64::from(eval_compare(*op, ty, a, b)))
            }
            Op::Cast(op, a) => operand(*a).map(|(from, a)| eval_cast(*op, from, scalar, a)),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Facts {
    size: usize,
    breaks: usize,
    continues: usize,
    indexes_array: bool,
    indexes_table: bool,
    multiplies: bool,
    reads_shared: bool,
    has_barrier: bool,
    /// The counter is in a condition, beside that of the test.
    parts_threads: bool,
    /// Loads and stores of shared memory.
    loads: usize,
    stores: usize,
    /// A load of an iteration is of what lies behind that of the iteration before.
    loads_beside: bool,
}

impl Facts {
    fn moves_beside(&self) -> bool {
        self.loads_beside && [self.loads, self.stores] == [1, 1]
    }
}
