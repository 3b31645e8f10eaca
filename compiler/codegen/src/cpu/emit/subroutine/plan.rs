//! What is known of subroutines before they are written: how parameters are passed, uniform values, how
//! locals are kept, how much of its allocation each pointer that is passed has around it.

use std::collections::BTreeMap;

use anymetal_analysis::{used_functions, walk_insts};
use anymetal_ir::{FuncId, Function, Inst, Kernel, Label, Local, Module, Op, Space, Type, Value};

use super::PASSED_UNIT;
use crate::cpu::options::CodegenError;
use crate::cpu::walk;
use anymetal_analysis::divergence::{
    Divergence, DivergenceContext, Geometry, PointerForm, PrivateAccess, Shape,
};
use anymetal_analysis::roots::{Pointer, Root, Roots};
use anymetal_simd::facts::Facts;
use anymetal_simd::target::CpuFeatures;

/// Functions of kernels have lower numbers, of which fault sites are counted.
pub(super) const FIRST_FUNCTION_NUMBER: u32 = 16;

/// How a local is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LocalKind {
    /// One for all lanes, which agree on it.
    Uniform,
    /// One per lane, so many lanes side by side.
    Lanes(usize),
}

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cpu::emit) enum Passing {
    /// As vectors of all lanes.
    Value,
    /// As a pointer into interleaved memory, with an offset that lanes called together share.
    Private {
        /// Whether all calls pass one offset for all lanes.
        uniform: bool,
    },
    /// As a pointer to memory that threads share, to one allocation.
    Shared {
        /// Whether all calls pass one offset for all lanes.
        uniform: bool,
    },
}

impl Passing {
    /// Of a type; offsets are one for all lanes until a call passes others.
    fn of(ty: Type) -> Self {
        match ty {
            Type::Ptr(Space::Thread) => Self::Private { uniform: true },
            Type::Ptr(_) => Self::Shared { uniform: true },
            _ => Self::Value,
        }
    }
}

/// How the parameters of each function that is called are passed.
pub(in crate::cpu::emit) type Passings = BTreeMap<FuncId, Vec<Passing>>;

/// Bytes of its allocation that are before and after a pointer, at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Room {
    pub(super) before: i64,
    pub(super) after: i64,
}

impl Room {
    /// Of a parameter that nobody passes.
    const ALL: Self = Self { before: i64::MAX, after: i64::MAX };
    /// Nothing is known.
    const NONE: Self = Self { before: i64::MIN, after: i64::MIN };

    fn with(self, other: Self) -> Self {
        Self { before: self.before.min(other.before), after: self.after.min(other.after) }
    }

    fn at(self, offset: i64) -> Self {
        Self { before: self.before.saturating_add(offset), after: self.after.saturating_sub(offset) }
    }
}

/// One function that is called.
#[derive(Debug)]
pub(in crate::cpu) struct Subroutine<'m> {
    pub(in crate::cpu::emit) id: FuncId,
    pub(in crate::cpu::emit) function: &'m Function,
    pointers: Vec<Pointer>,
    divergence: Divergence,
    locals: Vec<LocalKind>,
    /// By parameter, as the next.
    passing: Vec<Passing>,
    rooms: Vec<Room>,
}

/// All functions that a kernel calls.
#[derive(Debug, Default)]
pub(in crate::cpu) struct Subroutines<'m> {
    /// Callers before those that they call.
    all: Vec<Subroutine<'m>>,
}

