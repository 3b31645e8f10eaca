//! The constructs around the instruction being written, and the jumps between them.

use std::collections::BTreeSet;

use anymetal_ir::{Label, Op};

use super::Emitter;
use crate::llvm_text::{BlockName, Opd};

/// A jump out of constructs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Exit {
    /// Leaves the construct of that label.
    Break(Label),
    /// Goes to the loop's continuing block.
    Continue(Label),
}

impl Exit {
    /// The number that stands for it in the register of lanes on their way out; 0 is none.
    pub(super) fn code(self) -> i64 {
        match self {
            Self::Break(label) => 2 * i64::from(label.0) + 1,
            Self::Continue(label) => 2 * i64::from(label.0) + 2,
        }
    }
}

/// A construct.
#[derive(Debug)]
pub(super) struct Frame {
    /// Its label, if it can be left.
    pub(super) label: Option<Label>,
    /// Where its lanes meet, if it is tracked: every jump out of it goes there first.
    pub(super) meet: Option<BlockName>,
    /// After it.
    pub(super) break_to: BlockName,
    /// The loop's continuing block.
    pub(super) continue_to: BlockName,
    /// The jumps that go to the meeting place.
    pub(super) exits: BTreeSet<Exit>,
}

/// The constructs around, outermost first, and the register of exits.
#[derive(Debug, Default)]
pub(super) struct Frames {
    stack: Vec<Frame>,
    exit: Option<Opd>,
}

impl Frames {
    pub(super) fn push(&mut self, frame: Frame) {
        self.stack.push(frame);
    }

    /// Ends the innermost construct; gives the jumps that go to its meeting place.
    pub(super) fn pop(&mut self) -> BTreeSet<Exit> {
        self.stack.pop().map(|frame| frame.exits).unwrap_or_default()
    }
}

impl Emitter<'_> {
    /// The variable that says where a lane is on its way to.
    pub(super) fn exit_variable(&mut self) -> Opd {
        if let Some(variable) = &self.frames.exit {
            return variable.clone();
        }
        let variable = self.t.alloca("i32", 4);
        self.t.entry_line(format_args!("store i32 0, ptr {variable}, align 4"));
        self.frames.exit = Some(variable.clone());
        variable
    }

    pub(super) fn jump_of(&mut self, op: &Op) {
        self.pass_on(op);
        match op {
            Op::Break(label, _) => self.jump(Exit::Break(*label), false),
            Op::Continue(label, _) => self.jump(Exit::Continue(*label), false),
            _ => self.t.branch(self.exit),
        }
    }

    /// Goes to the innermost meeting place on the way, or to the target. `on_the_way`: the lane comes from a
    /// meeting place.
    pub(super) fn jump(&mut self, exit: Exit, on_the_way: bool) {
        let (Exit::Break(target) | Exit::Continue(target)) = exit;
        for at in (0..self.frames.stack.len()).rev() {
            let frame = &mut self.frames.stack[at];
            if let Some(meet) = frame.meet {
                frame.exits.insert(exit);
                let variable = self.exit_variable();
                self.t.store("i32", &Opd::Int(exit.code()), &variable, 4);
                return self.t.branch(meet);
            }
            if frame.label == Some(target) {
                let to = if matches!(exit, Exit::Break(_)) { frame.break_to } else { frame.continue_to };
                if on_the_way {
                    let variable = self.exit_variable();
                    self.t.store("i32", &Opd::Int(0), &variable, 4);
                }
                return self.t.branch(to);
            }
        }
        // The verifier lets no jump have a target that is not around it.
        self.t.branch(self.exit);
    }

    /// Sends a lane at a meeting place on its way, by what it wants.
    pub(super) fn dispatch(&mut self, wanted: &Opd, exits: &BTreeSet<Exit>) {
        let exits: Vec<Exit> = exits.iter().copied().collect();
        let Some((last, others)) = exits.split_last() else { return };
        for exit in others {
            let (here, next) = (self.t.block(), self.t.block());
            let is_it = self.t.value(format_args!("icmp eq i32 {wanted}, {}", exit.code()));
            self.t.branch_if(&is_it, here, next);
            self.t.label(here);
            self.jump(*exit, true);
            self.t.label(next);
        }
        self.jump(*last, true);
    }
}
