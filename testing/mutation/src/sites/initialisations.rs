//! First values that are dropped: of variables where they are declared, and of threadgroup memory.
//!
//! The front end evaluates a scalar's initialiser directly before the variable begins, at the same position
//! or in a function that was inlined; what is stored into a parameter was evaluated by the caller. An
//! aggregate begins first. Threadgroup memory is initialised by stores of constants.

use anymetal_ir::{Block, Inst, Local, Op, Space, Type, Value};

use super::Code;
use crate::mutation::{Change, Mutation, MutationKind};

pub(super) fn sites(code: &Code<'_>) -> Vec<Mutation> {
    let mut found = Vec::new();
    let mut last: Option<(Block, Declared)> = None;
    for &(block, inst) in &code.insts {
        let mut declared = match last.take() {
            Some((of, declared)) if of == block => declared,
            _ => Declared::default(),
        };
        if let Some(text) = declared.step(code, inst).or_else(|| threadgroup(code, code.op(inst))) {
            let loc = code.function.inst(inst).loc;
            let (kind, change) = (MutationKind::InitialisationDropped, Change::Remove);
            found.push(Mutation { kind, block, inst, change, loc, text });
        }
        last = Some((block, declared));
    }
    found
}

/// The variable of a block that began last and has no value yet.
#[derive(Default)]
struct Declared {
    /// The variable, and the instruction before its beginning.
    begun: Option<(Local, Option<Inst>)>,
    /// Instructions since then.
    since: Vec<Inst>,
    before: Option<Inst>,
}

impl Declared {
    /// Goes on to the next instruction of the block; says so if it initialises the variable.
    fn step(&mut self, code: &Code<'_>, inst: Inst) -> Option<String> {
        let before = self.before.replace(inst);
        if let Op::LocalStart(local) = code.op(inst) {
            self.begun = Some((*local, before));
            self.since.clear();
            return None;
        }
        let (local, evaluated) = self.begun?;
        let into_it = |(pointer, _): &(Value, Option<Value>)| code.local_of(*pointer) == Some(local);
        let Some((_, value)) = written(code.op(inst)).filter(into_it) else {
            self.since.push(inst);
            return None;
        };
        let by = |other: &Inst| value.is_some() && code.function.inst(*other).result == value;
        let here = code.function.inst(inst).loc;
        let is_initialiser = |other: Inst| {
            let there = code.function.inst(other).loc;
            !matches!(code.op(other), Op::Query(_)) && (there == here || code.depth(there) > code.depth(here))
        };
        let own =
            value.is_none() || evaluated.filter(by).is_some_and(is_initialiser) || self.since.iter().any(by);
        let name = &code.function.locals[local.index()].name;
        self.begun = None;
        (own && !name.is_empty()).then(|| format!("initialisation of `{name}` dropped"))
    }
}

/// Where an operation writes, and the value if it writes one.
fn written(op: &Op) -> Option<(Value, Option<Value>)> {
    match op {
        Op::Store { ptr, value, .. } => Some((*ptr, Some(*value))),
        Op::MemZero { dst, .. } | Op::MemCopy { dst, .. } => Some((*dst, None)),
        _ => None,
    }
}

/// A store of a constant into threadgroup memory.
fn threadgroup(code: &Code<'_>, op: &Op) -> Option<String> {
    let constant = |value: Value| {
        let scalar = match code.function.def(value) {
            Some(Op::Splat(scalar)) => *scalar,
            _ => value,
        };
        code.constant(scalar).is_some()
    };
    let (pointer, is_constant) = match op {
        Op::Store { ptr, value, .. } | Op::AtomicStore(ptr, value) => (*ptr, constant(*value)),
        Op::MemZero { dst, .. } => (*dst, true),
        _ => return None,
    };
    let is_threadgroup = code.function.ty(pointer) == Type::Ptr(Space::Threadgroup);
    (is_threadgroup && is_constant).then(|| "initialisation of threadgroup memory dropped".to_owned())
}
