//! Blocks and constructs: branches on constants, loops that run once, scopes that are never left.
//!
//! Invariant: when a construct has been folded, [`Folder::breaks`] and [`Folder::continues`] of
//! its label count exactly the jumps left inside it.

use super::Folder;
use crate::limits::MAX_MOVED_DEPTH;
use anymetal_analysis::walk_insts;
use anymetal_ir::{Block, Inst, Label, Op, SwitchCase};

/// The result of folding an instruction.
struct Left {
    /// Whether control reaches what follows.
    goes_on: bool,
}

impl Folder<'_> {
    /// Folds a block in place; returns whether control can reach its end.
    pub(super) fn block(&mut self, block: Block, depth: usize) -> bool {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let count = insts.len();
        let mut out = Vec::with_capacity(count);
        let mut goes_on = true;
        for (n, &inst) in insts.iter().enumerate() {
            self.substitution.apply(&mut self.function.insts[inst.index()].op);
            goes_on = self.instruction(inst, &mut out, depth).goes_on;
            if !goes_on {
                if n + 1 < count {
                    self.end_unreachable(&insts[n + 1..], &mut out);
                }
                break;
            }
        }
        self.function.blocks[block.index()].insts = out;
        goes_on
    }

    /// Ends a block of which the rest is never reached. A jump that passes values stays, as the form of its
    /// construct requires it, but passes undefined ones.
    fn end_unreachable(&mut self, rest: &[Inst], out: &mut Vec<Inst>) {
        let &last = rest.last().expect("something follows");
        let mut op = self.function.inst(last).op.clone();
        let is_ended = out.last().is_some_and(|&inst| self.function.inst(inst).op.ends_block());
        if is_ended || op.passed().is_empty() {
            self.changed = true;
            return;
        }
        let (fp, loc) = (self.function.inst(last).fp, self.function.inst(last).loc);
        op.for_each_operand_mut(|value| {
            if !matches!(self.function.def(*value), Some(Op::Undef)) {
                self.changed = true;
            }
            let undef = self.function.add_inst(Op::Undef, Some(self.function.ty(*value)), fp, loc);
            out.push(undef);
            *value = self.function.result(undef);
        });
        self.function.replace_op(last, op);
        if self.function.inst(last).op.is_terminator() {
            self.count(last);
        }
        out.push(last);
    }

    fn instruction(&mut self, inst: Inst, out: &mut Vec<Inst>, depth: usize) -> Left {
        let goes_on = match &self.function.inst(inst).op {
            &Op::If { cond, then, otherwise, .. } => match self.function.as_const(cond) {
                Some(bits) => {
                    self.changed = true;
                    let block = if bits != 0 { then } else { otherwise };
                    let goes_on = self.block(block, depth + 1);
                    self.splice(inst, block, out);
                    goes_on
                }
                None => self.branch(inst, then, otherwise, out, depth),
            },
            &Op::Loop { label, body, continuing, .. } => {
                self.endless(inst, label, body, continuing, out, depth)
            }
            &Op::Scope { label, body, .. } => self.scope(inst, label, body, out, depth),
            Op::Switch { label, selector, cases, default, results } => {
                let (label, default, cases, results) = (*label, *default, cases.clone(), results.clone());
                match self.selector(*selector) {
                    Some(value) => {
                        let case = cases.iter().find(|case| case.values.contains(&value));
                        let body = case.map_or(default, |case| case.body);
                        self.function.insts[inst.index()].op = Op::Scope { label, body, results };
                        self.changed = true;
                        self.scope(inst, label, body, out, depth)
                    }
                    None => self.switch(inst, label, &cases, default, out, depth),
                }
            }
            op if op.is_terminator() => {
                self.count(inst);
                out.push(inst);
                false
            }
            _ => {
                self.simple(inst, out);
                true
            }
        };
        Left { goes_on }
    }

    fn selector(&self, selector: anymetal_ir::Value) -> Option<i64> {
        let scalar = self.function.ty(selector).scalar()?;
        Some(anymetal_ir::eval::sign_extend(scalar, self.function.as_const(selector)?))
    }

    fn count(&mut self, inst: Inst) {
        match self.function.inst(inst).op {
            Op::Break(label, _) => self.breaks[label.index()] += 1,
            Op::Continue(label, _) => self.continues[label.index()] += 1,
            Op::Return(_) => {}
            ref op => unreachable!("{op:?} does not end a block"),
        }
    }

    fn is_empty(&self, block: Block) -> bool {
        self.function.block(block).is_empty()
    }

    /// Appends the instructions of a folded block in place of its construct, whose results are what the block
    /// yields.
    fn splice(&mut self, construct: Inst, block: Block, out: &mut Vec<Inst>) {
        let mut insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        if let Some(last) = insts.pop_if(|last| matches!(self.function.inst(*last).op, Op::Yield(_))) {
            let results = self.function.inst(construct).op.results().to_vec();
            let values = self.function.inst(last).op.passed().to_vec();
            assert_eq!(results.len(), values.len(), "a yield has a value for each result of {construct}");
            for (result, value) in results.into_iter().zip(values) {
                self.substitution.replace(self.function, result, value);
            }
        }
        out.append(&mut insts);
    }

    /// Replaces the parameters of a loop that runs once by their first values, in its folded body.
    fn replace_params(&mut self, inst: Inst, body: Block) {
        let Op::Loop { inits, params, .. } = self.function.inst(inst).op.clone() else {
            unreachable!("{inst} is not a loop")
        };
        if params.is_empty() {
            return;
        }
        for (&param, init) in params.iter().zip(inits) {
            self.substitution.replace(self.function, param, init);
        }
        let mut inside = Vec::new();
        walk_insts(self.function, body, &mut |inst| inside.push(inst));
        for inst in inside {
            self.substitution.apply(&mut self.function.insts[inst.index()].op);
        }
    }

    fn branch(
        &mut self,
        inst: Inst,
        then: Block,
        otherwise: Block,
        out: &mut Vec<Inst>,
        depth: usize,
    ) -> bool {
        let then_goes_on = self.block(then, depth + 1);
        let otherwise_goes_on = self.block(otherwise, depth + 1);
        if self.is_empty(then) && self.is_empty(otherwise) {
            self.changed = true;
        } else {
            out.push(inst);
        }
        then_goes_on || otherwise_goes_on
    }

    fn scope(&mut self, inst: Inst, label: Label, body: Block, out: &mut Vec<Inst>, depth: usize) -> bool {
        let mut goes_on = self.block(body, depth + 1);
        goes_on |= self.end_at(body, Op::break_(label), depth) | self.yield_at_end(body, label);
        if self.breaks[label.index()] == 0 {
            self.changed = true;
            self.splice(inst, body, out);
            return goes_on;
        }
        out.push(inst);
        true
    }

    fn switch(
        &mut self,
        inst: Inst,
        label: Label,
        cases: &[SwitchCase],
        default: Block,
        out: &mut Vec<Inst>,
        depth: usize,
    ) -> bool {
        let blocks: Vec<Block> = cases.iter().map(|case| case.body).chain([default]).collect();
        let mut goes_on = false;
        for &block in &blocks {
            goes_on |= self.block(block, depth + 1);
            goes_on |= self.end_at(block, Op::break_(label), depth) | self.yield_at_end(block, label);
        }
        if blocks.iter().all(|&block| self.is_empty(block)) {
            self.changed = true;
            return true;
        }
        out.push(inst);
        goes_on || self.breaks[label.index()] > 0
    }

    fn endless(
        &mut self,
        inst: Inst,
        label: Label,
        body: Block,
        continuing: Block,
        out: &mut Vec<Inst>,
        depth: usize,
    ) -> bool {
        let mut body_goes_on = self.block(body, depth + 1);
        body_goes_on |= self.end_at(body, Op::continue_(label), depth);
        let continued = body_goes_on || self.continues[label.index()] > 0;
        if continued {
            self.block(continuing, depth + 1);
        } else {
            self.changed |= !self.is_empty(continuing);
            self.function.blocks[continuing.index()].insts.clear();
        }
        let only_breaks = {
            let mut insts =
                self.function.block(continuing).iter().rev().map(|&inst| &self.function.inst(inst).op);
            insts.next() == Some(&Op::break_(label)) && insts.all(|op| !op.has_side_effects())
        };
        if continued && !only_breaks {
            out.push(inst);
            return self.breaks[label.index()] > 0;
        }
        // The body runs once: a scope, whose end is where `continue` leads.
        if only_breaks {
            self.continues_become_breaks(label, body);
            self.release_break(label);
            self.function.blocks[continuing.index()].insts.clear();
        }
        self.changed = true;
        self.replace_params(inst, body);
        let results = self.function.inst(inst).op.results().iter().copied().collect();
        self.function.insts[inst.index()].op = Op::Scope { label, body, results };
        body_goes_on |= self.end_at(body, Op::break_(label), depth) | self.yield_at_end(body, label);
        if self.breaks[label.index()] == 0 {
            self.splice(inst, body, out);
            return body_goes_on;
        }
        out.push(inst);
        true
    }

    /// Turns the break with values at the end of a construct's block into a yield. Returns whether there was
    /// one, so that control reaches the end.
    fn yield_at_end(&mut self, block: Block, label: Label) -> bool {
        let Some(&last) = self.function.block(block).last() else {
            // Control reaches the end already.
            return false;
        };
        match self.function.inst(last).op.clone() {
            Op::Break(of, values) if of == label && !values.is_empty() => {
                self.release_break(label);
                self.function.replace_op(last, Op::Yield(values));
                self.changed = true;
                true
            }
            _ => false,
        }
    }

    fn continues_become_breaks(&mut self, label: Label, body: Block) {
        if self.continues[label.index()] == 0 {
            return;
        }
        let mut found = Vec::new();
        walk_insts(self.function, body, &mut |inst| {
            if self.function.inst(inst).op == Op::continue_(label) {
                found.push(inst);
            }
        });
        assert_eq!(
            found.len(),
            self.continues[label.index()] as usize,
            "the continues of {label} in its loop"
        );
        for inst in found {
            self.function.insts[inst.index()].op = Op::break_(label);
            self.breaks[label.index()] += 1;
            self.release_continue(label);
        }
    }

    /// Takes a removed break out of the counts.
    fn release_break(&mut self, label: Label) {
        let count = &mut self.breaks[label.index()];
        assert!(*count > 0, "a break of {label} that was not counted");
        *count -= 1;
    }

    /// Takes a removed continue out of the counts.
    fn release_continue(&mut self, label: Label) {
        let count = &mut self.continues[label.index()];
        assert!(*count > 0, "a continue of {label} that was not counted");
        *count -= 1;
    }

    /// Removes as many jumps as possible from a block whose end is the target of `jump`. Returns whether
    /// control reaches the end where it did not before.
    fn end_at(&mut self, block: Block, jump: Op, depth: usize) -> bool {
        self.move_rest(block, &jump, depth);
        self.strip_tail(block, jump)
    }

    /// `if c { …; jump } rest` becomes `if c { …; jump } else { rest }`, where the jump is at the
    /// end and can go.
    fn move_rest(&mut self, block: Block, jump: &Op, depth: usize) {
        let (mut block, mut depth) = (block, depth);
        while depth < MAX_MOVED_DEPTH {
            let insts = self.function.block(block);
            let guard = insts.iter().enumerate().find_map(|(at, &inst)| match self.function.inst(inst).op {
                // What follows uses the results of a branch that has some.
                Op::If { ref results, .. } if !results.is_empty() => None,
                Op::If { then, otherwise, .. } if self.ends_with(then, jump) => Some((at, otherwise)),
                Op::If { then, otherwise, .. } if self.ends_with(otherwise, jump) => Some((at, then)),
                _ => None,
            });
            let Some((at, other)) = guard else {
                // No branch ends with the jump.
                return;
            };
            let rest = &insts[at + 1..];
            if rest.is_empty() || self.leaves(other) || self.has_barrier(rest) {
                return;
            }
            let rest = self.function.blocks[block.index()].insts.split_off(at + 1);
            self.function.blocks[other.index()].insts.extend(rest);
            self.changed = true;
            (block, depth) = (other, depth + 1);
        }
    }

    fn ends_with(&self, block: Block, jump: &Op) -> bool {
        self.function.block(block).last().is_some_and(|&inst| self.function.inst(inst).op == *jump)
    }

    fn leaves(&self, block: Block) -> bool {
        self.function.block(block).last().is_some_and(|&inst| self.function.inst(inst).op.is_terminator())
    }

    /// Barriers are not moved into branches: all threads must execute them.
    fn has_barrier(&self, insts: &[Inst]) -> bool {
        let mut found = false;
        for &inst in insts {
            let op = &self.function.inst(inst).op;
            found |= matches!(op, Op::Barrier(..));
            for block in op.blocks() {
                walk_insts(self.function, block, &mut |inst| {
                    found |= matches!(self.function.inst(inst).op, Op::Barrier(..));
                });
            }
        }
        found
    }

    /// Removes jumps whose target control reaches anyway at the block's end. Returns whether there was one.
    fn strip_tail(&mut self, block: Block, jump: Op) -> bool {
        let mut stripped = false;
        let mut blocks = vec![block];
        while let Some(block) = blocks.pop() {
            let Some(&last) = self.function.block(block).last() else { continue };
            let op = &self.function.inst(last).op;
            if *op == jump {
                match jump {
                    Op::Break(label, _) => self.release_break(label),
                    Op::Continue(label, _) => self.release_continue(label),
                    _ => unreachable!(
                        "a construct's end is the target of breaks and continues, not of {jump:?}"
                    ),
                }
                self.function.blocks[block.index()].insts.pop();
                self.changed = true;
                stripped = true;
                blocks.push(block);
            } else if !matches!(op, Op::Loop { .. }) && op.results().is_empty() {
                blocks.extend(op.blocks());
            }
        }
        stripped
    }
}
