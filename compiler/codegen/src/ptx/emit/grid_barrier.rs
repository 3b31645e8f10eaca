//! Barriers of the grid, in a cooperative launch.
//!
//! The threads of a threadgroup meet at a barrier of their own; one of them arrives for the threadgroup and
//! waits until all threadgroups that have not ended have arrived. It polls the stop flag while it waits.
//! The words are in global memory ([`anymetal_abi::nvidia::Parameter::GridBarrier`]):
//!
//! | byte | what |
//! |---|---|
//! | 0 | how many threadgroups have arrived, then how many have not ended: 64 bits together |
//! | 8 | the number of completed barriers |
//!
//! and in threadgroup memory:
//!
//! | byte | what |
//! |---|---|
//! | 0 | the thread that arrives for the threadgroup |
//! | 4 | whether it was told to stop |
//! | 8 | how many threads have ended |
//!
//! Invariant: the operation that makes the two halves of the first word equal completes the barrier; no other
//! can follow before it has cleared the first half.

use anymetal_ir::BarrierScope;

use super::Emitter;
use super::barrier::shared;
use crate::llvm::{I32, IntPredicate, MemFlags, Opd};

/// Bytes of threadgroup memory that barriers of the grid take.
pub(in super::super) const GRID_BARRIER_BYTES: u64 = 16;

const LEADER: &str = "ptr addrspace(3) @am.grid";
const STOPPED: &str = "ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @am.grid, i32 4)";
const ENDED: &str = "ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @am.grid, i32 8)";

impl Emitter<'_> {
    /// Whether the kernel has a barrier of the grid.
    pub(super) fn meets_grid(&self) -> bool {
        self.input.order.iter().any(|&inst| self.input.function.inst(inst).op.is_grid_barrier())
    }

    /// The variable in threadgroup memory, if there is one.
    pub(super) fn grid_barrier_variables(&self) -> String {
        match self.meets_grid() {
            true => format!(
                "@am.grid = internal addrspace(3) global [{GRID_BARRIER_BYTES} x i8] undef, align 16\n"
            ),
            false => String::new(),
        }
    }

    /// Sets the variable up: at the start of the kernel, where all threads that exist are together.
    pub(super) fn start_grid_barriers(&mut self) {
        if !self.meets_grid() {
            return;
        }
        let linear = self.grid.linear.clone();
        let [set, done] = std::array::from_fn(|_| self.t.block());
        let is_first = self.t.icmp(IntPredicate::Eq, &linear, 0);
        self.t.branch_if(&is_first, set, done);
        self.t.label(set);
        self.t.store(&Opd::i32(0), &shared(ENDED), 4);
        self.t.branch(done);
        self.t.label(done);
        self.t.call_void_declared("llvm.nvvm.barrier0", &[]);
    }

    /// All threads of the grid meet.
    pub(super) fn grid_barrier(&mut self) {
        self.helper("am.grid.arrive", || ARRIVE.to_owned());
        self.grid_helpers();
        let (linear, barrier, stop) =
            (self.grid.linear.clone(), self.grid.barrier.clone(), self.grid.stop.clone());
        assert!(matches!(barrier, Opd::Reg(_, _)), "a kernel with grid barriers has their parameter");
        self.barrier(BarrierScope::Threadgroup);
        // Of the threads that are here one wins.
        self.t.store(&linear, &shared(LEADER), MemFlags::from(4).volatile(true));
        self.barrier(BarrierScope::Threadgroup);
        let leader = self.t.load(I32, &shared(LEADER), MemFlags::from(4).volatile(true));
        let leads = self.t.icmp(IntPredicate::Eq, &leader, &linear);
        let [arrive, meet, on] = std::array::from_fn(|_| self.t.block());
        self.t.branch_if(&leads, arrive, meet);
        self.t.label(arrive);
        let stopped = self.t.call(I32, "am.grid.arrive", &[&barrier, &stop]);
        self.t.store(&stopped, &shared(STOPPED), MemFlags::from(4).volatile(true));
        self.t.branch(meet);
        self.t.label(meet);
        self.barrier(BarrierScope::Threadgroup);
        let stopped = self.t.load(I32, &shared(STOPPED), MemFlags::from(4).volatile(true));
        let goes_on = self.t.icmp(IntPredicate::Eq, &stopped, 0);
        self.t.branch_likely(&goes_on, on, self.exit);
        self.t.label(on);
    }

    /// At the end of each thread: the last one takes its threadgroup out of the barriers.
    pub(super) fn end_grid_barriers(&mut self) {
        if !self.meets_grid() {
            return;
        }
        self.helper("am.grid.leave", leave_function);
        self.grid_helpers();
        let (count, barrier) = (self.grid.count(), self.grid.barrier.clone());
        self.t.call_void("am.grid.leave", &[&count, &barrier]);
    }

    fn grid_helpers(&mut self) {
        self.helper("am.grid.complete", || COMPLETE.to_owned());
        self.t.declare("declare void @llvm.nvvm.membar.gl()");
    }
}

