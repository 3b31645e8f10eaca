//! Allocations: base addresses, lengths, bounds checks, and tagged pointers.
//!
//! Bases and lengths are loaded once, in the entry block. A pointer with more than one possible root is
//! *tagged* ([`crate::tagged`]): the allocation's number in the high 16 bits, the offset plus 2^47 below. 0
//! is the null pointer.

use anymetal_abi::offsets::{
    ENTRY_LEN, LAUNCH_BEFORE, LAUNCH_BUFFERS, LAUNCH_RESIDENT, LAUNCH_RESIDENT_COUNT,
    LAUNCH_THREADGROUP_SLOTS, TABLE_ENTRY,
};
use anymetal_ir::{ArgKind, CmpOp, Inst, Op, Value};

use super::Emitter;
use super::lane::{Lane, Width};
use super::memory::Address;
use crate::cpu::argument_slots;
use crate::llvm::{self, Binary, Builder, I64, IntPredicate, LANES, MemFlags, Opd, PTR};
use crate::tagged::{BIAS, LARGEST_OFFSET, OFFSET_BITS, entry_len, saturated_forward};
use anymetal_analysis::ranges::offset_bound;
use anymetal_simd::storage::Root;

/// An allocation that tagged pointers may name: its address and its length.
const PLACE: &str = "{ ptr, i64 }";

/// Zeros to read where an access is out of bounds: [`ZEROS_BYTES`] of them.
pub(super) const ZEROS: &str = "@am.zeros";
/// As much as all lanes read at once from a private array.
pub(super) const ZEROS_BYTES: usize = LANES * 4 * size_of::<u64>();

/// Without checks: more than is before any allocation, and no overflow when the largest length is added.
pub(super) const UNCHECKED_BEFORE: i64 = 1 << 62;

/// An allocation during emission.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Its first byte.
    pub(super) base: Opd,
    /// Its bytes.
    pub(super) len: Opd,
    /// Which one.
    pub(super) root: Root,
    /// Of an encoded pointer to shared memory: its number.
    pub(super) number: Option<Opd>,
}

impl Place {
    /// An allocation that code knows by its root.
    pub(super) fn known(base: Opd, len: Opd, root: Root) -> Self {
        Place { base, len, root, number: None }
    }
}

impl Emitter<'_, '_> {
    /// The number of an allocation.
    fn number(&self, root: Root) -> u32 {
        let arguments = self.shared.kernel.args.len() as u32;
        let variables = self.shared.module.threadgroup_vars.len() as u32;
        let globals = self.shared.module.globals.len() as u32;
        match root {
            Root::Unset | Root::Null | Root::Many => 0,
            Root::Argument(index) => 1 + index as u32,
            Root::Threadgroup(var) => 1 + arguments + var.0,
            Root::Global(global) => 1 + arguments + variables + global.0,
            Root::Local(local) => 1 + arguments + variables + globals + local.0,
        }
    }

    /// Base and length of a known allocation.
    pub(super) fn place(&mut self, root: Root) -> Place {
        let number = self.number(root);
        if let Some((base, len)) = self.registers.bases.get(&number).cloned() {
            return Place::known(base, len, root);
        }
        let (base, len) = match root {
            Root::Unset | Root::Null | Root::Many => (Opd::null(), Opd::i64(0)),
            Root::Argument(index) => self.argument_place(index),
            Root::Threadgroup(var) => {
                let offset = self.shared.threadgroup.offsets[var.index()];
                let memory = self.group.threadgroup_memory.clone();
                let base = self.t.in_entry(|t| t.field(&memory, offset as i64));
                (base, Opd::i64(self.shared.threadgroup.lengths[var.index()] as i64))
            }
            Root::Global(global) => {
                let bytes = self.shared.module.globals[global.index()].bytes.len();
                (Opd::global(format!("@am.global.{}", global.0)), Opd::i64(bytes as i64))
            }
            Root::Local(local) => {
                let size = self.plan.facts.function.locals[local.index()].size;
                let base = match self.plan.facts.storage.kind(local) {
                    anymetal_simd::storage::LocalKind::Array(array) => self.array_slot(array),
                    anymetal_simd::storage::LocalKind::Promoted => Opd::null(),
                };
                // Not kept: in barrier regions an array's place changes with the SIMD-group.
                return Place::known(base, Opd::i64(size as i64), root);
            }
        };
        self.registers.bases.insert(number, (base.clone(), len.clone()));
        Place::known(base, len, root)
    }

