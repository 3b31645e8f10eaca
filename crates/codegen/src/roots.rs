//! Which allocation each pointer belongs to: a fixed point over the function, through pointers kept in
//! locals.

use std::collections::BTreeMap;

use anymetal_ir::{Function, GlobalId, Inst, Local, Op, Scalar, ThreadgroupId, Type, Value};

/// The allocation that a pointer belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Root {
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
pub(crate) struct Pointer {
    /// Its allocation.
    pub(crate) root: Root,
    /// The offset, if constant.
    pub(crate) offset: Option<i64>,
}

/// Solves for the roots of all pointers, through pointers kept in locals.
pub(crate) struct Roots {
    pub(crate) pointers: Vec<Pointer>,
    pub(crate) contents: BTreeMap<(Local, i64), Root>,
    opaque: Vec<bool>,
    pub(crate) exposed: Vec<bool>,
    changed: bool,
}

impl Roots {
    /// `enabled` says of each parameter whether it is bound.
    pub(crate) fn solve(
        function: &Function,
        enabled: impl IntoIterator<Item = bool>,
        order: &[Inst],
    ) -> Self {
        let unset = Pointer { root: Root::Unset, offset: None };
        let mut this = Self {
            pointers: vec![unset; function.values.len()],
            contents: BTreeMap::new(),
            opaque: vec![false; function.locals.len()],
            exposed: vec![false; function.locals.len()],
            changed: true,
        };
        for (index, (&param, enabled)) in function.params.iter().zip(enabled).enumerate() {
            let root = if enabled { Root::Argument(index) } else { Root::Null };
            this.pointers[param.index()] = Pointer { root, offset: Some(0) };
        }
        // Each round can only raise roots in a lattice of height three.
        while std::mem::take(&mut this.changed) {
            for &inst in order {
                this.visit(function, inst);
            }
        }
        this
    }

    fn set(&mut self, value: Value, pointer: Pointer) {
        let old = self.pointers[value.index()];
        let root = self.join(old.root, pointer.root);
        let offset = match old.root {
            Root::Unset => pointer.offset,
            _ if old.offset == pointer.offset => old.offset,
            _ => None,
        };
        let new = Pointer { root, offset: if root == Root::Many { None } else { offset } };
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
        if let Root::Local(local) = root {
            self.changed |= !std::mem::replace(&mut self.exposed[local.index()], true);
        }
    }

    fn visit(&mut self, function: &Function, inst: Inst) {
        let data = function.inst(inst);
        let pointer_of = |this: &Self, value: Value| this.pointers[value.index()];
        match &data.op {
            Op::Store { ptr, value, .. } if function.ty(*value).is_ptr() => self.store(*ptr, *value),
            Op::Store { ptr, value, .. } => self.store_bits(*ptr, function.ty(*value)),
            Op::Cast(anymetal_ir::CastOp::PtrToInt, a) => self.expose(pointer_of(self, *a).root),
            Op::MemCopy { dst, src, size, .. } => self.copy(*dst, *src, *size),
            _ => {}
        }
        let Some(result) = data.result.filter(|&result| function.ty(result).is_ptr()) else { return };
        let here = |root| Pointer { root, offset: Some(0) };
        let many = Pointer { root: Root::Many, offset: None };
        let pointer = match &data.op {
            Op::Const(_) | Op::Undef => here(Root::Null),
            Op::LocalAddr(local) => here(Root::Local(*local)),
            Op::ThreadgroupAddr(var) => here(Root::Threadgroup(*var)),
            Op::GlobalAddr(global) => here(Root::Global(*global)),
            Op::PtrAdd { base, index, scale, offset } => {
                let base = pointer_of(self, *base);
                let added = match index {
                    None => Some(*offset),
                    Some(index) => function
                        .as_const(*index)
                        .map(|index| (index as i64).wrapping_mul(i64::from(*scale)).wrapping_add(*offset)),
                };
                Pointer { root: base.root, offset: base.offset.zip(added).map(|(a, b)| a.wrapping_add(b)) }
            }
            Op::Select(_, a, b) => {
                let (a, b) = (pointer_of(self, *a), pointer_of(self, *b));
                let root = self.join(a.root, b.root);
                Pointer { root, offset: if a == b { a.offset } else { None } }
            }
            Op::Load { ptr, .. } => Pointer { root: self.load(*ptr), offset: None },
            _ => many,
        };
        self.set(result, pointer);
    }

    fn store(&mut self, to: Value, value: Value) {
        let root = self.pointers[value.index()].root;
        match self.pointers[to.index()] {
            Pointer { root: Root::Local(local), offset: Some(offset) } => self.fill((local, offset), root),
            Pointer { root: Root::Unset, .. } => {}
            Pointer { root: to, .. } => {
                self.expose(root);
                self.make_opaque(to);
            }
        }
    }

    /// Integers may be the bits of a pointer that is loaded from there: a struct copied in words.
    fn store_bits(&mut self, to: Value, ty: Type) {
        if ty.scalar() == Some(Scalar::I64)
            && let Pointer { root: Root::Local(local), offset: Some(offset) } = self.pointers[to.index()]
        {
            for element in 0..i64::from(ty.lanes()) {
                self.fill((local, offset.wrapping_add(8 * element)), Root::Many);
            }
        }
    }

    fn make_opaque(&mut self, root: Root) {
        if let Root::Local(local) = root {
            self.changed |= !std::mem::replace(&mut self.opaque[local.index()], true);
        }
    }

    fn fill(&mut self, place: (Local, i64), root: Root) {
        let old = self.contents.get(&place).copied().unwrap_or(Root::Unset);
        let joined = self.join(old, root);
        self.changed |= joined != old;
        self.contents.insert(place, joined);
    }

    fn load(&mut self, from: Value) -> Root {
        match self.pointers[from.index()] {
            Pointer { root: Root::Local(local), offset: Some(offset) } if !self.opaque[local.index()] => {
                self.contents.get(&(local, offset)).copied().unwrap_or(Root::Unset)
            }
            Pointer { root: Root::Unset, .. } => Root::Unset,
            Pointer { root: Root::Local(local), .. } => {
                self.make_opaque(Root::Local(local));
                let inside = self.contents.range((local, i64::MIN)..=(local, i64::MAX));
                for root in inside.map(|(_, &root)| root).collect::<Vec<_>>() {
                    self.expose(root);
                }
                Root::Many
            }
            _ => Root::Many,
        }
    }

    fn copy(&mut self, dst: Value, src: Value, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let (dst, src) = (self.pointers[dst.index()], self.pointers[src.index()]);
        let from = match src {
            Pointer { root: Root::Unset, .. } => return,
            Pointer { root: Root::Local(local), offset: Some(offset) } => Some((local, offset)),
            Pointer { root, .. } => {
                self.make_opaque(root);
                None
            }
        };
        let to = match dst {
            Pointer { root: Root::Local(local), offset: Some(offset) } => Some((local, offset)),
            Pointer { root, .. } => {
                self.make_opaque(root);
                None
            }
        };
        let Some((source, start)) = from else { return self.make_opaque(dst.root) };
        let end = start.saturating_add(size);
        let inside: Vec<_> = self
            .contents
            .range((source, start)..(source, end))
            .map(|(&(_, offset), &root)| (offset - start, root))
            .collect();
        for (offset, root) in inside {
            match to {
                Some((local, base)) => self.fill((local, base.wrapping_add(offset)), root),
                None => self.expose(root),
            }
        }
        if self.opaque[source.index()] {
            self.make_opaque(dst.root);
        }
    }
}
