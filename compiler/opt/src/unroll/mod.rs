//! Full unrolling of short loops with a constant trip count.
//!
//! Profitable where it makes indices into local arrays or constant tables constant, where it puts matrix
//! products, or loads or copies of shared memory, into one block, where the counter alone decides selects, or
//! where the loop is tiny or runs once. Loops with a barrier are unrolled if they are the steps of a tree
//! reduction: each step has half as many active threads as the one before, and code for a constant number of
//! threads is much better.
//!
//! Requires one counter variable (as [`super::mem2reg`] defines them): a constant stored before the loop, one
//! store directly in its continuing block, and one exit test, first in the body or last in the continuing
//! block ([`CountedLoops::constant_trips`]). `cost_model` decides whether it is profitable.

mod cost_model;
mod stride;

use super::copy::Cloner;
use anymetal_analysis::{CountedLoops, Variables, walk_insts};
use anymetal_ir::{Block, Function, Inst, Label, Op};

/// Maximum number of instructions that one run may add to a function.
const MAX_GROWTH: usize = 16_384;

/// Unrolls loops of one function; returns whether anything changed. `only_small`: only those that make the
/// code hardly larger.
pub fn unroll(function: &mut Function, only_small: bool) -> bool {
    let variables = Variables::of(function);
    let array_pointers = array_pointers(function);
    let mut unroller = Unroller { function, variables, array_pointers, only_small, added: 0 };
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
struct UnrollPlan {
    label: Label,
    body: Block,
    continuing: Block,
    /// The `if` that leaves the loop.
    test: Inst,
    /// Complete executions of the body.
    trip_count: usize,
    /// Whether something besides the test breaks out.
    breaks: bool,
    /// Whether something continues.
    continues: bool,
}

struct Unroller<'a> {
    function: &'a mut Function,
    variables: Variables,
    array_pointers: Vec<bool>,
    only_small: bool,
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

    fn loops(&self) -> CountedLoops<'_> {
        CountedLoops::new(self.function, &self.variables)
    }

    /// `before`: the instructions before the loop in its block.
    fn plan(&self, inst: Inst, before: &[Inst]) -> Option<UnrollPlan> {
        let (label, body, continuing) = self.function.as_loop(inst)?;
        let counted_loop = self.loops().constant_trips(inst, before)?;
        let metrics = self.metrics(label, counted_loop.test, &counted_loop.loads, [body, continuing]);
        let trips = counted_loop.trip_count;
        let is_profitable = match self.only_small {
            true => metrics.is_small(trips),
            false => metrics.is_profitable(trips, self.is_geometric(counted_loop.next)),
        };
        let size = metrics.size * counted_loop.trip_count;
        assert!(metrics.breaks > 0, "the exit test of a loop breaks out of it");
        (is_profitable && self.added + size <= MAX_GROWTH).then_some(UnrollPlan {
            label,
            body,
            continuing,
            test: counted_loop.test,
            trip_count: counted_loop.trip_count,
            breaks: metrics.breaks > 1,
            continues: metrics.continues > 0,
        })
    }

    fn expand(&mut self, inst: Inst, plan: &UnrollPlan, out: &mut Vec<Inst>) {
        let first_new = self.function.insts.len();
        let all = self.function.add_label();
        let mut copies = Vec::new();
        for _ in 0..plan.trip_count {
            let one = self.function.add_label();
            let mut cloner = Cloner::new(self.function);
            cloner.peel_iteration(plan.label, all, one);
            cloner.skip(plan.test);
            let body = cloner.block(plan.body);
            let continuing = cloner.block(plan.continuing);
            // Grown with the value table: a cloned pointer points where the original does.
            for (old, _) in std::mem::take(&mut cloner.copied) {
                self.variables.pointers.push(self.variables.pointers[old.index()]);
                self.array_pointers.push(self.array_pointers[old.index()]);
            }
            let values = self.function.values.len();
            assert_eq!(self.variables.pointers.len(), values, "the pointers have one entry for each value");
            assert_eq!(self.array_pointers.len(), values, "the array pointers have one entry for each value");
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
        // A loop with no iterations counts as a change too.
        self.added += (self.function.insts.len() - first_new).max(1);
    }

    fn scope(&mut self, label: Label, body: Block, like: Inst) -> Inst {
        let (fp, loc) = (self.function.inst(like).fp, self.function.inst(like).loc);
        self.function.add_inst(Op::Scope { label, body }, None, fp, loc)
    }
}
