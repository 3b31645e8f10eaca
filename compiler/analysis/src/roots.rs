//! Which allocation each pointer belongs to: a fixed point over the function, through pointers that are kept
//! in locals or carried by loops.

use std::collections::BTreeMap;

use crate::IncomingValues;
use crate::divergence::{PointerForm, PrivateAccess};
use anymetal_ir::{Function, GlobalId, Inst, Local, Op, Scalar, Space, ThreadgroupId, Type, Value};

use crate::limits::MAX_ALIGN;

/// The allocation that a pointer belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// No pointer seen yet.
    Unset,
    /// The null pointer.
    Null,
    /// An argument of the kernel, or a parameter of a function that it calls.
    Argument(usize),
    /// A threadgroup variable.
    Threadgroup(ThreadgroupId),
    /// A constant datum.
    Global(GlobalId),
    /// A local.
    Local(Local),
    /// Known at run time only; the pointer is kept encoded.
    Many,
}

impl Root {
    /// How pointers to the allocation are represented.
    pub fn form(self) -> PointerForm {
        match self {
            Self::Many => PointerForm::Encoded,
            Self::Argument(_) => PointerForm::ArgumentOffset,
            Self::Unset | Self::Null | Self::Threadgroup(_) | Self::Global(_) | Self::Local(_) => {
                PointerForm::Offset
            }
        }
    }

    /// The private memory that accesses through pointers to the allocation cover.
    pub fn private_access(self, space: Space) -> PrivateAccess {
        match self {
            Self::Local(local) => PrivateAccess::Local(local),
            Self::Many if space == Space::Thread => PrivateAccess::AnyLocal,
            _ => PrivateAccess::Untracked,
        }
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unset, root) | (root, Self::Unset) => root,
            (a, b) if a == b => a,
            _ => Self::Many,
        }
    }
}

/// What is known of a pointer value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// Its allocation.
    pub root: Root,
    /// The offset, if constant.
    pub offset: Option<i64>,
    /// A power of two up to [`MAX_ALIGN`] that divides the offset.
    pub align: u32,
}

impl Pointer {
    const MANY: Self = Pointer { root: Root::Many, offset: None, align: 1 };
    const UNSET: Self = Pointer { root: Root::Unset, offset: None, align: MAX_ALIGN };

    /// The first byte of an allocation.
    fn first_byte(root: Root) -> Self {
        Pointer { root, offset: Some(0), align: MAX_ALIGN }
    }
}

/// The pointers that a local has at some offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Content {
    root: Root,
    align: u32,
    /// Their address space. A pointer to one space that is loaded as one to another is looked up: what a
    /// `device` pointer points to can be written.
    space: Space,
}

/// Solves for the roots of all pointers, through pointers kept in locals.
#[derive(Debug)]
pub struct Roots {
    /// What is known of each value that is a pointer.
    pub pointers: Vec<Pointer>,
    contents: BTreeMap<(Local, i64), Content>,
    opaque: Vec<bool>,
    /// Locals that pointers may lead to whose local is only known at run time. Such a pointer may also read
    /// the pointers in the local, so these lead to exposed locals.
    pub exposed: Vec<bool>,
    /// Pointers are stored through such pointers, to any exposed local.
    stores_anywhere: bool,
    changed: bool,
}

impl Roots {
    /// `enabled` says of each parameter whether it is bound.
    pub fn solve(function: &Function, enabled: impl IntoIterator<Item = bool>, order: &[Inst]) -> Self {
        let mut this = Self {
            pointers: vec![Pointer::UNSET; function.values.len()],
            contents: BTreeMap::new(),
            opaque: vec![false; function.locals.len()],
            exposed: vec![false; function.locals.len()],
            stores_anywhere: false,
            changed: true,
        };
        for (index, (&param, enabled)) in function.params.iter().zip(enabled).enumerate() {
            let root = if enabled { Root::Argument(index) } else { Root::Null };
            this.pointers[param.index()] = Pointer::first_byte(root);
        }
        let incoming = IncomingValues::of(function);
        // Each round can only raise roots in a lattice of height three.
        while std::mem::take(&mut this.changed) {
            for &inst in order {
                this.visit(function, inst);
                this.define_carried(function, inst, &incoming);
            }
        }
        this
    }

    /// The root of the pointers that a local has at an offset; `None`: none is stored there.
    pub fn content(&self, local: Local, offset: i64) -> Option<Root> {
        if self.may_hold_any(local) {
            return Some(Root::Many);
        }
        self.contents.get(&(local, offset)).map(|content| content.root)
    }

