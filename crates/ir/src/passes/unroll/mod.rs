//! Unrolls short loops of a known number of iterations completely, where that makes indices into
//! local arrays or constant tables constant, where it brings matrix products, or loads or moves of shared memory together, or
//! where the loop is tiny; and where it has a barrier, if those are the steps of a tree: each is of half as many
//! threads as the one before, and code for threads that are known is much better.
//!
//! The loop must count with one variable (as [`super::mem2reg`] knows them): a constant stored
//! before it, one store directly in its continuing block, and one test, either first in the body
//! or in the continuing block, that leaves it (`trips`). What there is in it says whether it is worth it (`worth`).

mod cost_model;
mod stride;
mod trip_count;

use super::copy::Copier;
use super::mem2reg::variables;
use crate::analysis::{LocalPointers, local_pointers, walk_insts};
use crate::{Block, Function, Inst, Label, Local, Op, Value};

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
        let counted = self.trips(inst, before)?;
        let facts = self.facts(label, counted.test, &counted.loads, [body, continuing]);
        let worthwhile = facts.are_worth(counted.trips, self.is_multiple(counted.next));
        let size = facts.size * counted.trips;
        (worthwhile && self.added + size <= MAX_GROWTH).then_some(Plan {
            label,
            body,
            continuing,
            test: counted.test,
            trips: counted.trips,
            breaks: facts.breaks > 1,
            continues: facts.continues > 0,
        })
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