    fn argument_place(&mut self, index: usize) -> (Opd, Opd) {
        let kernel = self.shared.kernel;
        let argument = &kernel.args[index];
        let Some(slot) = argument_slots(kernel)[index] else {
            // A disabled argument has no entry: its parameter is the null pointer.
            return (Opd::null(), Opd::i64(0));
        };
        let field = if argument.kind == ArgKind::Buffer { LAUNCH_BUFFERS } else { LAUNCH_THREADGROUP_SLOTS };
        let launch = self.group.launch.clone();
        let t = &mut self.t;
        let field = t.in_entry(|t| t.field(&launch, field));
        let table = t.in_entry(|t| t.load(PTR, &field, MemFlags::with(8, ", !invariant.load !1")));
        let entry = t.in_entry(|t| t.field(&table, i64::from(slot) * TABLE_ENTRY));
        let second = t.in_entry(|t| t.field(&entry, ENTRY_LEN));
        let len = t.in_entry(|t| t.load(I64, &second, MemFlags::with(8, ", !invariant.load !1")));
        if argument.kind == ArgKind::Buffer {
            let base = t.in_entry(|t| t.load(PTR, &entry, MemFlags::with(8, ", !invariant.load !1")));
            return (base, len);
        }
        let offset = t.in_entry(|t| t.load(I64, &entry, MemFlags::with(8, ", !invariant.load !1")));
        let memory = self.group.threadgroup_memory.clone();
        (self.t.in_entry(|t| t.offset(&memory, &offset)), len)
    }

    /// One more than the largest offset at which `bytes` bytes are in bounds.
    pub(super) fn limit(&mut self, place: &Place, bytes: i64) -> Opd {
        if let Opd::Int(_, len) = place.len {
            return Opd::i64((len - bytes + 1).max(0));
        }
        let key = (self.number(place.root), bytes);
        let known = place.root != Root::Many;
        if known && let Some(limit) = self.registers.limits.get(&key) {
            return limit.clone();
        }
        let (len, less) = (&place.len, bytes - 1);
        let limit = |t: &mut Builder| {
            let fits = t.icmp(IntPredicate::UGe, len, bytes);
            let room = t.binary(Binary::Sub, len, less);
            t.select(&fits, &room, 0)
        };
        if known {
            let limit = self.t.in_entry(limit);
            self.registers.limits.insert(key, limit.clone());
            return limit;
        }
        limit(&mut self.t)
    }

    /// One more than the largest offset at which `bytes` bytes are in bounds and which is at most `max`. Of
    /// an argument.
    pub(super) fn limit_up_to(&mut self, place: &Place, bytes: i64, max: i64) -> Opd {
        let key = (self.number(place.root), bytes, max);
        if let Some(limit) = self.registers.capped_limits.get(&key) {
            return limit.clone();
        }
        let limit = self.limit(place, bytes);
        let cap = max.saturating_add(1);
        let less = self.t.in_entry(|t| t.icmp(IntPredicate::ULt, &limit, cap));
        let limit = self.t.in_entry(|t| t.select(&less, &limit, cap));
        self.registers.capped_limits.insert(key, limit.clone());
        limit
    }

