//! The proof that kernels may be fused: which bytes each thread accesses.
//!
//! Owns [`prove`]. Invariant: what it does not understand it refuses.

use std::collections::BTreeMap;

use super::{Part, Refusal};
use crate::analysis::walk_insts;
use crate::{ArgKind, BinOp, CastOp, Function, Inst, Kernel, Op, Query, Space, Type, Value};

/// How far a definition is followed.
const DEPTH: u32 = 16;
/// The farthest apart that two threads' bytes may be: then no multiple of it by a position comes round.
const MAX_STRIDE: i64 = 1 << 16;
/// The farthest that a window begins from the argument's first byte.
const MAX_OFFSET: i64 = 1 << 40;

/// `position in grid × stride + constant`.
#[derive(Clone, Copy, Default, Debug)]
struct Affine {
    stride: i64,
    constant: i64,
}

impl Affine {
    fn plus(self, other: Self) -> Option<Self> {
        let stride = self.stride.checked_add(other.stride)?;
        Some(Self { stride, constant: self.constant.checked_add(other.constant)? })
    }

    fn times(self, by: i64) -> Option<Self> {
        Some(Self { stride: self.stride.checked_mul(by)?, constant: self.constant.checked_mul(by)? })
    }

    /// Of a parameter's pointer (from the parameter on) or a 64-bit integer. Narrower sums may come round, so
    /// only the position itself is followed through a conversion.
    fn of(function: &Function, value: Value, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let of = |value| Self::of(function, value, depth);
        let Some(op) = function.def(value) else { return Some(Self::default()) };
        match *op {
            Op::PtrAdd { base, index, scale, offset } => {
                let index = index.map_or(Some(Self::default()), of)?.times(scale.into())?;
                of(base)?.plus(index)?.plus(Self { stride: 0, constant: offset })
            }
            _ if function.ty(value) != Type::I64 => None,
            Op::Const(bits) => Some(Self { stride: 0, constant: bits as i64 }),
            Op::Cast(CastOp::ZExt | CastOp::SExt, narrow) => {
                let is_position = function.def(narrow) == Some(&Op::Query(Query::ThreadPositionInGrid(0)));
                is_position.then_some(Self { stride: 1, constant: 0 })
            }
            Op::Binary(BinOp::Add, a, b) => of(a)?.plus(of(b)?),
            Op::Binary(BinOp::Sub, a, b) => of(a)?.plus(of(b)?.times(-1)?),
            Op::Binary(BinOp::Mul, a, b) => match (of(a)?, of(b)?) {
                (sum, Self { stride: 0, constant }) | (Self { stride: 0, constant }, sum) => {
                    sum.times(constant)
                }
                _ => None,
            },
            Op::Binary(BinOp::Shl, a, b) => match of(b)? {
                Self { stride: 0, constant: by @ 0..=16 } => of(a)?.times(1 << by),
                _ => None,
            },
            _ => None,
        }
    }
}

/// What a kernel does to the bytes of one argument.
#[derive(Clone, Default, Debug)]
struct ArgumentUse {
    read: bool,
    written: bool,
    escapes: bool,
    /// The bytes of each access, from the argument's first; `None`: not known.
    accesses: Vec<(Inst, Option<(Affine, i64)>)>,
}

/// What a part does to its arguments.
struct PartUses<'a> {
    kernel: &'a Kernel,
    function: &'a Function,
    places: &'a [u32],
    arguments: Vec<ArgumentUse>,
}

impl<'a> PartUses<'a> {
    fn new(part: &Part<'a>) -> Result<Self, Refusal> {
        let [kernel] = part.module.kernels.as_slice() else {
            return Err(Refusal::NotPrepared { kernel: String::new() });
        };
        let function = part.module.function(kernel.function);
        if part.places.len() != kernel.args.len() {
            return Err(Refusal::NotPrepared { kernel: kernel.name.clone() });
        }
        if kernel.args.iter().any(|argument| argument.enabled && argument.kind != ArgKind::Buffer) {
            return Err(Refusal::Communicates { kernel: kernel.name.clone(), by: "threadgroup memory" });
        }
        let arguments = vec![ArgumentUse::default(); kernel.args.len()];
        let mut uses = Self { kernel, function, places: part.places, arguments };
        // The parameter that each pointer leads to.
        let mut roots: Vec<Option<usize>> = vec![None; function.values.len()];
        for (position, param) in function.params.iter().enumerate() {
            roots[param.index()] = Some(position);
        }
        let mut outcome = Ok(());
        walk_insts(function, function.body, &mut |inst| {
            if outcome.is_ok() {
                outcome = uses.note(inst, &mut roots);
            }
        });
        outcome.map(|()| uses)
    }

    fn note(&mut self, inst: Inst, roots: &mut [Option<usize>]) -> Result<(), Refusal> {
        let data = self.function.inst(inst);
        let ty = |value: Value| self.function.ty(value);
        self.check(inst)?;
        match data.op {
            Op::PtrAdd { base, .. } => {
                let result = data.result.expect("an address is a result");
                roots[result.index()] = roots[base.index()];
            }
            Op::Load { ptr, .. } => {
                let size = data.result.map_or(0, |result| ty(result).size());
                self.access(inst, ptr, size.into(), false, roots);
            }
            Op::Store { ptr, value, .. } => {
                let size = ty(value).size();
                self.access(inst, ptr, size.into(), true, roots);
                self.escape(value, roots);
            }
            Op::MemCopy { dst, src, size, .. } => {
                self.access(inst, dst, size, true, roots);
                self.access(inst, src, size, false, roots);
            }
            Op::MemZero { dst, size, .. } => self.access(inst, dst, size, true, roots),
            Op::Prefetch { .. } => {}
            ref other => other.for_each_operand(|value| self.escape(value, roots)),
        }
        Ok(())
    }

