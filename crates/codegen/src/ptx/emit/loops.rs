//! Loops: lanes that leave at different times, and the stop flag.

use std::collections::BTreeSet;

use anymetal_ir::{Block, Label};

use super::Emitter;
use super::frames::{Exit, Frame};
use crate::cpu::CodegenError;
use crate::llvm_text::{BlockName, Opd};

/// Rounds of loops, of one thread, after which it looks at the stop flag: a power of two.
const ROUNDS_PER_LOOK: u32 = 1024;

/// A loop being written.
struct LoopBlocks {
    label: Label,
    continuing: BlockName,
    end: BlockName,
    /// The lanes that enter, if it is tracked.
    entered: Option<Opd>,
    /// The jumps out that lanes take along to the end.
    leaving: BTreeSet<Exit>,
}

impl Emitter<'_> {
    pub(super) fn endless_loop(
        &mut self,
        label: Label,
        body: Block,
        continuing: Block,
        tracked: bool,
    ) -> Result<(), CodegenError> {
        let entered = tracked.then(|| self.active_lanes());
        let (head, next, end) = (self.t.block(), self.t.block(), self.t.block());
        let mut blocks = LoopBlocks { label, continuing: next, end, entered, leaving: BTreeSet::new() };
        self.t.label(head);
        self.part(&mut blocks, body, Some(Exit::Continue(label)))?;
        self.t.label(next);
        self.part(&mut blocks, continuing, None)?;
        self.stop_if_told();
        self.t.branch(head);
        self.t.label(end);
        if let Some(entered) = &blocks.entered {
            self.meet(Some(Exit::Break(label)), entered, blocks.leaving);
        }
        Ok(())
    }

    /// The body or the continuing block. In a tracked loop all its lanes meet after it, and those that leave
    /// go to the loop's end; `own` is the jump that only ends the part.
    fn part(&mut self, blocks: &mut LoopBlocks, part: Block, own: Option<Exit>) -> Result<(), CodegenError> {
        let is_tracked = blocks.entered.is_some();
        let after = self.t.block();
        self.frames.push(Frame {
            label: Some(blocks.label),
            meet: is_tracked.then_some(after),
            break_to: blocks.end,
            continue_to: blocks.continuing,
            exits: BTreeSet::new(),
        });
        let running = is_tracked.then(|| self.active_lanes());
        self.block(part)?;
        let mut exits = self.frames.pop();
        self.t.label(after);
        let Some(running) = running.filter(|_| !exits.is_empty()) else { return Ok(()) };
        let variable = self.exit_variable();
        let wanted = self.t.load("i32", &variable, 4);
        let mut stays = self.t.value(format_args!("icmp eq i32 {wanted}, 0"));
        let came_by_own = own.is_some_and(|own| exits.remove(&own));
        if let Some(own) = own.filter(|_| came_by_own) {
            let by_own = self.t.value(format_args!("icmp eq i32 {wanted}, {}", own.code()));
            stays = self.t.value(format_args!("or i1 {stays}, {by_own}"));
        }
        let here = self.ballot(&running, &stays);
        self.set_active_lanes(&here);
        let on = self.t.block();
        if exits.is_empty() {
            self.t.branch(on);
        } else {
            self.t.branch_if(&stays, on, blocks.end);
        }
        blocks.leaving.append(&mut exits);
        self.t.label(on);
        self.t.store("i32", &Opd::Int(0), &variable, 4);
        Ok(())
    }

    /// At the end of a round: ends the thread if the launch is to stop.
    fn stop_if_told(&mut self) {
        if !self.input.options.stoppable || self.t.is_ended() {
            return;
        }
        let rounds = self.faults.rounds(&mut self.t);
        let before = self.t.load("i32", &rounds, 4);
        let now = self.t.value(format_args!("add i32 {before}, 1"));
        self.t.store("i32", &now, &rounds, 4);
        let low = self.t.value(format_args!("and i32 {now}, {}", ROUNDS_PER_LOOK - 1));
        let goes_on = self.t.value(format_args!("icmp ne i32 {low}, 0"));
        let (look, on) = (self.t.block(), self.t.block());
        self.t.branch_likely(&goes_on, on, look);
        self.t.label(look);
        let stop = self.grid.stop.clone();
        let flag = self.t.value(format_args!("load volatile i32, ptr addrspace(1) {stop}, align 4"));
        let goes_on = self.t.value(format_args!("icmp eq i32 {flag}, 0"));
        self.t.branch_likely(&goes_on, on, self.exit);
        self.t.label(on);
    }
}