    /// Whether `bytes` from `start` on are inside, as `i1`. Without checks an active lane's are taken to be.
    pub(super) fn in_bounds(&mut self, place: &Place, start: &Opd, bytes: i64) -> Opd {
        if !self.shared.options.checks && !matches!(place.root, Root::Null | Root::Unset) {
            return Opd::bool(true);
        }
        self.exists(place, start, bytes)
    }

    /// As [`Self::in_bounds`], also without checks: for what no active lane asked for.
    pub(super) fn exists(&mut self, place: &Place, start: &Opd, bytes: i64) -> Opd {
        if let (Opd::Int(_, start), Opd::Int(_, len)) = (start, &place.len) {
            return Opd::bool(*start >= 0 && start.saturating_add(bytes) <= *len);
        }
        if let (Opd::Int(_, start), Root::Argument(index)) = (start, place.root) {
            let argument = &self.shared.kernel.args[index];
            let size = i64::try_from(argument.element_size).unwrap_or(0);
            if argument.reference && *start >= 0 && start.saturating_add(bytes) <= size {
                return Opd::bool(true);
            }
        }
        let limit = self.limit(place, bytes);
        self.t.icmp(IntPredicate::ULt, start, &limit)
    }

    /// The bytes before an allocation's start that may be accessed, read where they are needed: on slow paths
    /// only. What fails a check against the length alone may still be in a buffer that is bound at an offset.
    pub(super) fn before(&mut self, place: &Place) -> Opd {
        if !self.shared.options.checks {
            return Opd::i64(UNCHECKED_BEFORE);
        }
        if !self.shared.module.whole_buffers {
            return Opd::i64(0);
        }
        match (place.root, &place.number) {
            (Root::Argument(index), _) => match self.buffer_slot(index) {
                Some(slot) => self.load_before(&Opd::i64(slot)),
                None => Opd::i64(0),
            },
            (Root::Many, Some(number)) => self.before_by_number(&number.clone()),
            _ => Opd::i64(0),
        }
    }

    /// Whether `bytes` from `start` on, which are not inside by the length alone, are in the buffer before
    /// what is bound. `None`: never.
    pub(super) fn is_before(&mut self, place: &Place, start: &Opd, bytes: i64) -> Option<Opd> {
        let before = self.before(place);
        if matches!(before, Opd::Int(_, _)) {
            return None;
        }
        let place_of_start = self.t.add(start, &before);
        let len = self.t.add(&place.len, &before);
        let place = Place { len, root: Root::Many, ..place.clone() };
        let limit = self.limit(&place, bytes);
        Some(self.t.icmp(IntPredicate::ULt, &place_of_start, &limit))
    }

    /// The slot of an enabled buffer argument.
    fn buffer_slot(&self, index: usize) -> Option<i64> {
        let kernel = self.shared.kernel;
        let slot = argument_slots(kernel)[index].filter(|_| kernel.args[index].kind == ArgKind::Buffer)?;
        Some(i64::from(slot))
    }

    fn load_before(&mut self, slot: &Opd) -> Opd {
        let launch = self.group.launch.clone();
        let field = self.t.field(&launch, LAUNCH_BEFORE);
        let table = self.t.load(PTR, &field, 8);
        let entry = self.t.address(I64, &table, slot);
        self.t.load(I64, &entry, 8)
    }

    /// As [`Self::before`], of the allocation of that number.
    fn before_by_number(&mut self, number: &Opd) -> Opd {
        let (mut slot, mut is_buffer) = (Opd::i64(0), Opd::bool(false));
        for index in 0..self.shared.kernel.args.len() {
            let Some(of_argument) = self.buffer_slot(index) else { continue };
            let here = self.t.icmp(IntPredicate::Eq, number, i64::from(self.number(Root::Argument(index))));
            slot = self.t.select(&here, &Opd::int(I64, of_argument), &slot);
            is_buffer = self.t.select(&here, &Opd::bool(true), &is_buffer);
        }
        if slot.is_int(0) && is_buffer.is_false() {
            return Opd::i64(0);
        }
        let before = self.load_before(&slot);
        self.t.select(&is_buffer, &before, 0)
    }

