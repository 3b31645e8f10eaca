//! What a kernel takes its buffers for: many are declared as bytes and cast inside.
//!
//! Pointers are followed through arithmetic, selects and locals, in an inlined module; what is lost on the
//! way is only missing from the answer.

use anymetal_ir::{Function, MathFn, MatrixOp, Module, Op, Scalar, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The scalars that are read from and written to an argument.
#[derive(Clone, Default, Debug)]
pub(super) struct Accesses {
    /// By loads.
    pub(super) loaded: BTreeSet<Scalar>,
    /// By stores.
    pub(super) stored: BTreeSet<Scalar>,
}

/// What matters for a launch of a kernel and for its outcome.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// By argument.
    pub(super) accesses: Vec<Accesses>,
    /// Lanes exchange values: what comes from lanes that are not there is undefined.
    pub(super) exchanges: bool,
    /// Library functions with a documented error are called.
    pub(super) library: bool,
}

impl Facts {
    /// Of a kernel of an inlined module.
    pub(super) fn of(module: &Module, kernel: &str) -> Self {
        let inexact = |function: MathFn| function <= MathFn::Powr || function == MathFn::Rsqrt;
        let any = |is: &dyn Fn(&Op) -> bool| {
            module.functions.iter().any(|function| function.insts.iter().any(|inst| is(&inst.op)))
        };
        Self {
            accesses: accesses(module, kernel),
            exchanges: any(&|op| matches!(op, Op::Simd(..) | Op::Matrix(..))),
            library: any(&|op| matches!(op, Op::Math(function, _) if inexact(*function))),
        }
    }
}

fn accesses(module: &Module, kernel: &str) -> Vec<Accesses> {
    let Some(kernel) = module.kernel(kernel) else { return Vec::new() };
    let function = module.function(kernel.function);
    let arguments = arguments_of(function);
    let mut all = vec![Accesses::default(); kernel.args.len()];
    let empty = BTreeSet::new();
    let of = |value: &Value| arguments.get(value).unwrap_or(&empty);
    for inst in &function.insts {
        let ty = |value: Value| function.ty(value).scalar();
        let (loaded, stored, scalar) = match &inst.op {
            Op::Load { ptr, .. } | Op::AtomicLoad(ptr) => (of(ptr), &empty, inst.result.and_then(ty)),
            Op::Store { ptr, value, .. } | Op::AtomicStore(ptr, value) => (&empty, of(ptr), ty(*value)),
            Op::AtomicRmw(_, ptr, value) | Op::AtomicCas(ptr, value, _) => (of(ptr), of(ptr), ty(*value)),
            Op::Matrix(MatrixOp::Load { .. }, values) => (of(&values[0]), &empty, inst.result.and_then(ty)),
            Op::Matrix(MatrixOp::Store { .. }, values) => (&empty, of(&values[0]), ty(values[2])),
            _ => continue,
        };
        let Some(scalar) = scalar else { continue };
        loaded.iter().for_each(|&n| _ = all[n].loaded.insert(scalar));
        stored.iter().for_each(|&n| _ = all[n].stored.insert(scalar));
    }
    all
}

/// The arguments that each pointer may point into.
fn arguments_of(function: &Function) -> BTreeMap<Value, BTreeSet<usize>> {
    let mut of: BTreeMap<Value, BTreeSet<usize>> = BTreeMap::new();
    for (position, &param) in function.params.iter().enumerate() {
        of.entry(param).or_default().insert(position);
    }
    // Locals are followed as a whole: by the value of their address.
    let root = |mut value: Value| {
        while let Some(Op::PtrAdd { base, .. }) = function.def(value) {
            value = *base;
        }
        match function.def(value) {
            Some(Op::LocalAddr(local)) => Some(*local),
            _ => None,
        }
    };
    let mut locals: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    loop {
        let before = (
            of.values().map(BTreeSet::len).sum::<usize>(),
            locals.values().map(BTreeSet::len).sum::<usize>(),
        );
        for inst in &function.insts {
            let from = |of: &BTreeMap<Value, BTreeSet<usize>>, value: &Value| {
                of.get(value).cloned().unwrap_or_default()
            };
            let found = match &inst.op {
                Op::PtrAdd { base, .. } => from(&of, base),
                Op::Select(_, a, b) => &from(&of, a) | &from(&of, b),
                Op::Load { ptr, .. } => {
                    root(*ptr).and_then(|local| locals.get(&local).cloned()).unwrap_or_default()
                }
                Op::Store { ptr, value, .. } => {
                    if let Some(local) = root(*ptr) {
                        locals.entry(local).or_default().extend(from(&of, value));
                    }
                    continue;
                }
                _ => continue,
            };
            let pointer = inst.result.filter(|&value| function.ty(value).scalar().is_none());
            if let Some(result) = pointer.filter(|_| !found.is_empty()) {
                of.entry(result).or_default().extend(found);
            }
        }
        let after = (
            of.values().map(BTreeSet::len).sum::<usize>(),
            locals.values().map(BTreeSet::len).sum::<usize>(),
        );
        if before == after {
            return of;
        }
    }
}
