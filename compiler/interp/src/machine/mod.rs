//! A machine executes one SIMD-group: 32 lanes in lock-step.
//!
//! Invariant: a step that is not a region's end marker runs with at least one lane active. The machine has
//! no Rust stack of its own, so it can stop at a barrier anywhere, inside loops inside calls, and go on
//! later. [`Machine::resume`] is the place to start; `control.rs` explains masks and frames.

mod address;
mod arithmetic;
mod atomic;
mod control;
mod divergence;
mod environment;
mod matrix;
mod memory;
pub(crate) mod pointer;
mod simd;
mod wraps;

use anymetal_ir::eval::{eval_binary, eval_cast, eval_compare, eval_unary};
use anymetal_ir::{BarrierScope, Query};

use crate::InterpError;
use crate::lanes::{Lanes, lanes_in, split};
use crate::program::step::{Pc, Slot, Step};
use crate::program::{Persistent, Program};
use crate::transcendental::library;
pub(crate) use address::Addresses;
use control::Frame;
pub(crate) use environment::{Environment, thread_of};
use wraps::Wraps;

/// What memory holds that was never written. Recognisable in results, and the same in every run; generated
/// code may differ.
pub(crate) const UNDEFINED_BYTE: u8 = 0xa5;

/// Loop iterations after which a SIMD-group lets the others of its threadgroup run, so that one may wait
/// for another through memory. A loop that is known to wait lets them run after each iteration.
const TURN: u32 = 1 << 16;

/// Uses up a part of a turn; whether that was the last.
fn ends(turn: &mut u32) -> bool {
    *turn -= 1;
    *turn == 0
}

/// Why a machine stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// All lanes have returned.
    Done,
    /// It waits at a barrier of the threadgroup or the grid.
    Barrier {
        /// The barrier.
        at: Pc,
        /// A lane that waits.
        lane: u32,
    },
    /// It used up its turn.
    Turn,
}

/// The state of one SIMD-group.
#[derive(Debug)]
pub(crate) struct Machine {
    registers: Vec<Lanes>,
    private: Vec<u8>,
    frames: Vec<Frame>,
    pc: Pc,
    /// The lanes that execute.
    active: u32,
    /// The lanes that exist.
    existing: u32,
    simdgroup: u32,
    /// The lanes that have left the kernel by a return, once it has ended.
    left: u32,
    wraps: Wraps,
}

impl Machine {
    /// A machine that can run any SIMD-group of the program.
    pub(crate) fn new(program: &Program) -> Self {
        let mut registers = vec![[0; 32]; program.register_count];
        for (lanes, persistent) in registers.iter_mut().zip(&program.persistent) {
            if let Persistent::Bits(bits) = *persistent {
                *lanes = [bits; 32];
            }
        }
        Self {
            registers,
            private: vec![UNDEFINED_BYTE; program.private_bytes as usize],
            frames: Vec::new(),
            pc: program.entry,
            active: 0,
            existing: 0,
            simdgroup: 0,
            left: 0,
            wraps: Wraps::default(),
        }
    }

    /// Gets ready to run a SIMD-group of the current threadgroup from its beginning.
    pub(crate) fn start(&mut self, env: &Environment<'_, '_>, simdgroup: u32) {
        let threads: u32 = env.group.size.iter().product();
        let lanes = (threads - simdgroup * 32).min(32);
        self.existing = u32::MAX >> (32 - lanes);
        self.active = self.existing;
        self.simdgroup = simdgroup;
        self.left = 0;
        self.pc = env.program.entry;
        if env.interests.arithmetic {
            self.wraps.start(env.program);
        }
        self.frames.clear();
        self.frames.push(Frame::call(Pc::MAX));
        for (slot, persistent) in env.program.persistent.iter().enumerate() {
            if let Persistent::Query(query) = *persistent {
                self.registers[slot] = self.answers(env, query);
            }
        }
    }

    /// A lane that left the kernel by a return, if one did.
    pub(crate) fn returned_lane(&self) -> Option<u32> {
        (self.left != 0).then(|| self.left.trailing_zeros())
    }

    /// The step that it came to last, and the lanes that execute it.
    pub(crate) fn position(&self) -> (Pc, u32) {
        (self.pc.saturating_sub(1), self.active)
    }

    fn answers(&self, env: &Environment<'_, '_>, query: Query) -> Lanes {
        std::array::from_fn(|lane| u64::from(env.answer(query, self.simdgroup, lane as u32)))
    }