    /// Whether any pointer may have been stored to the local.
    fn may_hold_any(&self, local: Local) -> bool {
        self.opaque[local.index()] || self.stores_anywhere && self.exposed[local.index()]
    }

    fn set(&mut self, value: Value, pointer: Pointer) {
        let old = self.pointers[value.index()];
        let root = self.join(old.root, pointer.root);
        let offset = match old.root {
            Root::Unset => pointer.offset,
            _ if old.offset == pointer.offset => old.offset,
            _ => None,
        };
        let offset = if root == Root::Many { None } else { offset };
        let new = Pointer { root, offset, align: old.align.min(pointer.align) };
        self.changed |= new != old;
        self.pointers[value.index()] = new;
    }

    fn join(&mut self, a: Root, b: Root) -> Root {
        let joined = a.join(b);
        if joined == Root::Many {
            self.expose(a);
            self.expose(b);
        }
        joined
    }

    fn expose(&mut self, root: Root) {
        if let Root::Local(local) = root
            && !std::mem::replace(&mut self.exposed[local.index()], true)
        {
            self.changed = true;
            self.expose_contents(local);
        }
    }

    fn expose_contents(&mut self, local: Local) {
        let inside = self.contents.range((local, i64::MIN)..=(local, i64::MAX));
        for root in inside.map(|(_, content)| content.root).collect::<Vec<_>>() {
            self.expose(root);
        }
    }

    /// The parameters and results of a construct.
    fn define_carried(&mut self, function: &Function, inst: Inst, incoming: &IncomingValues) {
        let op = &function.inst(inst).op;
        for &value in op.params().iter().chain(op.results()).filter(|value| function.ty(**value).is_ptr()) {
            incoming.each_source(function, value, |source| {
                let pointer = self.pointers[source.index()];
                if pointer.root != Root::Unset {
                    self.set(value, pointer);
                }
            });
        }
    }

    fn visit(&mut self, function: &Function, inst: Inst) {
        let data = function.inst(inst);
        let pointer_of = |this: &Self, value: Value| this.pointers[value.index()];
        match &data.op {
            Op::Store { ptr, value, .. } if function.ty(*value).is_ptr() => {
                self.store(*ptr, *value, function.pointer_space(*value));
            }
            Op::Store { ptr, value, .. } => self.store_bits(*ptr, function.ty(*value)),
            Op::Cast(anymetal_ir::CastOp::PtrToInt, a) => self.expose(pointer_of(self, *a).root),
            Op::MemCopy { dst, src, size, .. } => self.copy(*dst, *src, *size),
            _ => {}
        }
        let Some(result) = data.result.filter(|&result| function.ty(result).is_ptr()) else {
            // The instruction makes no pointer.
            return;
        };
        let here = Pointer::first_byte;
        let pointer = match &data.op {
            Op::Const(_) | Op::Undef => here(Root::Null),
            Op::LocalAddr(local) => here(Root::Local(*local)),
            Op::ThreadgroupAddr(var) => here(Root::Threadgroup(*var)),
            Op::GlobalAddr(global) => here(Root::Global(*global)),
            Op::PtrAdd { base, index, scale, offset } => {
                let base = pointer_of(self, *base);
                let constant = match index {
                    None => Some(0),
                    Some(index) => {
                        function.as_const(*index).map(|index| (index as i64).wrapping_mul(i64::from(*scale)))
                    }
                };
                let added = constant.map(|index| index.wrapping_add(*offset));
                let align = match added {
                    Some(added) => alignment_of(added),
                    None => alignment_of(i64::from(*scale)).min(alignment_of(*offset)),
                };
                Pointer {
                    root: base.root,
                    offset: base.offset.zip(added).map(|(a, b)| a.wrapping_add(b)),
                    align: base.align.min(align),
                }
            }
            Op::Select(_, a, b) => {
                let (a, b) = (pointer_of(self, *a), pointer_of(self, *b));
                let root = self.join(a.root, b.root);
                let offset = if a == b { a.offset } else { None };
                Pointer { root, offset, align: a.align.min(b.align) }
            }
            Op::Load { ptr, .. } => {
                let (root, align) = self.load(*ptr, function.pointer_space(result));
                Pointer { root, offset: None, align }
            }
            _ => Pointer::MANY,
        };
        self.set(result, pointer);
    }

    fn store(&mut self, to: Value, value: Value, space: Space) {
        let Pointer { root, align, .. } = self.pointers[value.index()];
        match self.pointers[to.index()] {
            Pointer { root: Root::Local(local), offset: Some(offset), .. } => {
                self.fill((local, offset), Content { root, align, space });
            }
            Pointer { root: Root::Unset, .. } => {}
            Pointer { root: to, .. } => {
                self.expose(root);
                self.store_somewhere(to);
            }
        }
    }

