//! What is known of subroutines before they are written: uniform values, how locals are kept, how much of its
//! allocation each pointer that is passed has around it.

use anymetal_ir::analysis::{used_functions, walk_insts};
use anymetal_ir::{FuncId, Function, Inst, Kernel, Label, Local, Module, Op, Value};

use crate::cpu::options::{CodegenError, CpuFeatures};
use crate::cpu::walk;
use crate::roots::{Pointer, Root, Roots};
use crate::uniformity::{Uniformity, Varying};

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
    pub(super) id: FuncId,
    pub(super) function: &'m Function,
    pointers: Vec<Pointer>,
    uniformity: Uniformity,
    locals: Vec<LocalKind>,
    /// By parameter.
    rooms: Vec<Room>,
}

/// All functions that a kernel calls.
#[derive(Debug, Default)]
pub(in crate::cpu) struct Subroutines<'m> {
    /// Callers before those that they call.
    all: Vec<Subroutine<'m>>,
}

impl<'m> Subroutines<'m> {
    /// Analyses what the kernel's function calls.
    pub(in crate::cpu) fn new(
        module: &'m Module,
        kernel: &Kernel,
        features: &CpuFeatures,
    ) -> Result<Self, CodegenError> {
        let lanes = super::batch_lanes(features);
        let called = used_functions(module, &[kernel.function]);
        let ids = called.into_iter().rev().filter(|id| *id != kernel.function);
        let all = ids.map(|id| Subroutine::new(module, id, lanes)).collect::<Result<_, _>>()?;
        Ok(Self { all })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Subroutine<'m>> {
        self.all.iter()
    }

    /// Notes the calls of a kernel's function, of which `pointers` are known, and what follows for the calls
    /// of the functions that it calls. To be told of all of a kernel's functions before code is written.
    pub(in crate::cpu) fn note_calls(&mut self, function: &Function, pointers: &dyn Fn(Value) -> Pointer) {
        let room = |value| match pointers(value) {
            Pointer { root: Root::Local(local), offset: Some(offset) } => {
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
    fn new(module: &'m Module, id: FuncId, lanes: usize) -> Result<Self, CodegenError> {
        let function = module.function(id);
        let order = walk::instructions(function)?;
        let pointers = Roots::solve(function, function.params.iter().map(|_| true), &order).pointers;
        let varying = Varying {
            params: &|param| !function.ty(param).is_ptr(),
            loads: &|root, _| !matches!(root, Root::Global(_)),
        };
        let uniformity = Uniformity::new(function, &varying, &pointers);
        let locals = local_kinds(function, &order, &pointers, &uniformity, lanes);
        let rooms = vec![Room::ALL; function.params.len()];
        Ok(Self { id, function, pointers, uniformity, locals, rooms })
    }

    pub(super) fn is_uniform(&self, value: Value) -> bool {
        self.uniformity.is_uniform(value)
    }

    /// Whether lanes wait at the end of the construct, or on the way to it, while others go on.
    pub(super) fn exits_diverge(&self, label: Label) -> bool {
        self.uniformity.exits_diverge(label)
    }

    pub(super) fn pointer(&self, value: Value) -> Pointer {
        self.pointers[value.index()]
    }

    pub(super) fn local(&self, local: Local) -> LocalKind {
        self.locals[local.index()]
    }

    /// What is known to be around a pointer.
    pub(super) fn room(&self, pointer: Value) -> Room {
        let Pointer { root, offset: Some(offset) } = self.pointer(pointer) else { return Room::NONE };
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
    uniformity: &Uniformity,
    lanes: usize,
) -> Vec<LocalKind> {
    let mut kinds: Vec<LocalKind> = (0..function.locals.len() as u32)
        .map(|local| match uniformity.is_uniform_local(Local(local)) {
            true => LocalKind::Uniform,
            false => LocalKind::Lanes(lanes),
        })
        .collect();
    for &inst in order {
        let Op::Call(_, args) = &function.inst(inst).op else { continue };
        for arg in args {
            if let Root::Local(local) = pointers[arg.index()].root {
                kinds[local.index()] = LocalKind::Lanes(crate::cpu::llvm_text::LANES);
            }
        }
    }
    kinds
}