    /// Runs until the SIMD-group is done or has to wait.
    pub(crate) fn resume(&mut self, env: &mut Environment<'_, '_>) -> Result<Pause, InterpError> {
        match env.interests.arithmetic | env.interests.steps {
            true => self.execute::<true>(env),
            false => self.execute::<false>(env),
        }
    }

    /// What observers are told before a step.
    fn tell_step(&mut self, env: &mut Environment<'_, '_>, pc: Pc, step: &Step) {
        if env.interests.steps {
            env.observer.on_step(pc, self.active);
        }
        if env.interests.arithmetic {
            self.tell_arithmetic(env, pc, step);
            self.follow_wraps(env, pc, step);
        }
    }

    fn execute<const EACH_STEP: bool>(
        &mut self,
        env: &mut Environment<'_, '_>,
    ) -> Result<Pause, InterpError> {
        let program = env.program;
        let mut turn = env.turns.length(TURN);
        let interrupts_accesses = env.turns.interrupts_accesses();
        loop {
            let pc = self.pc;
            self.pc += 1;
            env.report.steps += 1;
            let step = &program.steps[pc as usize];
            if EACH_STEP {
                self.tell_step(env, pc, step);
            }
            match *step {
                Step::Apply1 { apply, dst, a, .. } => {
                    let (out, others) = split(&mut self.registers, dst.index());
                    apply(out, others.get(a.index()));
                }
                Step::Apply2 { apply, dst, a, b, .. } => {
                    let (out, others) = split(&mut self.registers, dst.index());
                    apply(out, others.get(a.index()), others.get(b.index()));
                }
                Step::Apply3 { apply, dst, a, b, c, .. } => {
                    let (out, others) = split(&mut self.registers, dst.index());
                    apply(out, others.get(a.index()), others.get(b.index()), others.get(c.index()));
                }
                Step::Load { dst, ptr, element, align } => {
                    self.load(env, pc, dst, ptr, element, align);
                    if interrupts_accesses && ends(&mut turn) {
                        return Ok(Pause::Turn);
                    }
                }
                Step::Store { src, ptr, element, align } => {
                    self.store(env, pc, src, ptr, element, align);
                    if interrupts_accesses && ends(&mut turn) {
                        return Ok(Pause::Turn);
                    }
                }
                Step::Move { dst, src } => {
                    self.registers[dst.index()] = self.registers[src.index()];
                }
                Step::Merge { dst, src } => self.merge(dst, src),
                Step::Back { body, waits } => {
                    if self.active != 0 {
                        self.pc = body;
                        env.check_limits()?;
                        if waits || ends(&mut turn) {
                            return Ok(Pause::Turn);
                        }
                    }
                }
                Step::Call { entry } => {
                    env.check_limits()?;
                    self.call(entry);
                }
                Step::EndFunction => {
                    if env.interests.lanes {
                        self.tell_exit(env, pc, self.frames.len() == 1);
                    }
                    if self.end_function() {
                        return Ok(Pause::Done);
                    }
                }
                Step::Barrier { scope, flags } => {
                    let lane = self.arrive(env, pc, scope, flags);
                    if scope != BarrierScope::Simdgroup {
                        return Ok(Pause::Barrier { at: pc, lane });
                    }
                }
                Step::Fence { operands } => self.fence(env, pc, operands),
                _ => {
                    if env.interests.lanes {
                        self.tell_lanes(env, pc, step);
                    }
                    if !self.control(program, step) && !self.compute(env, step) {
                        self.effect(env, pc, step);
                    }
                }
            }
        }
    }

