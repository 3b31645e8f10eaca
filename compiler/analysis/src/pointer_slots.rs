//! Pointer slots: where thread memory holds pointers in a form of the executor's choice.
//!
//! A *pointer slot* is eight bytes of a local that hold nothing but pointers of one address space for as
//! long as the local lives. Executors may keep their own representation of a pointer there. All other
//! memory can be written as integers, so it holds addresses, and a pointer that is loaded from it is looked
//! up.
//!
//! Owns [`PointerSlots`]. Invariant: no operation can put bytes into a slot that are not those of a pointer
//! value, or zeros.

use super::walk::walk_insts;
use anymetal_ir::{Function, Inst, Local, Op, Space, Type, Value};

/// Bytes of a pointer in memory.
const POINTER_BYTES: i64 = 8;

/// Where in a local a pointer points, if it is made of the local's address by adding.
#[derive(Clone, Copy, Debug)]
struct Place {
    local: Local,
    /// `None`: not constant.
    offset: Option<i64>,
    /// The offset is a multiple of [`POINTER_BYTES`].
    aligned: bool,
}

/// A load or store at a constant offset.
#[derive(Clone, Copy, Debug)]
struct LocalAccess {
    local: Local,
    offset: i64,
    bytes: i64,
    what: Accessed,
}

/// What some accesses load and store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Accessed {
    #[default]
    Nothing,
    /// Pointers to one space, at multiples of their size.
    Pointers(Space),
    Mixed,
}

impl Accessed {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (a, b) if a == b => a,
            _ => Self::Mixed,
        }
    }
}

/// How a local is used.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Its address is used by more than loads, stores and clears.
    escapes: bool,
    /// By all accesses.
    all: Accessed,
    /// By those at offsets that are not constant.
    dynamic: Accessed,
}

/// The slots of one function.
#[derive(Clone, Debug)]
pub struct PointerSlots {
    /// By value.
    places: Vec<Option<Place>>,
    /// By local.
    uses: Vec<Use>,
    /// Accesses at constant offsets, by local and offset.
    accesses: Vec<LocalAccess>,
    /// The largest access in bytes.
    most_bytes: i64,
}

impl PointerSlots {
    /// Finds the slots of a function.
    pub fn of(function: &Function) -> Self {
        let mut this = PointerSlots {
            places: vec![None; function.values.len()],
            uses: vec![Use::default(); function.locals.len()],
            accesses: Vec::new(),
            most_bytes: POINTER_BYTES,
        };
        walk_insts(function, function.body, &mut |inst| this.note(function, inst));
        this.accesses.sort_by_key(|access| (access.local, access.offset));
        this
    }

    /// The local that a pointer points into, if it is made of the local's address by adding.
    pub fn local(&self, pointer: Value) -> Option<Local> {
        self.places[pointer.index()].map(|place| place.local)
    }

    /// Whether the local's address is used by more than loads, stores and clears.
    pub fn escapes(&self, local: Local) -> bool {
        self.uses[local.index()].escapes
    }

    /// Whether the eight bytes at which a pointer is loaded or stored are a slot.
    pub fn is_slot(&self, ptr: Value) -> bool {
        let Some(Place { local, offset, aligned }) = self.places[ptr.index()] else {
            // Another thread's, or made in ways that are not followed.
            return false;
        };
        let Use { escapes, all, dynamic } = self.uses[local.index()];
        let Some(offset) = offset else {
            return aligned && !escapes && matches!(all, Accessed::Pointers(_));
        };
        let first = (local, offset.saturating_sub(self.most_bytes));
        let start = self.accesses.partition_point(|access| (access.local, access.offset) < first);
        let near = self.accesses[start..].iter().take_while(|access| {
            access.local == local && access.offset < offset.saturating_add(POINTER_BYTES)
        });
        let overlapping = near.filter(|access| offset < access.offset.saturating_add(access.bytes));
        let accessed = overlapping.fold(dynamic, |all, access| all.and(access.what));
        aligned && !escapes && matches!(accessed, Accessed::Pointers(_))
    }

    fn note(&mut self, function: &Function, inst: Inst) {
        let data = function.inst(inst);
        if let Some(result) = data.result {
            debug_assert!(self.places[result.index()].is_none(), "{result} is defined once, before its uses");
            self.places[result.index()] = self.place_of_result(function, &data.op);
        }
        match &data.op {
            Op::Load { ptr, volatile: false, .. } => {
                self.access(*ptr, function.ty(data.result.expect("a load has a result")));
            }
            Op::Store { ptr, value, volatile: false, .. } => {
                self.access(*ptr, function.ty(*value));
                self.escape(*value);
            }
            // Whole slots that are cleared hold null pointers.
            Op::MemZero { dst, size, .. } => {
                let cuts = |place: Place| !place.aligned || size % POINTER_BYTES as u64 != 0;
                if self.places[dst.index()].is_some_and(cuts) {
                    self.escape(*dst);
                }
            }
            Op::PtrAdd { .. } => {}
            op => op.for_each_operand(|operand| self.escape(operand)),
        }
    }

    fn place_of_result(&self, function: &Function, op: &Op) -> Option<Place> {
        match op {
            Op::LocalAddr(local) => Some(Place { local: *local, offset: Some(0), aligned: true }),
            Op::PtrAdd { base, index, scale, offset } => {
                let place = self.places[base.index()]?;
                let added = match index {
                    None => Some(*offset),
                    Some(index) => function
                        .as_const(*index)
                        .map(|index| (index as i64).wrapping_mul(i64::from(*scale)).wrapping_add(*offset)),
                };
                let keeps_alignment = match added {
                    Some(added) => added % POINTER_BYTES == 0,
                    None => i64::from(*scale) % POINTER_BYTES == 0 && offset % POINTER_BYTES == 0,
                };
                Some(Place {
                    local: place.local,
                    offset: place.offset.zip(added).map(|(at, added)| at.wrapping_add(added)),
                    aligned: place.aligned && keeps_alignment,
                })
            }
            _ => None,
        }
    }

    fn access(&mut self, ptr: Value, ty: Type) {
        let Some(Place { local, offset, aligned }) = self.places[ptr.index()] else {
            // Another local's, or memory that threads share.
            return;
        };
        let what = match ty {
            Type::Ptr(space) if aligned => Accessed::Pointers(space),
            _ => Accessed::Mixed,
        };
        let (used, bytes) = (&mut self.uses[local.index()], i64::from(ty.size()));
        debug_assert!(bytes > 0, "an access of no bytes overlaps nothing");
        used.all = used.all.and(what);
        match offset {
            None => used.dynamic = used.dynamic.and(what),
            Some(offset) => self.accesses.push(LocalAccess { local, offset, bytes, what }),
        }
        self.most_bytes = self.most_bytes.max(bytes);
    }

    fn escape(&mut self, value: Value) {
        if let Some(place) = self.places[value.index()] {
            self.uses[place.local.index()].escapes = true;
        }
    }
}