    /// Whether `bytes` bytes are in bounds in every lane, by what is known of the pointer. Says nothing of
    /// affine forms that hold under a condition only.
    pub(super) fn is_in_bounds(&self, address: &Address, bytes: i64) -> bool {
        let interior_pointers = address.value.and_then(|pointer| self.rows.interior_pointers.get(&pointer));
        if interior_pointers
            .is_some_and(|interior_pointers| address.extra == 0 && bytes <= interior_pointers.bytes)
        {
            return true;
        }
        let (Some(pointer), Opd::Int(_, len)) = (address.value, &address.place.len) else { return false };
        let known = [address.extra, bytes, *len].map(u64::try_from);
        let [Ok(extra), Ok(bytes), Ok(len)] = known else { return false };
        let end = offset_bound(self.plan.facts.function, self.plan.facts.geometry, &[], pointer)
            .and_then(|offset| offset.checked_add(extra)?.checked_add(bytes));
        end.is_some_and(|end| end <= len)
    }

    // --- encoded pointers

    /// The code of offset 0 in an allocation; that of an unbound buffer is null's.
    pub(super) fn code_of_root(&mut self, root: Root) -> Opd {
        match root {
            Root::Null | Root::Unset | Root::Many => Opd::i64(0),
            root => {
                let code = (i64::from(self.number(root)) << 48) + BIAS;
                if !matches!(root, Root::Argument(_)) {
                    return Opd::i64(code);
                }
                let place = self.place(root);
                let bound = self.t.icmp(IntPredicate::Ne, &place.base, &Opd::zero(PTR));
                self.t.select(&bound, &Opd::int(I64, code), 0)
            }
        }
    }

    /// The pointer, tagged.
    pub(super) fn encoded(&mut self, value: Value) -> Lane {
        let root = self.plan.facts.storage.pointer(value).root;
        if root == Root::Many {
            return self.lane(value, 0);
        }
        if !self.shape(value, 0).is_uniform() {
            return Lane::Varying(self.encoded_vector(value));
        }
        let (offset, code) = (self.uniform(value, 0), self.code_of_root(root));
        Lane::uniform(self.tagged(Width::One, &code, &offset))
    }

    /// The pointer in all lanes, tagged, whatever its shape.
    pub(super) fn encoded_vector(&mut self, value: Value) -> Opd {
        let offsets = self.vector(value, 0);
        match self.plan.facts.storage.pointer(value).root {
            Root::Many => offsets,
            root => {
                let code = self.code_of_root(root);
                self.tagged(Width::All, &code, &offsets)
            }
        }
    }

    /// Tagged pointers of offsets in the allocation whose first byte has the code.
    pub(super) fn tagged(&mut self, width: Width, code: &Opd, offsets: &Opd) -> Opd {
        let code = if width == Width::One { code.clone() } else { self.t.splat(code) };
        let sum = match width {
            Width::One => self.t.add(&code, offsets),
            _ => self.t.add(&code, offsets),
        };
        if let (Opd::Int(_, _), Opd::Int(_, offset)) = (&code, offsets)
            && (0..=LARGEST_OFFSET).contains(offset)
        {
            return sum;
        }
        // The first byte's code is not saturated.
        saturated_forward(&mut self.t, width, &code, &sum)
    }