    /// Arithmetic that has no fast form, and pointers; false if the step is something else.
    fn compute(&mut self, env: &Environment<'_, '_>, step: &Step) -> bool {
        match *step {
            Step::PtrOffset { dst, base, offset } => {
                let (out, others) = split(&mut self.registers, dst.index());
                pointer::advanced(out, others.get(base.index()), offset);
            }
            Step::PtrIndex { dst, base, index, scale, offset } => {
                let (out, others) = split(&mut self.registers, dst.index());
                pointer::indexed(out, others.get(base.index()), others.get(index.index()), scale, offset);
            }
            Step::Unary { op, ty, dst, a } => self.map1(dst, a, |a| eval_unary(op, ty, a)),
            Step::Cast { op, from, to, dst, a } => self.map1(dst, a, |a| eval_cast(op, from, to, a)),
            Step::Binary { op, ty, dst, a, b } => self.map2(dst, a, b, |a, b| eval_binary(op, ty, a, b)),
            Step::Compare { op, ty, dst, a, b } => {
                self.map2(dst, a, b, |a, b| u64::from(eval_compare(op, ty, a, b)));
            }
            Step::Math { function, ty, arity, dst, args } => {
                let mut out = [0; 32];
                for lane in lanes_in(self.active) {
                    let args = args.map(|arg| self.registers[arg.index()][lane]);
                    out[lane] = library(function, ty, &args[..usize::from(arity)]);
                }
                self.registers[dst.index()] = out;
            }
            Step::ComparePtr { op, dst, a, b } => self.compare_pointers(env, op, dst, a, b),
            Step::PackPtr { dst, ptr } => self.pack_pointer(env, dst, ptr),
            Step::UnpackPtr { dst, space, bits } => self.unpack_pointer(env, dst, space, bits),
            Step::Repack { dst, src, to, from } => self.repack(env.program, dst, src, to, from),
            Step::Pick { dst, index, from } => {
                let sources = &env.program.operands[from.indices()];
                let mut out = [0; 32];
                for (lane, out) in out.iter_mut().enumerate() {
                    let index = self.registers[index.index()][lane] as usize % sources.len();
                    *out = self.registers[sources[index].index()][lane];
                }
                self.registers[dst.index()] = out;
            }
            Step::Replace { dst, index, value, old, position, count } => {
                let mut out = self.registers[old.index()];
                for (lane, out) in out.iter_mut().enumerate() {
                    if self.registers[index.index()][lane] % u64::from(count) == u64::from(position) {
                        *out = self.registers[value.index()][lane];
                    }
                }
                self.registers[dst.index()] = out;
            }
            Step::Simd { op, ty, dst, args } => {
                let args = args.map(|arg| &self.registers[arg.index()]);
                self.registers[dst.index()] = simd::apply(op, ty, self.active, args);
            }
            Step::MatrixMultiply { operands, types } => {
                self.multiply(&env.program.operands[operands.indices()], types);
            }
            _ => return false,
        }
        true
    }

    /// Access to memory.
    fn effect(&mut self, env: &mut Environment<'_, '_>, pc: Pc, step: &Step) {
        match *step {
            Step::LocalStart { region } => self.local_start(env, pc, region),
            Step::WriteWhole { ptr, bytes } => self.write_whole(env, pc, ptr, bytes),
            Step::MemCopy { dst, src, size, align, pieces } => {
                self.copy(env, pc, (dst, src), (size, align), pieces);
            }
            Step::MemZero { dst, size, align, pieces } => self.zero(env, pc, dst, (size, align), pieces),
            Step::AtomicLoad { .. }
            | Step::AtomicStore { .. }
            | Step::AtomicRmw { .. }
            | Step::AtomicCas { .. } => self.atomic(env, pc, step),
            Step::MatrixLoad { dst, ptr, stride, ty, transpose } => {
                self.load_matrix(env, pc, dst, (ptr, stride), ty, transpose);
            }
            Step::MatrixStore { src, ptr, stride, ty, transpose } => {
                self.store_matrix(env, pc, src, (ptr, stride), ty, transpose);
            }
            _ => unreachable!("every step is executed somewhere: {step:?}"),
        }
    }

    /// Operations that are evaluated lane by lane are evaluated for active lanes only.
    fn map1(&mut self, dst: Slot, a: Slot, f: impl Fn(u64) -> u64) {
        let mut out = [0; 32];
        let a = &self.registers[a.index()];
        for lane in lanes_in(self.active) {
            out[lane] = f(a[lane]);
        }
        self.registers[dst.index()] = out;
    }

    fn map2(&mut self, dst: Slot, a: Slot, b: Slot, f: impl Fn(u64, u64) -> u64) {
        let mut out = [0; 32];
        let (a, b) = (&self.registers[a.index()], &self.registers[b.index()]);
        for lane in lanes_in(self.active) {
            out[lane] = f(a[lane], b[lane]);
        }
        self.registers[dst.index()] = out;
    }

    fn merge(&mut self, dst: Slot, src: Slot) {
        let (dst, others) = split(&mut self.registers, dst.index());
        let src = others.get(src.index());
        let active = self.active;
        for lane in 0..32 {
            dst[lane] = if active >> lane & 1 != 0 { src[lane] } else { dst[lane] };
        }
    }
}
