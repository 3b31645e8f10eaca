//! Loops: lanes that leave at different times, and polls of the stop flag, as `poll_plan` has them.

use std::collections::BTreeSet;

use anymetal_ir::{Block, Inst, Label, Op};

use super::super::poll_plan::{GROUP, LoopForm};
use super::Emitter;
use super::entry::FIRST_LOOP_NODE;
use super::frames::{Exit, Frame};
use crate::cpu::CodegenError;
use crate::llvm::{BlockName, Bound, I32, IntPredicate, Opd};

/// How LLVM is asked to unroll a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unrolling {
    Whole,
    /// Four rounds side by side, and a loop for the rest: a warp waits for loads of four rounds at once.
    ByFour,
}

impl Unrolling {
    /// The number of the metadata node.
    pub(super) fn node(self) -> usize {
        match self {
            Self::Whole => 3,
            Self::ByFour => 4,
        }
    }
}

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
    pub(super) fn endless_loop(&mut self, inst: Inst, tracked: bool) -> Result<(), CodegenError> {
        let Op::Loop { label, ref inits, ref params, body, continuing, .. } =
            self.input.function.inst(inst).op
        else {
            unreachable!("{inst} is not a loop")
        };
        self.pass(inits, params);
        let entered = tracked.then(|| self.active_lanes());
        let form = if self.input.options.stoppable {
            self.facts.loop_forms.of(inst)
        } else {
            LoopForm::Unpolled { trips: u64::MAX, unroll: false }
        };
        let (again, end) = (self.t.block(), self.t.block());
        let mut blocks = LoopBlocks { label, continuing: end, end, entered, leaving: BTreeSet::new() };
        let mut head = again;
        let copies = if matches!(form, LoopForm::Groups(_)) { GROUP } else { 1 };
        match &form {
            LoopForm::Pieces { counted, rounds, .. } => {
                self.t.label(again);
                self.begin_piece(counted, *rounds, again);
                head = self.t.block();
                self.t.loop_header(head, Bound::Trips(*rounds));
            }
            LoopForm::Unpolled { trips, .. } => self.t.loop_header(again, Bound::Trips(*trips)),
            LoopForm::Groups(rounds) | LoopForm::Rounds(rounds) => {
                self.t.loop_header(again, Bound::Trips(*rounds));
            }
        }
        for _ in 0..copies {
            blocks.continuing = self.t.block();
            self.define_carried(params);
            self.part(&mut blocks, body, Some(Exit::Continue(label)))?;
            self.t.label(blocks.continuing);
            self.part(&mut blocks, continuing, None)?;
        }
        if matches!(form, LoopForm::Pieces { .. }) {
            let left = self.pieces.pop();
            assert!(left.is_some(), "loops in pieces nest");
        }
        match form {
            LoopForm::Unpolled { unroll: true, .. } => self.branch_unrolled(head, Unrolling::Whole),
            LoopForm::Pieces { unroll: true, .. } => self.branch_unrolled(head, Unrolling::ByFour),
            LoopForm::Unpolled { .. } | LoopForm::Pieces { .. } => self.t.branch(head),
            LoopForm::Groups(rounds) | LoopForm::Rounds(rounds) => {
                assert!(rounds.is_multiple_of(copies), "{copies} copies do not divide {rounds} rounds");
                self.poll_after(rounds / copies);
                self.t.branch(again);
            }
        }
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
        let Some(running) = running.filter(|_| !exits.is_empty()) else {
            // No lane leaves the others.
            return Ok(());
        };
        let variable = self.exit_variable();
        let wanted = self.t.load(I32, &variable, 4);
        let mut stays = self.t.icmp(IntPredicate::Eq, &wanted, 0);
        let came_by_own = own.is_some_and(|own| exits.remove(&own));
        if let Some(own) = own.filter(|_| came_by_own) {
            let by_own = self.t.icmp(IntPredicate::Eq, &wanted, own.code());
            stays = self.t.or(&stays, &by_own);
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
        self.t.store(&Opd::int(I32, 0), &variable, 4);
        Ok(())
    }

    /// The jump back of a loop that is to be unrolled.
    fn branch_unrolled(&mut self, head: BlockName, unrolling: Unrolling) {
        if self.t.is_ended() {
            return;
        }
        let node = FIRST_LOOP_NODE + self.unrolled_loops.len();
        self.unrolled_loops.push(unrolling);
        self.t.branch_back(head, &format!(", !llvm.loop !{node}"));
    }

    /// At the end of an iteration: polls if so many, a power of two, have passed.
    fn poll_after(&mut self, rounds: u64) {
        assert!(
            rounds.is_power_of_two(),
            "iterations are counted with a mask, and {rounds} is not a power of two"
        );
        if self.t.is_ended() {
            return;
        }
        let on = self.t.block();
        if rounds > 1 {
            let counter = self.faults.rounds(&mut self.t);
            let before = self.t.load(I32, &counter, 4);
            let now = self.t.add(&before, 1);
            self.t.store(&now, &counter, 4);
            let low = self.t.and(&now, rounds as i64 - 1);
            let goes_on = self.t.icmp(IntPredicate::Ne, &low, 0);
            let due = self.t.block();
            self.t.branch_likely(&goes_on, on, due);
            self.t.label(due);
        }
        self.poll(on);
        self.t.label(on);
    }

    /// Ends the thread if the launch is to stop; else goes on there.
    pub(super) fn poll(&mut self, on: BlockName) {
        assert!(
            matches!(self.grid.stop, Opd::Reg(_, _)),
            "a kernel that polls the stop flag has its parameter"
        );
        let stop = self.grid.stop.clone();
        let flag = self.t.load_stop_flag(&stop);
        let goes_on = self.t.icmp(IntPredicate::Eq, &flag, 0);
        self.t.branch_likely(&goes_on, on, self.exit);
    }
}