    /// The table of all allocations, by number: base and length.
    pub(super) fn table(&mut self) -> Opd {
        if let Some(table) = &self.registers.pointer_table {
            return table.clone();
        }
        let mut roots = vec![Root::Null];
        roots.extend((0..self.shared.kernel.args.len()).map(|index| {
            if self.shared.kernel.args[index].enabled { Root::Argument(index) } else { Root::Null }
        }));
        let variables = self.shared.module.threadgroup_vars.len() as u32;
        roots.extend((0..variables).map(|var| Root::Threadgroup(anymetal_ir::ThreadgroupId(var))));
        let globals = self.shared.module.globals.len() as u32;
        roots.extend((0..globals).map(|global| Root::Global(anymetal_ir::GlobalId(global))));
        let table = self.t.alloca_array(roots.len() as u64, PLACE, 16);
        for (index, root) in roots.into_iter().enumerate() {
            let place = self.place(root);
            let entry = index as i64 * TABLE_ENTRY;
            let first = self.t.in_entry(|t| t.field(&table, entry));
            let second = self.t.in_entry(|t| t.field(&table, entry + 8));
            self.t.in_entry(|t| t.store(&place.base, &first, 8));
            self.t.in_entry(|t| t.store(&place.len, &second, 8));
        }
        self.registers.pointer_table = Some(table.clone());
        table
    }

    /// Allocation and offset of one tagged pointer to memory that lanes share. If the access
    /// `stores`, read-only memory has length 0.
    pub(super) fn decode(&mut self, code: &Opd, stores: bool) -> (Place, Opd) {
        let table = self.table();
        let count = self.shared_allocations();
        let tag = self.t.lshr(code, 48);
        let known = self.t.icmp(IntPredicate::ULt, &tag, count as i64);
        let number = self.t.select(&known, &tag, 0);
        let mut entry = self.t.address(PLACE, &table, &number);
        if self.loads_pointers {
            entry = self.resident_entry(&tag, &entry);
        }
        let base = self.t.load(PTR, &entry, 8);
        let second = self.t.offset(&entry, 8);
        let mut len = self.t.load(I64, &second, 8);
        if self.loads_pointers {
            len = entry_len(&mut self.t, &len, stores);
        }
        let offset = self.decode_offset(code);
        (Place { base, len, root: Root::Many, number: Some(number) }, offset)
    }

    /// How many allocations lanes share, the null pointer's among them: the length of the table.
    pub(super) fn shared_allocations(&self) -> usize {
        let (module, kernel) = (self.shared.module, self.shared.kernel);
        1 + kernel.args.len() + module.threadgroup_vars.len() + module.globals.len()
    }

    /// The entry of the resident buffer with that number; `other` for other numbers.
    fn resident_entry(&mut self, number: &Opd, other: &Opd) -> Opd {
        let launch = self.group.launch.clone();
        let field = |this: &mut Self, ty: llvm::Type, offset: i64| {
            let at = this.t.in_entry(|t| t.field(&launch, offset));
            this.t.in_entry(|t| t.load(ty, &at, MemFlags::with(8, ", !invariant.load !1")))
        };
        let (table, count) = match &self.registers.resident_table {
            Some(known) => known.clone(),
            None => (field(self, PTR, LAUNCH_RESIDENT), field(self, I64, LAUNCH_RESIDENT_COUNT)),
        };
        self.registers.resident_table = Some((table.clone(), count.clone()));
        let first = self.first_resident();
        let index = self.t.sub(number, first as i64);
        let exists = self.t.icmp(IntPredicate::ULt, &index, &count);
        let entry = self.t.address(PLACE, &table, &index);
        self.t.select(&exists, &entry, other)
    }

    /// The offset part of encoded pointers.
    pub(super) fn decode_offset(&mut self, code: &Opd) -> Opd {
        let low = self.t.and(code, OFFSET_BITS);
        self.t.sub(&low, BIAS)
    }

    /// The allocation of an exposed local, by the number in a code. For any other number, such as the null
    /// pointer's, it has no bytes; loads read zeros there before they are discarded.
    pub(super) fn decode_local(&mut self, code: &Opd) -> (Place, Opd) {
        let number = self.t.lshr(code, 48);
        let (mut base, mut len) = (Opd::global(ZEROS), Opd::i64(0));
        for array in self.plan.facts.storage.arrays.clone() {
            if !self.plan.facts.storage.is_exposed(array.local) {
                continue;
            }
            let root = Root::Local(array.local);
            let place = self.place(root);
            let here = self.t.icmp(IntPredicate::Eq, &number, i64::from(self.number(root)));
            base = self.t.select(&here, &place.base, &base);
            len = self.t.select(&here, &place.len, &len);
        }
        let offset = self.decode_offset(code);
        (Place::known(base, len, Root::Many), offset)
    }