impl<'m> Subroutines<'m> {
    /// Analyses what the kernel's function calls. `callers` are all functions that code is written of for it.
    pub(in crate::cpu) fn new(
        module: &'m Module,
        kernel: &Kernel,
        features: &CpuFeatures,
        callers: &[Facts<'_>],
    ) -> Result<Self, CodegenError> {
        let lanes = super::batch_lanes(features);
        let called = used_functions(module, &[kernel.function]);
        let ids: Vec<FuncId> = called.into_iter().rev().filter(|id| *id != kernel.function).collect();
        let mut passings = passings(module, &ids);
        for caller in callers.iter().filter(|_| !ids.is_empty()) {
            note_varying(&mut passings, caller.function, &caller.divergence());
        }
        let mut this = Self::default();
        for id in ids {
            let passing = passings
                .get(&id)
                .cloned()
                .expect("the plan has the passing conventions of every called function");
            let sub = Subroutine::new(module, id, lanes, passing)?;
            note_varying(&mut passings, sub.function, &sub.divergence);
            this.all.push(sub);
        }
        Ok(this)
    }

    /// How arguments are passed.
    pub(in crate::cpu::emit) fn passings(&self) -> Passings {
        self.all.iter().map(|sub| (sub.id, sub.passing.clone())).collect()
    }

    pub(in crate::cpu::emit) fn all(&self) -> impl Iterator<Item = &Subroutine<'m>> {
        self.all.iter()
    }

    /// Notes the calls of a kernel's function, of which `pointers` are known, and what follows for the calls
    /// of the functions that it calls. To be told of all of a kernel's functions before code is written.
    pub(in crate::cpu) fn note_calls(&mut self, function: &Function, pointers: &dyn Fn(Value) -> Pointer) {
        let room = |value| match pointers(value) {
            Pointer { root: Root::Local(local), offset: Some(offset), .. } => {
                local_room(function, local).at(offset)
            }
            _ => Room::NONE,
        };
        self.note(function, &room);
        for caller in 0..self.all.len() {
            let (callers, callees) = self.all.split_at_mut(caller + 1);
            let sub = &callers[caller];
            let room = |value| sub.room(value);
            note(callees, sub.function, &room);
        }
    }

    fn note(&mut self, function: &Function, room: &dyn Fn(Value) -> Room) {
        note(&mut self.all, function, room);
    }
}

fn passings(module: &Module, ids: &[FuncId]) -> Passings {
    let of_params = |function: &Function| {
        function.params.iter().map(|param| Passing::of(function.ty(*param))).collect::<Vec<_>>()
    };
    ids.iter().map(|id| (*id, of_params(module.function(*id)))).collect()
}

/// The memory of a called function.
struct Context<'a> {
    passing: &'a [Passing],
    pointers: &'a [Pointer],
}

impl DivergenceContext for Context<'_> {
    fn parameter(&self, index: usize) -> Shape {
        match self.passing[index] {
            Passing::Value | Passing::Shared { uniform: false } => Shape::Varying,
            Passing::Private { .. } | Passing::Shared { uniform: true } => Shape::uniform(false),
        }
    }

    /// What lanes load together from one address is one value.
    fn loads_agree(&self, _function: &Function, pointer: Value) -> bool {
        match self.pointers[pointer.index()].root {
            Root::Global(_) => true,
            Root::Argument(param) => matches!(self.passing[param], Passing::Shared { .. }),
            _ => false,
        }
    }

    fn pointer_form(&self, _function: &Function, pointer: Value) -> PointerForm {
        self.pointers[pointer.index()].root.form()
    }

    fn private_access(&self, function: &Function, pointer: Value, _bytes: i64) -> PrivateAccess {
        self.pointers[pointer.index()].root.private_access(function.pointer_space(pointer))
    }
}

/// Notes which calls of a function pass pointers with offsets that differ between lanes.
fn note_varying(passings: &mut Passings, function: &Function, divergence: &Divergence) {
    walk_insts(function, function.body, &mut |inst| {
        let Op::Call(callee, args) = &function.inst(inst).op else { return };
        let Some(passing) = passings.get_mut(callee) else { return };
        for (passing, &arg) in passing.iter_mut().zip(args) {
            if let Passing::Shared { uniform } | Passing::Private { uniform } = passing {
                *uniform &= divergence.is_uniform(arg);
            }
        }
    });
}

