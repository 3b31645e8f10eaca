//! The proof that kernels may be fused: which bytes each thread accesses.
//!
//! Owns [`prove`]. Invariant: anything that it cannot analyse is refused.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::sum::{Addresses, Sum, ThreadSum as _};
use super::{FusedKernel, Launched, Refusal};
use anymetal_analysis::walk_insts;
use anymetal_ir::{ArgKind, CastOp, Effect, Function, Inst, Kernel, Op, Space, Type, Value};

/// How a kernel uses the bytes of one argument.
#[derive(Clone, Default, Debug)]
struct ArgumentUse {
    read: bool,
    written: bool,
    escapes: bool,
    /// Each access: instruction, pointer and number of bytes.
    accesses: Vec<(Inst, Value, u64)>,
}

/// How a part uses its arguments.
struct PartUses<'a> {
    kernel: &'a Kernel,
    function: &'a Function,
    places: &'a [u32],
    bytes: &'a [Option<&'a [u8]>],
    arguments: Vec<ArgumentUse>,
}

impl<'a> PartUses<'a> {
    fn new(part: &FusedKernel<'a>) -> Result<Self, Refusal> {
        let [kernel] = part.module.kernels.as_slice() else {
            // The requirement on `FusedKernel::module`.
            return Err(Refusal::NotPrepared { kernel: String::new() });
        };
        let function = part.module.function(kernel.function);
        if part.places.len() != kernel.args.len() || part.bytes.len() != kernel.args.len() {
            return Err(Refusal::NotPrepared { kernel: kernel.name.clone() });
        }
        if kernel.args.iter().any(|argument| argument.enabled && argument.kind != ArgKind::Buffer) {
            return Err(Refusal::Communicates { kernel: kernel.name.clone(), by: "threadgroup memory" });
        }
        let arguments = vec![ArgumentUse::default(); kernel.args.len()];
        assert_eq!(
            function.params.len(),
            kernel.args.len(),
            "a kernel's function has one parameter per argument"
        );
        let mut uses = Self { kernel, function, places: part.places, bytes: part.bytes, arguments };
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
                roots[self.function.result(inst).index()] = roots[base.index()];
            }
            Op::Load { ptr, .. } => {
                let size = ty(self.function.result(inst)).size();
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

    /// Refuses operations that the proof does not cover.
    fn check(&self, inst: Inst) -> Result<(), Refusal> {
        let data = self.function.inst(inst);
        let kernel = || self.kernel.name.clone();
        let communicates = |by| Err(Refusal::Communicates { kernel: kernel(), by });
        match data.op.effect() {
            Effect::Barrier => return communicates("barriers"),
            Effect::Fences => return communicates("fences"),
            Effect::Atomic => return communicates("atomics"),
            Effect::Reads { volatile: true } | Effect::Writes { volatile: true, .. } => {
                return communicates("volatile accesses");
            }
            // Its accesses are of all lanes together.
            Effect::MultipliesMatrices | Effect::ReadsMatrix | Effect::WritesMatrix => {
                return communicates("matrices of SIMD-groups");
            }
            _ => {}
        }
        match data.op {
            Op::ThreadgroupAddr(_) => communicates("threadgroup memory"),
            Op::Call(..) | Op::FunctionConstant(_) | Op::FunctionConstantDefined(_) => {
                Err(Refusal::NotPrepared { kernel: kernel() })
            }
            Op::Cast(CastOp::IntToPtr, _) => Err(Refusal::PointerFromMemory { kernel: kernel() }),
            // Thread memory contains a pointer only if the thread stored one, which counts as an escape.
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
        // Other accesses are to memory that no other thread shares: `check` refuses the rest.
        if let Some(argument) = roots[ptr.index()] {
            let uses = &mut self.arguments[argument];
            uses.accesses.push((inst, ptr, size));
            uses.written |= writes;
            uses.read |= !writes;
        }
    }

    fn escape(&mut self, value: Value, roots: &[Option<usize>]) {
        if let Some(argument) = roots[value.index()] {
            let uses = &mut self.arguments[argument];
            (uses.read, uses.written, uses.escapes) = (true, true, true);
        }
    }
}

/// The bytes of a place that belong to one thread: a range relative to a sum that depends on the thread.
struct Window {
    /// Without a constant.
    start: Sum,
    low: i128,
    high: i128,
}

/// Proves that no thread accesses bytes that another thread writes in another part.
pub(super) fn prove(parts: &[FusedKernel<'_>], launched: &Launched) -> Result<(), Refusal> {
    let parts = parts.iter().map(PartUses::new).collect::<Result<Vec<_>, Refusal>>()?;
    // By place: the parts and positions of its arguments.
    let mut places: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    let mut written = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for (position, uses) in part.arguments.iter().enumerate() {
            if uses.read || uses.written {
                places.entry(part.places[position]).or_default().push((number, position));
            }
            if uses.written {
                written.push(part.places[position]);
            }
        }
    }
    for shared in places.values() {
        let first = shared.first().map(|&(part, _)| part);
        let by_several = shared.iter().any(|&(part, _)| Some(part) != first);
        if by_several && shared.iter().any(|&(part, position)| parts[part].arguments[position].written) {
            let mut window = None;
            for &(part, position) in shared {
                prove_own(&parts[part], position, &mut window, &written, launched)?;
            }
        }
    }
    Ok(())
}

/// Proves that each thread stays within its window of an argument; enlarges the window to cover its accesses.
fn prove_own(
    part: &PartUses<'_>,
    position: usize,
    window: &mut Option<Window>,
    written: &[u32],
    launched: &Launched,
) -> Result<(), Refusal> {
    let (declared, uses) = (&part.kernel.args[position], &part.arguments[position]);
    let (kernel, argument) = (part.kernel.name.clone(), declared.name.clone());
    if declared.space != Space::Device {
        return Err(Refusal::WritesConstant { kernel, argument });
    }
    if uses.escapes {
        return Err(Refusal::Escapes { kernel, argument });
    }
    let PartUses { function, places, bytes, .. } = *part;
    let addresses = Addresses { function, launched, places, bytes, written, budget: Cell::default() };
    for &(inst, pointer, size) in &uses.accesses {
        let at = addresses.of_pointer(pointer).filter(|at| at.separates_threads(size, 64, launched));
        let Some(Sum { terms, constant }) = at else {
            let line = part.function.inst(inst).loc.line;
            return Err(Refusal::NotOwn { kernel, argument, line });
        };
        let (start, low) = (Sum { terms, constant: 0 }, i128::from(constant));
        let high = low + i128::from(size);
        let wider = match window.take() {
            None => Window { start, low, high },
            Some(known) if known.start == start => {
                Window { start, low: known.low.min(low), high: known.high.max(high) }
            }
            Some(_) => return Err(Refusal::Overlap { kernel, argument }),
        };
        assert!(wider.low <= low && high <= wider.high, "the window covers the access");
        // A window wider than any object is refused below.
        let width = u64::try_from(wider.high - wider.low).unwrap_or(u64::MAX);
        if !wider.start.separates_threads(width, 64, launched) {
            return Err(Refusal::Overlap { kernel, argument });
        }
        *window = Some(wider);
    }
    Ok(())
}