/// Lets the threadgroups go that have all arrived.
const COMPLETE: &str = "\
define internal void @am.grid.complete(ptr addrspace(1) %grid) #1 {
  %cleared = atomicrmw and ptr addrspace(1) %grid, i64 -4294967296 syncscope(\"device\") monotonic, align 8
  call void @llvm.nvvm.membar.gl()
  %completed = getelementptr i8, ptr addrspace(1) %grid, i64 8
  %counted = atomicrmw add ptr addrspace(1) %completed, i32 1 syncscope(\"device\") monotonic, align 4
  ret void
}
";

/// A threadgroup arrives and waits; gives 1 if the launch is to stop.
const ARRIVE: &str = "\
define internal i32 @am.grid.arrive(ptr addrspace(1) %grid, ptr addrspace(1) %stop) #1 {
start:
  %completed = getelementptr i8, ptr addrspace(1) %grid, i64 8
  %before = load atomic i32, ptr addrspace(1) %completed syncscope(\"device\") monotonic, align 4
  call void @llvm.nvvm.membar.gl()
  %state = atomicrmw add ptr addrspace(1) %grid, i64 1 syncscope(\"device\") monotonic, align 8
  %now = add i64 %state, 1
  %arrived = trunc i64 %now to i32
  %high = lshr i64 %now, 32
  %live = trunc i64 %high to i32
  %all = icmp eq i32 %arrived, %live
  br i1 %all, label %complete, label %wait
complete:
  call void @am.grid.complete(ptr addrspace(1) %grid)
  br label %done
wait:
  %current = load atomic i32, ptr addrspace(1) %completed syncscope(\"device\") monotonic, align 4
  %is.over = icmp ne i32 %current, %before
  br i1 %is.over, label %done, label %look
look:
  %flag = load volatile i32, ptr addrspace(1) %stop, align 4 ; poll
  %goes.on = icmp eq i32 %flag, 0
  br i1 %goes.on, label %wait, label %stopped
done:
  call void @llvm.nvvm.membar.gl()
  ret i32 0
stopped:
  ret i32 1
}
";

/// One thread of a threadgroup of `count` threads ends.
fn leave_function() -> String {
    format!(
        "define internal void @am.grid.leave(i32 %count, ptr addrspace(1) %grid) #1 {{
  %before = atomicrmw add {ENDED}, i32 1 syncscope(\"block\") monotonic, align 4
  %own = add i32 %before, 1
  %is.last = icmp eq i32 %own, %count
  br i1 %is.last, label %last, label %gone
last:
  call void @llvm.nvvm.membar.gl()
  %state = atomicrmw add ptr addrspace(1) %grid, i64 -4294967296 syncscope(\"device\") monotonic, align 8
  %now = sub i64 %state, 4294967296
  %arrived = trunc i64 %now to i32
  %high = lshr i64 %now, 32
  %live = trunc i64 %high to i32
  %all = icmp eq i32 %arrived, %live
  %some = icmp ne i32 %live, 0
  %completes = and i1 %all, %some
  br i1 %completes, label %complete, label %gone
complete:
  call void @am.grid.complete(ptr addrspace(1) %grid)
  br label %gone
gone:
  ret void
}}
"
    )
}