fn note(all: &mut [Subroutine<'_>], function: &Function, room: &dyn Fn(Value) -> Room) {
    walk_insts(function, function.body, &mut |inst| {
        let Op::Call(callee, args) = &function.inst(inst).op else { return };
        let Some(sub) = all.iter_mut().find(|sub| sub.id == *callee) else { return };
        for (known, &arg) in sub.rooms.iter_mut().zip(args) {
            if function.ty(arg).is_ptr() {
                *known = known.with(room(arg));
            }
        }
    });
}

fn local_room(function: &Function, local: Local) -> Room {
    let size = i64::try_from(function.locals[local.index()].size).unwrap_or(i64::MAX);
    Room { before: 0, after: size }
}

impl<'m> Subroutine<'m> {
    fn new(
        module: &'m Module,
        id: FuncId,
        lanes: usize,
        passing: Vec<Passing>,
    ) -> Result<Self, CodegenError> {
        let function = module.function(id);
        assert_eq!(passing.len(), function.params.len(), "every parameter has a passing convention");
        let order = walk::instructions(function)?;
        let pointers = Roots::solve(function, function.params.iter().map(|_| true), &order).pointers;
        let context = Context { passing: &passing, pointers: &pointers };
        let divergence = Divergence::of(function, Geometry::Any, &context);
        let locals = local_kinds(function, &order, &pointers, &divergence, lanes);
        let rooms = vec![Room::ALL; function.params.len()];
        Ok(Self { id, function, pointers, divergence, locals, passing, rooms })
    }

    /// Whether lanes of one batch may be called for one set after the other.
    pub(super) fn is_called_for_parts(&self) -> bool {
        let differs = |passing: &Passing| {
            matches!(passing, Passing::Shared { uniform: false } | Passing::Private { uniform: false })
        };
        self.passing.iter().any(differs)
    }

    /// How each parameter is passed.
    pub(super) fn passing(&self) -> &[Passing] {
        &self.passing
    }

    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.divergence.is_uniform(value)
    }

    /// Whether lanes wait at the end of the construct, or on the way to it, while others go on.
    pub(super) fn exits_diverge(&self, label: Label) -> bool {
        self.divergence.exits_diverge(label)
    }

    pub(super) fn pointer(&self, value: Value) -> Pointer {
        self.pointers[value.index()]
    }

    pub(super) fn local(&self, local: Local) -> LocalKind {
        self.locals[local.index()]
    }

    /// The bytes of a local's memory.
    pub(super) fn local_bytes(&self, local: Local) -> u64 {
        let bytes = self.function.locals[local.index()].size.next_multiple_of(u64::from(PASSED_UNIT));
        match self.local(local) {
            LocalKind::Uniform => bytes,
            LocalKind::Lanes(lanes) => bytes * lanes as u64,
        }
    }

    /// What is known to be around a pointer.
    pub(super) fn room(&self, pointer: Value) -> Room {
        let Pointer { root, offset: Some(offset), .. } = self.pointer(pointer) else { return Room::NONE };
        match root {
            Root::Local(local) => local_room(self.function, local).at(offset),
            Root::Argument(param) => self.rooms[param].at(offset),
            _ => Room::NONE,
        }
    }
}

/// Locals that are passed lie as the caller's do; others are as narrow as the batch, or uniform.
fn local_kinds(
    function: &Function,
    order: &[Inst],
    pointers: &[Pointer],
    divergence: &Divergence,
    lanes: usize,
) -> Vec<LocalKind> {
    let mut kinds: Vec<LocalKind> = (0..function.locals.len() as u32)
        .map(|local| match divergence.is_uniform_local(Local(local)) {
            true => LocalKind::Uniform,
            false => LocalKind::Lanes(lanes),
        })
        .collect();
    for &inst in order {
        let Op::Call(_, args) = &function.inst(inst).op else { continue };
        for arg in args {
            if let Root::Local(local) = pointers[arg.index()].root {
                kinds[local.index()] = LocalKind::Lanes(crate::cpu::llvm::LANES);
            }
        }
    }
    kinds
}
