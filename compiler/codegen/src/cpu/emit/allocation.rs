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
use crate::cpu::llvm_text::{LANES, Opd};
use crate::tagged::{BIAS, LARGEST_OFFSET, OFFSET_BITS, entry_len, saturated_forward};
use anymetal_analysis::ranges::offset_bound;
use anymetal_simd::storage::Root;

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
            Root::Unset | Root::Null | Root::Many => (Opd::text("null"), Opd::Int(0)),
            Root::Argument(index) => self.argument_place(index),
            Root::Threadgroup(var) => {
                let offset = self.shared.threadgroup.offsets[var.index()];
                let memory = self.group.threadgroup_memory.clone();
                let base = self.t.entry_value(format_args!("getelementptr i8, ptr {memory}, i64 {offset}"));
                (base, Opd::Int(self.shared.threadgroup.lengths[var.index()] as i64))
            }
            Root::Global(global) => {
                let bytes = self.shared.module.globals[global.index()].bytes.len();
                (Opd::text(format!("@am.global.{}", global.0)), Opd::Int(bytes as i64))
            }
            Root::Local(local) => {
                let size = self.plan.facts.function.locals[local.index()].size;
                let base = match self.plan.facts.storage.kind(local) {
                    anymetal_simd::storage::LocalKind::Array(array) => self.array_slot(array),
                    anymetal_simd::storage::LocalKind::Promoted => Opd::text("null"),
                };
                // Not kept: in barrier regions an array's place changes with the SIMD-group.
                return Place::known(base, Opd::Int(size as i64), root);
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
            return (Opd::text("null"), Opd::Int(0));
        };
        let field = if argument.kind == ArgKind::Buffer { LAUNCH_BUFFERS } else { LAUNCH_THREADGROUP_SLOTS };
        let launch = self.group.launch.clone();
        let t = &mut self.t;
        let field = t.entry_value(format_args!("getelementptr i8, ptr {launch}, i64 {field}"));
        let table = t.entry_value(format_args!("load ptr, ptr {field}, align 8, !invariant.load !1"));
        let entry = t.entry_value(format_args!(
            "getelementptr i8, ptr {table}, i64 {}",
            i64::from(slot) * TABLE_ENTRY
        ));
        let second = t.entry_value(format_args!("getelementptr i8, ptr {entry}, i64 {ENTRY_LEN}"));
        let len = t.entry_value(format_args!("load i64, ptr {second}, align 8, !invariant.load !1"));
        if argument.kind == ArgKind::Buffer {
            let base = t.entry_value(format_args!("load ptr, ptr {entry}, align 8, !invariant.load !1"));
            return (base, len);
        }
        let offset = t.entry_value(format_args!("load i64, ptr {entry}, align 8, !invariant.load !1"));
        let memory = self.group.threadgroup_memory.clone();
        (self.t.entry_value(format_args!("getelementptr i8, ptr {memory}, i64 {offset}")), len)
    }

    /// One more than the largest offset at which `bytes` bytes are in bounds.
    pub(super) fn limit(&mut self, place: &Place, bytes: i64) -> Opd {
        if let Opd::Int(len) = place.len {
            return Opd::Int((len - bytes + 1).max(0));
        }
        let key = (self.number(place.root), bytes);
        let known = place.root != Root::Many;
        if known && let Some(limit) = self.registers.limits.get(&key) {
            return limit.clone();
        }
        let (len, less) = (&place.len, bytes - 1);
        let texts = [format!("icmp uge i64 {len}, {bytes}"), format!("sub i64 {len}, {less}")];
        if known {
            let fits = self.t.entry_value(&texts[0]);
            let room = self.t.entry_value(&texts[1]);
            let limit = self.t.entry_value(format_args!("select i1 {fits}, i64 {room}, i64 0"));
            self.registers.limits.insert(key, limit.clone());
            return limit;
        }
        let fits = self.t.value(&texts[0]);
        let room = self.t.value(&texts[1]);
        self.t.value(format_args!("select i1 {fits}, i64 {room}, i64 0"))
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
        let less = self.t.entry_value(format_args!("icmp ult i64 {limit}, {cap}"));
        let limit = self.t.entry_value(format_args!("select i1 {less}, i64 {limit}, i64 {cap}"));
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
        if let (Opd::Int(start), Opd::Int(len)) = (start, &place.len) {
            return Opd::bool(*start >= 0 && start.saturating_add(bytes) <= *len);
        }
        if let (Opd::Int(start), Root::Argument(index)) = (start, place.root) {
            let argument = &self.shared.kernel.args[index];
            let size = i64::try_from(argument.element_size).unwrap_or(0);
            if argument.reference && *start >= 0 && start.saturating_add(bytes) <= size {
                return Opd::bool(true);
            }
        }
        let limit = self.limit(place, bytes);
        self.t.value(format_args!("icmp ult i64 {start}, {limit}"))
    }

    /// The bytes before an allocation's start that may be accessed, read where they are needed: on slow paths
    /// only. What fails a check against the length alone may still be in a buffer that is bound at an offset.
    pub(super) fn before(&mut self, place: &Place) -> Opd {
        if !self.shared.options.checks {
            return Opd::Int(UNCHECKED_BEFORE);
        }
        if !self.shared.module.whole_buffers {
            return Opd::Int(0);
        }
        match (place.root, &place.number) {
            (Root::Argument(index), _) => match self.buffer_slot(index) {
                Some(slot) => self.load_before(&Opd::Int(slot)),
                None => Opd::Int(0),
            },
            (Root::Many, Some(number)) => self.before_by_number(&number.clone()),
            _ => Opd::Int(0),
        }
    }

    /// Whether `bytes` from `start` on, which are not inside by the length alone, are in the buffer before
    /// what is bound. `None`: never.
    pub(super) fn is_before(&mut self, place: &Place, start: &Opd, bytes: i64) -> Option<Opd> {
        let before = self.before(place);
        if matches!(before, Opd::Int(_)) {
            return None;
        }
        let place_of_start = self.t.add("i64", start, &before);
        let len = self.t.add("i64", &place.len, &before);
        let place = Place { len, root: Root::Many, ..place.clone() };
        let limit = self.limit(&place, bytes);
        Some(self.t.icmp("ult", "i64", &place_of_start, &limit))
    }

    /// The slot of an enabled buffer argument.
    fn buffer_slot(&self, index: usize) -> Option<i64> {
        let kernel = self.shared.kernel;
        let slot = argument_slots(kernel)[index].filter(|_| kernel.args[index].kind == ArgKind::Buffer)?;
        Some(i64::from(slot))
    }

    fn load_before(&mut self, slot: &Opd) -> Opd {
        let launch = self.group.launch.clone();
        let field = self.t.value(format_args!("getelementptr i8, ptr {launch}, i64 {LAUNCH_BEFORE}"));
        let table = self.t.load("ptr", &field, 8);
        let entry = self.t.value(format_args!("getelementptr i64, ptr {table}, i64 {slot}"));
        self.t.load("i64", &entry, 8)
    }

    /// As [`Self::before`], of the allocation of that number.
    fn before_by_number(&mut self, number: &Opd) -> Opd {
        let (mut slot, mut is_buffer) = (Opd::Int(0), Opd::bool(false));
        for index in 0..self.shared.kernel.args.len() {
            let Some(of_argument) = self.buffer_slot(index) else { continue };
            let here = self.t.icmp("eq", "i64", number, &Opd::Int(self.number(Root::Argument(index)).into()));
            slot = self.t.select("i1", &here, "i64", &Opd::Int(of_argument), &slot);
            is_buffer = self.t.select("i1", &here, "i1", &Opd::bool(true), &is_buffer);
        }
        if slot == Opd::Int(0) && is_buffer.is_text("false") {
            return Opd::Int(0);
        }
        let before = self.load_before(&slot);
        self.t.select("i1", &is_buffer, "i64", &before, &Opd::Int(0))
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
        let (Some(pointer), Opd::Int(len)) = (address.value, &address.place.len) else { return false };
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
            Root::Null | Root::Unset | Root::Many => Opd::Int(0),
            root => {
                let code = (i64::from(self.number(root)) << 48) + BIAS;
                if !matches!(root, Root::Argument(_)) {
                    return Opd::Int(code);
                }
                let place = self.place(root);
                let bound = self.t.value(format_args!("icmp ne ptr {}, null", place.base));
                self.t.select("i1", &bound, "i64", &Opd::Int(code), &Opd::Int(0))
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
        let ty = width.of("i64");
        let code = if width == Width::One { code.clone() } else { self.t.splat("i64", code) };
        let sum = match width {
            Width::One => self.t.add("i64", &code, offsets),
            _ => self.t.value(format_args!("add {ty} {code}, {offsets}")),
        };
        if let (Opd::Int(_), Opd::Int(offset)) = (&code, offsets)
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
        let table = self.t.alloca(&format!("[{} x {{ ptr, i64 }}]", roots.len()), 16);
        for (index, root) in roots.into_iter().enumerate() {
            let place = self.place(root);
            let entry = index as i64 * TABLE_ENTRY;
            let first = self.t.entry_value(format_args!("getelementptr i8, ptr {table}, i64 {entry}"));
            let second = self.t.entry_value(format_args!("getelementptr i8, ptr {table}, i64 {}", entry + 8));
            self.t.entry_line(format_args!("store ptr {}, ptr {first}, align 8", place.base));
            self.t.entry_line(format_args!("store i64 {}, ptr {second}, align 8", place.len));
        }
        self.registers.pointer_table = Some(table.clone());
        table
    }

    /// Allocation and offset of one tagged pointer to memory that lanes share. If the access
    /// `stores`, read-only memory has length 0.
    pub(super) fn decode(&mut self, code: &Opd, stores: bool) -> (Place, Opd) {
        let table = self.table();
        let count = self.shared_allocations();
        let tag = self.t.value(format_args!("lshr i64 {code}, 48"));
        let known = self.t.value(format_args!("icmp ult i64 {tag}, {count}"));
        let number = self.t.value(format_args!("select i1 {known}, i64 {tag}, i64 0"));
        let mut entry = self.t.value(format_args!("getelementptr {{ ptr, i64 }}, ptr {table}, i64 {number}"));
        if self.loads_pointers {
            entry = self.resident_entry(&tag, &entry);
        }
        let base = self.t.load("ptr", &entry, 8);
        let second = self.t.offset(&entry, &Opd::Int(8));
        let mut len = self.t.load("i64", &second, 8);
        if self.loads_pointers {
            len = entry_len(&mut self.t, &len, stores);
        }
        let offset = self.decode_offset(Width::One, code);
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
        let field = |this: &mut Self, ty: &str, offset: i64| {
            let at = this.t.entry_value(format_args!("getelementptr i8, ptr {launch}, i64 {offset}"));
            this.t.entry_value(format_args!("load {ty}, ptr {at}, align 8, !invariant.load !1"))
        };
        let (table, count) = match &self.registers.resident_table {
            Some(known) => known.clone(),
            None => (field(self, "ptr", LAUNCH_RESIDENT), field(self, "i64", LAUNCH_RESIDENT_COUNT)),
        };
        self.registers.resident_table = Some((table.clone(), count.clone()));
        let first = self.first_resident();
        let index = self.t.value(format_args!("sub i64 {number}, {first}"));
        let exists = self.t.value(format_args!("icmp ult i64 {index}, {count}"));
        let entry = self.t.value(format_args!("getelementptr {{ ptr, i64 }}, ptr {table}, i64 {index}"));
        self.t.select("i1", &exists, "ptr", &entry, other)
    }

    /// The offset part of encoded pointers.
    pub(super) fn decode_offset(&mut self, width: Width, code: &Opd) -> Opd {
        let ty = width.of("i64");
        let low = self.t.value(format_args!("and {ty} {code}, {}", width.int("i64", OFFSET_BITS)));
        self.t.value(format_args!("sub {ty} {low}, {}", width.int("i64", BIAS)))
    }

    /// The allocation of an exposed local, by the number in a code. For any other number, such as the null
    /// pointer's, it has no bytes; loads read zeros there before they are discarded.
    pub(super) fn decode_local(&mut self, code: &Opd) -> (Place, Opd) {
        let number = self.t.value(format_args!("lshr i64 {code}, 48"));
        let (mut base, mut len) = (Opd::text(ZEROS), Opd::Int(0));
        for array in self.plan.facts.storage.arrays.clone() {
            if !self.plan.facts.storage.is_exposed(array.local) {
                continue;
            }
            let root = Root::Local(array.local);
            let place = self.place(root);
            let here = self.t.value(format_args!("icmp eq i64 {number}, {}", self.number(root)));
            base = self.t.select("i1", &here, "ptr", &place.base, &base);
            len = self.t.select("i1", &here, "i64", &place.len, &len);
        }
        let offset = self.decode_offset(Width::One, code);
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
            return if width == Width::One { disjoint } else { self.t.splat("i1", &disjoint) };
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
        let is_below = self.t.icmp("ule", "i64", &x.1, &y.0);
        let is_above = self.t.icmp("ule", "i64", &y.1, &x.0);
        self.t.value(format_args!("or i1 {is_below}, {is_above}"))
    }

    /// The first address that may be accessed through an argument, and the one after the last.
    fn accessible(&mut self, argument: Root) -> (Opd, Opd) {
        let place = self.place(argument);
        let start = self.t.value(format_args!("ptrtoint ptr {} to i64", place.base));
        let end = self.t.add("i64", &start, &place.len);
        // Without checks every access is within the binding.
        let before = if self.shared.options.checks { self.before(&place) } else { Opd::Int(0) };
        (self.t.sub("i64", &start, &before), end)
    }

    /// Something that orders and equals as the address does.
    fn address_bits(&mut self, value: Value, width: Width, lane: Option<usize>) -> Opd {
        let root = self.plan.facts.storage.pointer(value).root;
        let is_thread = self.plan.facts.function.pointer_space(value) == anymetal_ir::Space::Thread;
        if self.loads_pointers && !is_thread {
            // One buffer may have two numbers.
            return match lane {
                Some(lane) => self.addressed(value).at(&mut self.t, "i64", lane),
                None => self.addressed_vector(value),
            };
        }
        if is_thread || root == Root::Many && width == Width::All {
            return match lane {
                Some(lane) => self.encoded(value).at(&mut self.t, "i64", lane),
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
                let null = self.t.value(format_args!("icmp eq ptr {}, null", place.base));
                (place.base, self.t.select("i1", &null, "i64", &Opd::Int(0), &offset))
            }
            root => (self.place(root).base, offset),
        };
        let base = match base.is_text("null") {
            true => Opd::Int(0),
            false => self.t.value(format_args!("ptrtoint ptr {base} to i64")),
        };
        match width {
            Width::One => self.t.add("i64", &base, &offset),
            _ => {
                let base = self.t.splat("i64", &base);
                self.t.value(format_args!("add {} {base}, {offset}", width.of("i64")))
            }
        }
    }
}
