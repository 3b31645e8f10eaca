//! Counted loops in pieces, between which the thread polls the stop flag.
//!
//! ```text
//! again:  start = counter; length = min(limit - start, piece)   0 if the loop is over
//! head:   if counter - start >= length { if counter is at the limit { break } poll; go to again }
//!         body; counter += step; go to head
//! ```
//! The inner loop has one exit, and a range of counters that is part of the whole loop's: the outcome is the
//! same whatever the counter's start, and a counter that wraps around ends a piece too.

use anymetal_analysis::CountedLoop;
use anymetal_ir::{CmpOp, Inst, Op};

use super::Emitter;
use crate::cpu::CodegenError;
use crate::elementwise::{Width, arith};
use crate::llvm::{BlockName, Opd, scalar_type, wrap_int};

/// The piece of a loop being written.
#[derive(Debug)]
pub(super) struct Piece {
    counted: CountedLoop,
    start: Opd,
    length: Opd,
    limit: Opd,
    /// Where the next piece begins.
    again: BlockName,
}

impl Emitter<'_> {
    /// Computes the piece that begins with the counter as it is.
    pub(super) fn begin_piece(&mut self, counted: &CountedLoop, rounds: u64, again: BlockName) {
        let ty = scalar_type(counted.scalar);
        let start = self.load_carried(counted.counter).swap_remove(0);
        let limit = match self.input.function.as_const(counted.limit) {
            Some(bits) => Opd::int(ty, wrap_int(ty, bits as i64)),
            None => self.one(counted.limit),
        };
        let span = (rounds * counted.step.unsigned_abs()) as i64;
        assert!(rounds > 0 && span > 0, "a piece has iterations");
        let distance = match counted.step {
            1.. => self.t.sub(&limit, &start),
            _ => self.t.sub(&start, &limit),
        };
        let inclusive = i64::from(counted.is_inclusive());
        let capped = self.t.intrinsic("umin", "", &[&distance, &Opd::int(ty, span - inclusive)]);
        let length = self.t.add(&capped, inclusive);
        let goes_on =
            arith::compare(&mut self.t, Width::One, counted.goes_on, counted.scalar, &start, &limit);
        let length = self.t.select(&goes_on, &length, 0);
        self.pieces.push(Piece { counted: counted.clone(), start, length, limit, again });
    }

    /// Writes the exit test of the loop in pieces around, if the instruction is that.
    pub(super) fn piece_test(&mut self, inst: Inst) -> Result<bool, CodegenError> {
        let Some(Piece { counted, start, length, limit, again }) =
            self.pieces.last().filter(|piece| piece.counted.test.inst == inst)
        else {
            // An ordinary branch.
            return Ok(false);
        };
        let Op::If { then, otherwise, .. } = self.input.function.inst(inst).op else {
            unreachable!("{inst} is an exit test")
        };
        let leaving = if counted.test.leaves_when { then } else { otherwise };
        let (counted, start, length) = (counted.clone(), start.clone(), length.clone());
        let (limit, again) = (limit.clone(), *again);
        let current = self.one(counted.counter);
        let passed = match counted.step {
            1.. => self.t.sub(&current, &start),
            _ => self.t.sub(&start, &current),
        };
        // A step of one cannot miss the end, and this comparison is one instruction.
        let op = if counted.step.abs() == 1 { CmpOp::Ne } else { CmpOp::ULt };
        let inside = arith::compare(&mut self.t, Width::One, op, counted.scalar, &passed, &length);
        let (on, done, look, leave) = (self.t.block(), self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&inside, on, done);
        self.t.label(done);
        let goes_on =
            arith::compare(&mut self.t, Width::One, counted.goes_on, counted.scalar, &current, &limit);
        self.t.branch_if(&goes_on, look, leave);
        self.t.label(look);
        self.poll(again);
        self.t.label(leave);
        self.block(leaving)?;
        self.t.label(on);
        Ok(true)
    }
}
