//! Barriers.
//!
//! Where all lanes of a SIMD-group reach every barrier of the threadgroup together, or have ended, the
//! hardware's barrier does. Otherwise, for all barriers of the kernel, one in threadgroup memory: the lanes
//! that reach it meet, and the first of them arrives for the SIMD-group and waits until all SIMD-groups that
//! have not ended have arrived. Lanes of one SIMD-group that reach barriers apart arrive one after
//! the other. It
//! polls the stop flag while it waits.
//!
//! | byte | what |
//! |---|---|
//! | 0 | a bit for each SIMD-group that has arrived, then one for each that has not ended: 64 bits together |
//! | 8 | the number of completed barriers |
//! | 16 | for each SIMD-group the lanes that have ended |
//! | 144 | for each SIMD-group whether some of its lanes are at a barrier |
//!
//! Invariant: the operation that makes the two halves of the first word equal completes the barrier; no
//! other can follow before it has cleared the first half.

use anymetal_ir::BarrierScope;

use super::Emitter;
use crate::llvm::{I32, I64, IntPredicate, Opd, SHARED};

/// Bytes of threadgroup memory that barriers of lanes that diverge take.
pub(in super::super) const BARRIER_BYTES: u64 = 272;

/// Pointers to the variable's parts, with their type.
const STATE: &str = "ptr addrspace(3) @am.barriers";
const COMPLETED: &str = "ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @am.barriers, i32 8)";
const ENDED: &str = "ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @am.barriers, i32 16)";
const BUSY: &str = "ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @am.barriers, i32 144)";
const RELAXED: &str = "syncscope(\"block\") monotonic";

impl Emitter<'_> {
    pub(super) fn barrier(&mut self, scope: BarrierScope) {
        match scope {
            BarrierScope::Grid => self.grid_barrier(),
            BarrierScope::Threadgroup if self.facts.convergence.barriers_diverge() => {
                self.divergent_barrier()
            }
            BarrierScope::Threadgroup => self.t.call_void_declared("llvm.nvvm.barrier0", &[]),
            BarrierScope::Simdgroup => {
                let mask = self.active_lanes();
                self.t.call_void_declared("llvm.nvvm.bar.warp.sync", &[&mask]);
            }
            // Keeps what is stored before from what is computed after.
            BarrierScope::Thread => self.t.asm_void("", "~{memory}", ""),
        }
    }

    /// The variable in threadgroup memory, if there is one.
    pub(super) fn barrier_variables(&self) -> String {
        match self.facts.convergence.barriers_diverge() {
            true => {
                format!(
                    "@am.barriers = internal addrspace(3) global [{BARRIER_BYTES} x i8] undef, align 16\n"
                )
            }
            false => String::new(),
        }
    }

    /// Sets the variable up: at the start of the kernel, where all threads that exist are together.
    pub(super) fn start_barriers(&mut self) {
        if !self.facts.convergence.barriers_diverge() {
            return;
        }
        let (linear, lane) = (self.grid.linear.clone(), self.lane());
        let count = self.grid.count();
        let simdgroups = self.divided_up(&count, 5);
        let simdgroups = self.t.zext(&simdgroups, I64);
        let end = self.t.shl(&Opd::int(I64, 1), &simdgroups);
        let live = self.t.sub(&end, 1);
        let state = self.t.shl(&live, 32);
        let [set, set_lane, own, done] = std::array::from_fn(|_| self.t.block());
        let is_first = self.t.icmp(IntPredicate::Eq, &linear, 0);
        self.t.branch_if(&is_first, set, set_lane);
        self.t.label(set);
        self.t.store(&state, &shared(STATE), 8);
        self.t.store(&Opd::i32(0), &shared(COMPLETED), 4);
        self.t.branch(set_lane);
        self.t.label(set_lane);
        let leads = self.t.icmp(IntPredicate::Eq, &lane, 0);
        self.t.branch_if(&leads, own, done);
        self.t.label(own);
        let simdgroup = self.t.lshr(&linear, 5);
        for words in [ENDED, BUSY] {
            let word = self.t.address(I32, &shared(words), &simdgroup);
            self.t.store(&Opd::int(I32, 0), &word, 4);
        }
        self.t.branch(done);
        self.t.label(done);
        self.t.call_void_declared("llvm.nvvm.barrier0", &[]);
    }

    fn divergent_barrier(&mut self) {
        let polls = self.input.options.stoppable;
        self.helper("am.barrier", || barrier_function(polls));
        self.helper("am.barrier.complete", || COMPLETE.to_owned());
        for declaration in DECLARATIONS {
            self.t.declare(declaration);
        }
        let (mask, linear, stop) = (self.active_lanes(), self.grid.linear.clone(), self.grid.stop.clone());
        let stopped = self.t.call(I32, "am.barrier", &[&mask, &linear, &stop]);
        let goes_on = self.t.icmp(IntPredicate::Eq, &stopped, 0);
        let on = self.t.block();
        self.t.branch_likely(&goes_on, on, self.exit);
        self.t.label(on);
    }

    /// At the end of each thread: the last lane of a SIMD-group takes it out of the barriers.
    pub(super) fn end_barriers(&mut self) {
        if !self.facts.convergence.barriers_diverge() {
            return;
        }
        self.helper("am.barrier.end", end_function);
        self.helper("am.barrier.complete", || COMPLETE.to_owned());
        for declaration in DECLARATIONS {
            self.t.declare(declaration);
        }
        let (linear, count): (Opd, Opd) = (self.grid.linear.clone(), self.grid.count());
        self.t.call_void("am.barrier.end", &[&linear, &count]);
    }

    pub(super) fn helper(&mut self, name: &str, text: impl FnOnce() -> String) {
        if !self.helpers.contains_key(name) {
            let text = text();
            debug_assert!(text.contains(&format!("@{name}(")), "the helper's text defines {name}");
            self.helpers.insert(name.to_owned(), text);
        }
    }
}