    /// Numbers may be the bits of a pointer that is loaded from there: an object that is copied in words or
    /// bytes.
    fn store_bits(&mut self, to: Value, ty: Type) {
        let Pointer { root: Root::Local(local), offset, .. } = self.pointers[to.index()] else {
            // What is loaded from other memory is looked up in any case.
            return;
        };
        let Some(offset) = offset else { return self.make_opaque(Root::Local(local)) };
        let end = offset.saturating_add(ty.size().into());
        let overlapping = self.contents.range((local, offset.saturating_sub(7))..(local, end));
        for place in overlapping.map(|(&place, _)| place).collect::<Vec<_>>() {
            self.fill_unknown(place);
        }
        if ty.scalar() == Some(Scalar::I64) {
            for element in 0..i64::from(ty.lanes()) {
                self.fill_unknown((local, offset.wrapping_add(8 * element)));
            }
        }
    }

    fn make_opaque(&mut self, root: Root) {
        if let Root::Local(local) = root {
            self.changed |= !std::mem::replace(&mut self.opaque[local.index()], true);
        }
    }

    /// Pointers are stored at unknown offsets.
    fn store_somewhere(&mut self, to: Root) {
        if to == Root::Many {
            self.changed |= !std::mem::replace(&mut self.stores_anywhere, true);
        }
        self.make_opaque(to);
    }

    fn fill(&mut self, place: (Local, i64), new: Content) {
        let old = self.contents.get(&place).copied().unwrap_or(Content { root: Root::Unset, ..new });
        let root = match old.space == new.space {
            true => self.join(old.root, new.root),
            false => {
                self.expose(old.root);
                self.expose(new.root);
                Root::Many
            }
        };
        if self.exposed[place.0.index()] {
            self.expose(root);
        }
        let joined = Content { root, align: old.align.min(new.align), space: old.space };
        self.changed |= self.contents.insert(place, joined) != Some(joined);
    }

    fn fill_unknown(&mut self, place: (Local, i64)) {
        let space = self.contents.get(&place).map_or(Space::Device, |content| content.space);
        self.fill(place, Content { root: Root::Many, align: 1, space });
    }

    /// The root of a pointer to a space that is loaded, and the alignment of its offset.
    fn load(&mut self, from: Value, space: Space) -> (Root, u32) {
        match self.pointers[from.index()] {
            Pointer { root: Root::Local(local), offset: Some(offset), .. } if !self.may_hold_any(local) => {
                match self.contents.get(&(local, offset)).copied() {
                    None => (Root::Unset, MAX_ALIGN),
                    Some(content) if content.space == space => (content.root, content.align),
                    Some(content) => {
                        self.expose(content.root);
                        (Root::Many, 1)
                    }
                }
            }
            Pointer { root: Root::Unset, .. } => (Root::Unset, MAX_ALIGN),
            Pointer { root: Root::Local(local), .. } => {
                self.make_opaque(Root::Local(local));
                self.expose_contents(local);
                (Root::Many, 1)
            }
            _ => (Root::Many, 1),
        }
    }

    fn copy(&mut self, dst: Value, src: Value, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let (dst, src) = (self.pointers[dst.index()], self.pointers[src.index()]);
        let from = match src {
            Pointer { root: Root::Unset, .. } => return,
            Pointer { root: Root::Local(local), offset: Some(offset), .. } => Some((local, offset)),
            Pointer { root, .. } => {
                self.make_opaque(root);
                None
            }
        };
        let to = match dst {
            Pointer { root: Root::Local(local), offset: Some(offset), .. } => Some((local, offset)),
            Pointer { root, .. } => {
                self.store_somewhere(root);
                None
            }
        };
        let Some((source, start)) = from else { return self.store_somewhere(dst.root) };
        let end = start.saturating_add(size);
        let inside: Vec<_> = self
            .contents
            .range((source, start)..(source, end))
            .map(|(&(_, offset), &content)| (offset - start, content))
            .collect();
        for (offset, content) in inside {
            match to {
                Some((local, base)) => self.fill((local, base.wrapping_add(offset)), content),
                None => self.expose(content.root),
            }
        }
        if self.may_hold_any(source) {
            self.store_somewhere(dst.root);
        }
    }
}

/// The address space of a pointer value.
/// A power of two up to [`MAX_ALIGN`] that divides a number of bytes.
fn alignment_of(bytes: i64) -> u32 {
    1 << bytes.trailing_zeros().min(MAX_ALIGN.trailing_zeros())
}
