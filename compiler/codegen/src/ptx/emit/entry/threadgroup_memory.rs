//! Clearing of threadgroup memory where a kernel begins: it still holds data of other kernels and programs.
//!
//! Invariant: no thread of the threadgroup passes the barrier before all of the memory that the kernel can
//! reach is zero. Private memory has a proof that it is written first (`definitely_stored`); whether other
//! threads have written an element is rarely decidable, so threadgroup memory is always cleared.

use anymetal_ir::{ArgKind, Space, ThreadgroupId};

use crate::limits::ptx::MAX_THREADGROUP_BYTES;
use crate::llvm::{Bound, I8, I32, IntPredicate, Opd};
use crate::ptx::emit::Emitter;
use anymetal_analysis::roots::Root;

/// The widest store of a thread, and the alignment of each variable and argument.
const WIDEST: u64 = 16;

impl Emitter<'_> {
    /// The threads that exist clear the memory together. To be called once threads beyond the grid's edge
    /// have ended, and before the barriers are set up: their setup ends with a barrier of the hardware.
    pub(super) fn clear_threadgroup_memory(&mut self) {
        let sizes: Vec<u64> = self.input.module.threadgroup_vars.iter().map(|var| var.size).collect();
        let arguments: Vec<usize> = (0..self.input.kernel.args.len())
            .filter(|&index| {
                let argument = &self.input.kernel.args[index];
                argument.enabled && argument.kind == ArgKind::ThreadgroupMemory
            })
            .collect();
        if arguments.is_empty() && sizes.iter().all(|&size| size == 0) {
            return;
        }
        for (index, size) in sizes.into_iter().enumerate().filter(|(_, size)| *size > 0) {
            let base = self.place(Root::Threadgroup(ThreadgroupId(index as u32)), Space::Threadgroup).base;
            let (units, rest) = (size / WIDEST, size % WIDEST);
            self.clear_together(&base, &Opd::i32(units as i64), WIDEST, units);
            if rest > 0 {
                // Nothing after the variable may be written.
                let base = self.t.address(I8, &base, &Opd::i32((units * WIDEST) as i64));
                self.clear_together(&base, &Opd::i32(rest as i64), 1, rest);
            }
        }
        for index in arguments {
            let place = self.place(Root::Argument(index), Space::Threadgroup);
            // Launches place arguments at multiples of 16, and pad the last one.
            let padded = self.t.add(&place.len, WIDEST as i64 - 1);
            let units = self.t.lshr(&padded, i64::from(WIDEST.ilog2()));
            let units = self.t.trunc(&units, I32);
            self.clear_together(&place.base, &units, WIDEST, MAX_THREADGROUP_BYTES / WIDEST);
            if self.input.options.stoppable {
                let on = self.t.block();
                self.poll(on);
                self.t.label(on);
            }
        }
        if !self.facts.convergence.barriers_diverge() {
            self.t.call_void_declared("llvm.nvvm.barrier0", &[]);
        }
    }

    /// Each thread clears every `count`th unit of `bytes` bytes, from its own on. `most`: an upper bound of
    /// `units`.
    fn clear_together(&mut self, base: &Opd, units: &Opd, bytes: u64, most: u64) {
        if most == 0 {
            // The variable has only a rest.
            return;
        }
        let ty = match bytes {
            16 => I32.vector(4),
            1 => I8,
            other => unreachable!("stores of {other} bytes"),
        };
        let (linear, count) = (self.grid.linear.clone(), self.grid.count());
        let counter = self.t.alloca(I32, 4);
        self.t.store(&linear, &counter, 4);
        let [head, clear, done] = std::array::from_fn(|_| self.t.block());
        // A last iteration only leaves.
        self.t.loop_header(head, Bound::Trips(most + 1));
        let unit = self.t.load(I32, &counter, 4);
        let more = self.t.icmp(IntPredicate::ULt, &unit, units);
        self.t.branch_if(&more, clear, done);
        self.t.label(clear);
        let offset = self.t.mul(&unit, bytes as i64);
        let at = self.t.address(I8, base, &offset);
        self.t.store(&Opd::zero(ty), &at, bytes as u32);
        let next = self.t.add(&unit, &count);
        self.t.store(&next, &counter, 4);
        self.t.branch(head);
        self.t.label(done);
    }
}