/// The operand that a pointer to threadgroup memory is, which is written with its type.
pub(super) fn shared(pointer: &str) -> Opd {
    let address = pointer.strip_prefix("ptr addrspace(3) ").expect("it is a pointer to threadgroup memory");
    Opd::constant(SHARED, address)
}

const DECLARATIONS: [&str; 5] = [
    "declare void @llvm.nvvm.bar.warp.sync(i32)",
    "declare void @llvm.nvvm.membar.cta()",
    "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)",
    "declare i32 @llvm.cttz.i32(i32, i1)",
    "declare i32 @llvm.umin.i32(i32, i32)",
];

/// Lets the SIMD-groups go that have all arrived.
const COMPLETE: &str = "\
define internal void @am.barrier.complete() #1 {
  %cleared = atomicrmw and ptr addrspace(3) @am.barriers, i64 -4294967296 syncscope(\"block\") monotonic, align 8
  call void @llvm.nvvm.membar.cta()
  %counted = atomicrmw add ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @am.barriers, i32 8), i32 1 \
syncscope(\"block\") monotonic, align 4
  ret void
}
";

/// The lanes `mask` arrive; gives 1 if the launch is to stop, to all of them. `polls`: whether the wait polls
/// the stop flag.
fn barrier_function(polls: bool) -> String {
    let flag = match polls {
        true => "load volatile i32, ptr addrspace(1) %stop, align 4 ; poll",
        false => "add i32 0, 0",
    };
    format!(
        "define internal i32 @am.barrier(i32 %mask, i32 %linear, ptr addrspace(1) %stop) #1 {{
start:
  call void @llvm.nvvm.bar.warp.sync(i32 %mask)
  %first = call i32 @llvm.cttz.i32(i32 %mask, i1 true)
  %lane = and i32 %linear, 31
  %leads = icmp eq i32 %lane, %first
  br i1 %leads, label %lead, label %meet
lead:
  %simdgroup = lshr i32 %linear, 5
  %wide = zext i32 %simdgroup to i64
  %bit = shl i64 1, %wide
  %busy = getelementptr i32, {BUSY}, i32 %simdgroup
  br label %take
take:
  %pair = cmpxchg ptr addrspace(3) %busy, i32 0, i32 1 {RELAXED} monotonic, align 4
  %took = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %took, label %arrive, label %busy.look
busy.look:
  %busy.flag = {flag}
  %busy.on = icmp eq i32 %busy.flag, 0
  br i1 %busy.on, label %take, label %meet
arrive:
  %completed = load atomic i32, {COMPLETED} {RELAXED}, align 4
  call void @llvm.nvvm.membar.cta()
  %before = atomicrmw or {STATE}, i64 %bit {RELAXED}, align 8
  %now = or i64 %before, %bit
  %arrived = trunc i64 %now to i32
  %high = lshr i64 %now, 32
  %live = trunc i64 %high to i32
  %all = icmp eq i32 %arrived, %live
  br i1 %all, label %complete, label %wait
complete:
  call void @am.barrier.complete()
  br label %done
wait:
  %current = load atomic i32, {COMPLETED} {RELAXED}, align 4
  %is.over = icmp ne i32 %current, %completed
  br i1 %is.over, label %done, label %look
look:
  %flag = {flag}
  %goes.on = icmp eq i32 %flag, 0
  br i1 %goes.on, label %wait, label %meet
done:
  call void @llvm.nvvm.membar.cta()
  store atomic i32 0, ptr addrspace(3) %busy {RELAXED}, align 4
  br label %meet
meet:
  %own = phi i32 [ 0, %start ], [ 1, %busy.look ], [ 1, %look ], [ 0, %done ]
  call void @llvm.nvvm.bar.warp.sync(i32 %mask)
  %stopped = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %mask, i32 %own, i32 %first, i32 31)
  ret i32 %stopped
}}
"
    )
}

/// One lane of a threadgroup of `count` threads ends.
fn end_function() -> String {
    format!(
        "define internal void @am.barrier.end(i32 %linear, i32 %count) #1 {{
  %simdgroup = lshr i32 %linear, 5
  %ended = getelementptr i32, {ENDED}, i32 %simdgroup
  %before = atomicrmw add ptr addrspace(3) %ended, i32 1 {RELAXED}, align 4
  %own = add i32 %before, 1
  %first = and i32 %linear, -32
  %left = sub i32 %count, %first
  %lanes = call i32 @llvm.umin.i32(i32 %left, i32 32)
  %is.last = icmp eq i32 %own, %lanes
  br i1 %is.last, label %last, label %gone
last:
  %above = add i32 %simdgroup, 32
  %wide = zext i32 %above to i64
  %bit = shl i64 1, %wide
  %others = xor i64 %bit, -1
  call void @llvm.nvvm.membar.cta()
  %state = atomicrmw and {STATE}, i64 %others {RELAXED}, align 8
  %now = and i64 %state, %others
  %arrived = trunc i64 %now to i32
  %high = lshr i64 %now, 32
  %live = trunc i64 %high to i32
  %all = icmp eq i32 %arrived, %live
  %some = icmp ne i32 %live, 0
  %completes = and i1 %all, %some
  br i1 %completes, label %complete, label %gone
complete:
  call void @am.barrier.complete()
  br label %gone
gone:
  ret void
}}
"
    )
}