    // --- comparisons

    /// Compares addresses; `lane` as in the elementwise operations.
    pub(super) fn compare_pointers(
        &mut self,
        inst: Inst,
        op: CmpOp,
        width: Width,
        lane: Option<usize>,
    ) -> Opd {
        let Op::Compare(_, a, b) = self.plan.facts.function.inst(inst).op else { return Opd::bool(false) };
        if op == CmpOp::Disjoint {
            let disjoint = self.are_disjoint(a, b);
            return if width == Width::One { disjoint } else { self.t.splat(&disjoint) };
        }
        let x = self.address_bits(a, width, lane);
        let y = self.address_bits(b, width, lane);
        super::arith::compare(&mut self.t, width, op, anymetal_ir::Scalar::I64, &x, &y)
    }

    /// Whether no byte can be accessed through both pointers, as `i1`; false unless both are made of
    /// arguments.
    fn are_disjoint(&mut self, a: Value, b: Value) -> Opd {
        let roots = [a, b].map(|pointer| self.plan.facts.storage.pointer(pointer).root);
        let [Root::Argument(_), Root::Argument(_)] = roots else { return Opd::bool(false) };
        let [x, y] = roots.map(|root| self.accessible(root));
        let is_below = self.t.icmp(IntPredicate::ULe, &x.1, &y.0);
        let is_above = self.t.icmp(IntPredicate::ULe, &y.1, &x.0);
        self.t.or(&is_below, &is_above)
    }

    /// The first address that may be accessed through an argument, and the one after the last.
    fn accessible(&mut self, argument: Root) -> (Opd, Opd) {
        let place = self.place(argument);
        let start = self.t.address_of(&place.base);
        let end = self.t.add(&start, &place.len);
        // Without checks every access is within the binding.
        let before = if self.shared.options.checks { self.before(&place) } else { Opd::i64(0) };
        (self.t.sub(&start, &before), end)
    }

    /// Something that orders and equals as the address does.
    fn address_bits(&mut self, value: Value, width: Width, lane: Option<usize>) -> Opd {
        let root = self.plan.facts.storage.pointer(value).root;
        let is_thread = self.plan.facts.function.pointer_space(value) == anymetal_ir::Space::Thread;
        if self.loads_pointers && !is_thread {
            // One buffer may have two numbers.
            return match lane {
                Some(lane) => self.addressed(value).at(&mut self.t, I64, lane),
                None => self.addressed_vector(value),
            };
        }
        if is_thread || root == Root::Many && width == Width::All {
            return match lane {
                Some(lane) => self.encoded(value).at(&mut self.t, I64, lane),
                None => self.encoded_vector(value),
            };
        }
        let offset = match lane {
            Some(lane) => self.at(value, 0, lane),
            None => self.vector(value, 0),
        };
        let (base, offset) = match root {
            Root::Many => {
                let (place, offset) = self.decode(&offset, false);
                // A null pointer is no offset.
                let null = self.t.icmp(IntPredicate::Eq, &place.base, &Opd::zero(PTR));
                (place.base, self.t.select(&null, &Opd::int(I64, 0), &offset))
            }
            root => (self.place(root).base, offset),
        };
        let base = match base.is_null() {
            true => Opd::i64(0),
            false => self.t.address_of(&base),
        };
        match width {
            Width::One => self.t.add(&base, &offset),
            _ => {
                let base = self.t.splat(&base);
                self.t.add(&base, &offset)
            }
        }
    }
}