    /// Refuses what no proof is made for.
    fn check(&self, inst: Inst) -> Result<(), Refusal> {
        let data = self.function.inst(inst);
        let kernel = || self.kernel.name.clone();
        let communicates = |by| Err(Refusal::Communicates { kernel: kernel(), by });
        match data.op {
            Op::ThreadgroupAddr(_) => communicates("threadgroup memory"),
            Op::Barrier(_) => communicates("barriers"),
            Op::Fence => communicates("fences"),
            Op::AtomicLoad(_) | Op::AtomicStore(..) | Op::AtomicRmw(..) | Op::AtomicCas(..) => {
                communicates("atomics")
            }
            Op::Load { volatile: true, .. } | Op::Store { volatile: true, .. } => {
                communicates("volatile accesses")
            }
            // Its accesses are of all lanes together.
            Op::Matrix(..) => communicates("matrices of SIMD-groups"),
            Op::Call(..) | Op::FunctionConstant(_) | Op::FunctionConstantDefined(_) => {
                Err(Refusal::NotPrepared { kernel: kernel() })
            }
            Op::Cast(CastOp::IntToPtr, _) => Err(Refusal::PointerFromMemory { kernel: kernel() }),
            // A thread's own memory holds only what the thread stored there, which counts as an escape.
            Op::Load { ptr, .. }
                if data.result.is_some_and(|result| self.function.ty(result).is_ptr())
                    && self.function.ty(ptr) != Type::Ptr(Space::Thread) =>
            {
                Err(Refusal::PointerFromMemory { kernel: kernel() })
            }
            _ => Ok(()),
        }
    }

    fn access(&mut self, inst: Inst, ptr: Value, size: u64, writes: bool, roots: &[Option<usize>]) {
        let Some(argument) = roots[ptr.index()] else { return };
        let bytes = i64::try_from(size).ok();
        let at = Affine::of(self.function, ptr, DEPTH).zip(bytes);
        let uses = &mut self.arguments[argument];
        uses.accesses.push((inst, at));
        uses.written |= writes;
        uses.read |= !writes;
    }

    fn escape(&mut self, value: Value, roots: &[Option<usize>]) {
        if let Some(argument) = roots[value.index()] {
            let uses = &mut self.arguments[argument];
            (uses.read, uses.written, uses.escapes) = (true, true, true);
        }
    }
}

/// The bytes of a place that belong to one thread.
#[derive(Clone, Copy)]
struct Window {
    stride: i64,
    low: i64,
    high: i64,
}

/// Proves that no thread touches what another thread of another part writes.
pub(super) fn prove(parts: &[Part<'_>]) -> Result<(), Refusal> {
    let parts = parts.iter().map(PartUses::new).collect::<Result<Vec<_>, Refusal>>()?;
    // By place: the parts and positions of its arguments.
    let mut places: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (position, uses) in part.arguments.iter().enumerate() {
            if uses.read || uses.written {
                places.entry(part.places[position]).or_default().push((number, position));
            }
        }
    }
    for shared in places.values() {
        let first = shared.first().map(|&(part, _)| part);
        let by_several = shared.iter().any(|&(part, _)| Some(part) != first);
        if by_several && shared.iter().any(|&(part, position)| parts[part].arguments[position].written) {
            let mut window = None;
            for &(part, position) in shared {
                prove_own(&parts[part], position, &mut window)?;
            }
        }
    }
    Ok(())
}

/// Proves that each thread keeps to its window of an argument, widening it if need be.
fn prove_own(part: &PartUses<'_>, position: usize, window: &mut Option<Window>) -> Result<(), Refusal> {
    let (declared, uses) = (&part.kernel.args[position], &part.arguments[position]);
    let (kernel, argument) = (part.kernel.name.clone(), declared.name.clone());
    if declared.space != Space::Device {
        return Err(Refusal::WritesConstant { kernel, argument });
    }
    if uses.escapes {
        return Err(Refusal::Escapes { kernel, argument });
    }
    for (inst, at) in &uses.accesses {
        let own = at.filter(|(at, _)| (1..=MAX_STRIDE).contains(&at.stride));
        let own = own.filter(|(at, _)| (-MAX_OFFSET..=MAX_OFFSET).contains(&at.constant));
        let Some((Affine { stride, constant }, bytes)) = own else {
            let line = part.function.inst(*inst).loc.line;
            return Err(Refusal::NotOwn { kernel, argument, line });
        };
        let end = constant.saturating_add(bytes);
        let known = window.unwrap_or(Window { stride, low: constant, high: end });
        let wider = Window { stride, low: known.low.min(constant), high: known.high.max(end) };
        if known.stride != stride || wider.high.saturating_sub(wider.low) > stride {
            return Err(Refusal::Overlap { kernel, argument });
        }
        *window = Some(wider);
    }
    Ok(())
}
