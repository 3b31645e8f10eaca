//! Loads and stores of shared memory, and of promoted variables.
//!
//! Here is what both need: the address ([`Address`]), the access of each lane ([`Item`]), and its form in
//! memory. `load` and `store` own the two directions, `bounds` the checks, `slow` the paths lane by lane,
//! `waterfall` pointers to several allocations.
//!
//! Fast path: one scalar bounds check per base, then plain vector accesses, unmasked for loads. Slow path,
//! out of line: lane by lane under the mask. Plain accesses claim no alignment: it costs nothing, and a
//! wrong pointer must not trap.

mod bounds;
mod load;
mod slow;
mod store;
mod waterfall;

use anymetal_abi::AccessKind;
use anymetal_ir::{Scalar, Space, Value};
pub(super) use anymetal_simd::access::Item;

use super::Emitter;
use super::allocation::Place;
use super::lane::{Lane, Width};
use crate::llvm::{self, I8, I64, IntPredicate, Opd, scalar_type};
use anymetal_simd::storage::Root;
pub(super) use slow::{SlowBuffers, SlowOffsets};
pub(super) use waterfall::Decoder;

/// Where an access goes.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// The allocation.
    pub(super) place: Place,
    /// Offset in it.
    pub(super) offset: Lane,
    /// The pointer value whose offset this is, for lane by lane access.
    pub(super) value: Option<Value>,
    /// Constant bytes to add.
    pub(super) extra: i64,
    /// The fault site.
    pub(super) site: u32,
}

/// The LLVM type of an element in memory.
pub(super) trait MemoryType {
    fn memory_type(self) -> llvm::Type;
}

impl MemoryType for Item {
    fn memory_type(self) -> llvm::Type {
        if self.scalar == Scalar::Bool { I8 } else { scalar_type(self.scalar) }
    }
}

impl Emitter<'_, '_> {
    /// The address that a pointer of known root, or a uniform tagged one, means for an access.
    pub(super) fn address(&mut self, pointer: Value, site: u32, kind: AccessKind) -> Address {
        let root = self.plan.facts.storage.pointer(pointer).root;
        if root == Root::Many {
            let code = self.uniform(pointer, 0);
            let (place, offset) = self.decode(&code, kind != AccessKind::Load);
            return Address { place, offset: Lane::uniform(offset), value: None, extra: 0, site };
        }
        let place = self.place(root);
        Address { place, offset: self.lane(pointer, 0), value: Some(pointer), extra: 0, site }
    }

    /// Whether the pointer's allocation can differ between lanes.
    pub(super) fn is_scattered(&self, pointer: Value) -> bool {
        self.plan.facts.storage.pointer(pointer).root == Root::Many && !self.shape(pointer, 0).is_uniform()
    }

    /// The offsets of all lanes, without the extra constant.
    pub(super) fn offsets(&mut self, address: &Address) -> Opd {
        match (&address.offset, address.value) {
            (Lane::Affine { shape, .. }, Some(value)) if shape.is_assumed() => self.recompute(value, 0),
            (offset, _) => offset.vector(&mut self.t, I64),
        }
    }

    pub(super) fn offsets_with_extra(&mut self, address: &Address) -> Opd {
        let offsets = self.offsets(address);
        match address.extra {
            0 => offsets,
            extra => self.t.add(&offsets, extra),
        }
    }

    /// From the type in memory to the type of values.
    pub(super) fn from_memory(&mut self, item: Item, raw: Opd) -> Opd {
        if item.scalar != Scalar::Bool {
            return raw;
        }
        self.t.icmp(IntPredicate::Ne, &raw, 0)
    }

    fn to_memory(&mut self, width: Width, item: Item, value: Opd) -> Opd {
        if item.scalar != Scalar::Bool {
            return value;
        }
        if value.is_true() || value.is_false() {
            return Opd::int(I8, i64::from(value.is_true()));
        }
        self.t.zext(&value, width.of(I8))
    }

    /// What LLVM may know about an access: constant memory does not change during a dispatch, and
    /// threadgroup memory is no buffer.
    pub(super) fn metadata(&self, place: &Place) -> &'static str {
        match place.root {
            Root::Argument(index) => match self.shared.kernel.args[index].space {
                Space::Constant => ", !invariant.load !1, !alias.scope !4, !noalias !5",
                Space::Threadgroup => ", !alias.scope !5, !noalias !4",
                Space::Device | Space::Thread => ", !alias.scope !4, !noalias !5",
            },
            Root::Global(_) => ", !invariant.load !1",
            Root::Threadgroup(_) => ", !alias.scope !5, !noalias !4",
            _ => "",
        }
    }

    pub(super) fn store_metadata(&self, place: &Place) -> &'static str {
        match place.root {
            Root::Argument(index) if self.shared.kernel.args[index].space == Space::Threadgroup => {
                ", !alias.scope !5, !noalias !4"
            }
            Root::Argument(_) => ", !alias.scope !4, !noalias !5",
            Root::Threadgroup(_) => ", !alias.scope !5, !noalias !4",
            _ => "",
        }
    }
}
