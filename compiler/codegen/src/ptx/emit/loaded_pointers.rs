//! Pointers in memory: addresses where data can be, tagged pointers in slots, as on the CPU.
//!
//! A loaded address is searched in the launch's table of resident buffers, and gets a number beyond those of
//! the kernel's own allocations. The table is constant during a launch, so the search is a function of its
//! arguments alone, which LLVM may hoist. Only kernels that load pointers have the table
//! ([`anymetal_analysis::function_loads_pointers`]). Tags of threadgroup and thread memory need no check
//! here: [`Emitter::decode`] knows only the allocations of a pointer's space.

use anymetal_abi::offsets::{ENTRY_LEN, TABLE_ENTRY};
use anymetal_abi::resident::ADDRESS_BITS;
use anymetal_ir::{ArgKind, Space, Type, Value};

use super::Emitter;
use super::allocation::Place;
use crate::llvm::{GLOBAL, I64, IntPredicate, MemFlags, Opd};
use crate::tagged::{self, Search, entry_len};
use anymetal_analysis::roots::Root;

/// The table of the launch: a parameter each.
#[derive(Debug)]
pub(super) struct Residents {
    pub(super) table: Opd,
    pub(super) count: Opd,
}

impl Default for Residents {
    fn default() -> Self {
        Self { table: Opd::zero(GLOBAL), count: Opd::i64(0) }
    }
}

/// The text of `@am.pointer`.
fn pointer_text() -> String {
    let pointer = &GLOBAL.to_string();
    let parameters = format!("{pointer} %table, i64 %count");
    let invariant = ", !invariant.load !1";
    tagged::search(Search { parameters: &parameters, start: "", pointer, invariant })
}

impl Emitter<'_> {
    /// Whether the value is a pointer that is an address in memory.
    fn has_address(&self, pointer: Value) -> bool {
        matches!(self.ty(pointer), Type::Ptr(Space::Device | Space::Constant))
    }

    /// The number of the first resident buffer: beyond all allocations of the kernel, its locals too.
    fn first_resident(&self) -> i64 {
        let Self { input, .. } = self;
        let (kernel, module) = (input.kernel, input.module);
        let shared = kernel.args.len() + module.threadgroup_vars.len() + module.globals.len();
        1 + (shared + input.function.locals.len()) as i64
    }

    /// A tagged pointer of a type from bits that may be data.
    pub(super) fn loaded_pointer(&mut self, ty: Type, bits: Opd) -> Opd {
        let Some(Residents { table, count }) = &self.residents else { return bits };
        let constants = match ty {
            Type::Ptr(Space::Device) => 0,
            Type::Ptr(Space::Constant) => self.input.module.globals.len(),
            // Decoded among the allocations of their space alone.
            _ => return bits,
        };
        if matches!(bits, Opd::Int(_, 0)) {
            return bits;
        }
        let (table, count, first) = (table.clone(), count.clone(), self.first_resident());
        let globals = first - (self.input.module.globals.len() + self.input.function.locals.len()) as i64;
        self.helper("am.pointer", pointer_text);
        self.t.call(
            I64,
            "am.pointer",
            &[&table, &count, &Opd::i64(globals), &Opd::i64(constants as i64), &Opd::i64(first), &bits],
        )
    }

    /// A pointer that was loaded from an address, in the form that its allocation asks for.
    pub(super) fn pointer_in(&mut self, at: Value, result: Value, bits: Opd) -> Opd {
        let ty = self.ty(result);
        let is_slot = self.facts.slots.is_slot(at);
        match self.root(result) {
            Root::Many if is_slot => bits,
            Root::Many => self.loaded_pointer(ty, bits),
            root @ Root::Argument(_) if !is_slot && self.has_address(result) => {
                let Type::Ptr(space) = ty else { unreachable!("it is a pointer") };
                let place = self.place(root, space);
                let base = self.address_in(&place, &Opd::i64(0));
                self.t.sub(&bits, &base)
            }
            root => self.from_tagged(bits, root),
        }
    }

    /// Base and length of the resident buffer of that number, if there is one; else those that are given. If
    /// the access `stores`, read-only memory has length 0.
    pub(super) fn resident_place(
        &mut self,
        number: &Opd,
        (base, len): (Opd, Opd),
        stores: bool,
    ) -> (Opd, Opd) {
        let Some(Residents { table, count }) = &self.residents else { return (base, len) };
        let (table, count, first) = (table.clone(), count.clone(), self.first_resident());
        let index = self.t.sub(number, first);
        let exists = self.t.icmp(IntPredicate::ULt, &index, &count);
        let at = self.t.mul(&index, TABLE_ENTRY);
        let entry = self.t.offset(&table, &at);
        let entry = self.t.select(&exists, &entry, &Opd::constant(GLOBAL, "@am.zeros"));
        let own_base = self.t.load(GLOBAL, &entry, MemFlags::with(8, ", !invariant.load !1"));
        let len_at = self.t.offset(&entry, ENTRY_LEN);
        let own_len = self.t.load(I64, &len_at, MemFlags::with(8, ", !invariant.load !1"));
        let own_len = entry_len(&mut self.t, &own_len, stores);
        let base = self.t.select(&exists, &own_base, &base);
        let len = self.t.select(&exists, &own_len, &len);
        (base, len)
    }

    /// The eight bytes of a pointer in a buffer or as an integer: an address. Pointers to what has none stay
    /// tagged.
    pub(super) fn addressed(&mut self, pointer: Value) -> Opd {
        if !self.has_address(pointer) {
            return self.tagged(pointer);
        }
        let Type::Ptr(space) = self.ty(pointer) else { unreachable!("it is a pointer") };
        let offset = self.one(pointer);
        match self.root(pointer) {
            root @ Root::Argument(_) => {
                let place = self.place(root, space);
                self.address_in(&place, &offset)
            }
            Root::Many => self.address_of_tagged(&offset, space),
            _ => self.tagged(pointer),
        }
    }

    fn address_in(&mut self, place: &Place, offset: &Opd) -> Opd {
        if place.base.is_null() {
            return offset.clone();
        }
        let base = self.t.address_of(&place.base);
        self.t.add(&base, offset)
    }

    /// Of a tagged pointer.
    fn address_of_tagged(&mut self, tagged: &Opd, space: Space) -> Opd {
        let number = self.t.lshr(tagged, i64::from(ADDRESS_BITS));
        let (place, offset) = self.decode(tagged, space, false);
        let address = self.address_in(&place, &offset);
        // The null pointer and pointers to constant data, which has no address, are what they are. An address
        // in no buffer is the offset from nothing.
        let is_kept = self.is_without_address(&number);
        self.t.select(&is_kept, tagged, &address)
    }

    /// Whether a number is of an allocation that is neither a buffer nor unknown.
    fn is_without_address(&mut self, number: &Opd) -> Opd {
        let kernel = self.input.kernel;
        let last = kernel.args.iter().rposition(|arg| arg.kind == ArgKind::Buffer);
        let (buffers, first) = (last.map_or(0, |last| last as i64 + 1), self.first_resident());
        // The null pointer's number is 0, and those of arguments begin at 1.
        let above = self.t.icmp(IntPredicate::UGt, number, buffers);
        let below = self.t.icmp(IntPredicate::ULt, number, first);
        let own = self.t.and(&above, &below);
        let null = self.t.icmp(IntPredicate::Eq, number, 0);
        self.t.or(&own, &null)
    }
}
