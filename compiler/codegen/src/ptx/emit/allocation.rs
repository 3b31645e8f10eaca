//! Allocations: bases, lengths, bounds checks, and tagged pointers.
//!
//! A pointer whose allocation is known only at run time is *tagged* ([`crate::tagged`]), as on the CPU. Its
//! candidates are the allocations of its address space, and the resident buffers where the kernel loads
//! pointers (`loaded_pointers`).

use std::collections::BTreeMap;

use anymetal_abi::AccessKind;
use anymetal_ir::{ArgKind, CastOp, Local, Op, Scalar, Space, Type, Value, ValueDef};

use super::Emitter;
use crate::elementwise::Width;
use crate::llvm::{self, Binary, GLOBAL, I8, I32, I64, IntPredicate, Opd, PTR, SHARED};
use crate::tagged::{BIAS, LARGEST_OFFSET, OFFSET_BITS, saturated_forward};
use anymetal_analysis::ranges::offset_bound;
use anymetal_analysis::roots::Root;

/// An allocation.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) base: Opd,
    /// Bytes, 64 bits.
    pub(super) len: Opd,
    pub(super) root: Root,
}

/// An address: allocation and offset.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) place: Place,
    pub(super) offset: Opd,
    /// The pointer that it is the address of, and the bytes further on.
    pub(super) pointer: Value,
    pub(super) extra: i64,
    /// What was added to the pointer's offset at run time.
    pub(super) added: Added,
}

/// What was added to an offset at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Added {
    Nothing,
    /// At most so many bytes, a multiple of the alignment, a power of two.
    AtMost {
        bytes: u64,
        align: u32,
    },
    Anything,
}

/// An address as one index: `index × scale + constant`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Indexed {
    index: Value,
    signed: bool,
    scale: u32,
    constant: i64,
}

/// Allocations and what is computed of them once.
#[derive(Debug, Default)]
pub(super) struct Places {
    bases: BTreeMap<usize, Opd>,
    lengths: BTreeMap<usize, Opd>,
    known: BTreeMap<i64, Place>,
    limits: BTreeMap<(i64, i64), Opd>,
    counts: BTreeMap<(i64, i64, u32, bool), (Opd, Opd)>,
}

impl Places {
    /// The first byte of a buffer argument, if it has a parameter.
    pub(super) fn base(&self, argument: usize) -> Option<Opd> {
        self.bases.get(&argument).cloned()
    }

    pub(super) fn set_base(&mut self, argument: Option<usize>, base: Opd) {
        argument.map(|argument| self.bases.insert(argument, base));
    }

    pub(super) fn set_length(&mut self, argument: Option<usize>, length: Opd) {
        argument.map(|argument| self.lengths.insert(argument, length));
    }
}

impl Emitter<'_> {
    /// The number of an allocation.
    fn number(&self, root: Root) -> i64 {
        let arguments = self.input.kernel.args.len() as i64;
        let variables = arguments + self.input.module.threadgroup_vars.len() as i64;
        let globals = variables + self.input.module.globals.len() as i64;
        1 + match root {
            Root::Unset | Root::Null | Root::Many => -1,
            Root::Argument(index) => index as i64,
            Root::Threadgroup(var) => arguments + i64::from(var.0),
            Root::Global(global) => variables + i64::from(global.0),
            Root::Local(local) => globals + i64::from(local.0),
        }
    }

    /// The allocation of a pointer with a known one; `space` is the pointer's.
    pub(super) fn place(&mut self, root: Root, space: Space) -> Place {
        if matches!(root, Root::Unset | Root::Null | Root::Many) {
            return Place { base: Opd::zero(pointer_type(space)), len: Opd::i64(0), root };
        }
        let number = self.number(root);
        if let Some(place) = self.places.known.get(&number) {
            return place.clone();
        }
        let place = self.new_place(root);
        self.places.known.insert(number, place.clone());
        place
    }

    fn new_place(&mut self, root: Root) -> Place {
        let module = self.input.module;
        let (base, len) = match root {
            Root::Argument(index) => return self.argument_place(index),
            Root::Threadgroup(var) => {
                let size = module.threadgroup_vars[var.index()].size;
                (Self::symbol(SHARED, format!("threadgroup.{}", var.0)), size as i64)
            }
            Root::Global(global) => {
                let size = module.globals[global.index()].bytes.len();
                (Self::symbol(GLOBAL, format!("global.{}", global.0)), size as i64)
            }
            Root::Local(local) => {
                let data = &self.input.function.locals[local.index()];
                let base = self.t.alloca_array(data.size, I8, data.align.max(1));
                (base, data.size as i64)
            }
            Root::Unset | Root::Null | Root::Many => {
                return Place { base: Opd::zero(GLOBAL), len: Opd::i64(0), root };
            }
        };
        Place { base, len: Opd::i64(len), root }
    }

    fn argument_place(&mut self, index: usize) -> Place {
        let argument = &self.input.kernel.args[index];
        let root = Root::Argument(index);
        let (base, len) = (self.places.bases.get(&index).cloned(), self.places.lengths.get(&index).cloned());
        let (Some(base), Some(len)) = (base, len) else {
            // A disabled argument has no parameter: it is the null pointer.
            return Place { base: Opd::zero(pointer_type(argument.space)), len: Opd::i64(0), root };
        };
        match argument.kind {
            ArgKind::Buffer => Place { base, len, root },
            ArgKind::ThreadgroupMemory => {
                let memory = Opd::constant(SHARED, "@am_dynamic");
                let base = self.t.in_entry(|t| t.address(I8, &memory, &base));
                let len = self.t.in_entry(|t| t.zext(&len, I64));
                Place { base, len, root }
            }
        }
    }

    /// What a pointer points to, for an access.
    pub(super) fn address(&mut self, pointer: Value, kind: AccessKind) -> Address {
        let Type::Ptr(space) = self.ty(pointer) else { unreachable!("the verifier lets only pointers here") };
        let offset = self.one(pointer);
        let (place, offset) = match self.root(pointer) {
            Root::Many => self.decode(&offset, space, kind != AccessKind::Load),
            root => (self.place(root, space), offset),
        };
        Address { place, offset, pointer, extra: 0, added: Added::Nothing }
    }

    /// The place in memory.
    pub(super) fn at(&mut self, address: &Address) -> Opd {
        let start = self.start(address);
        self.t.offset(&address.place.base, &start)
    }

    /// The offset with what is added to it.
    pub(super) fn start(&mut self, address: &Address) -> Opd {
        self.t.add(&address.offset, address.extra)
    }

    // --- checks

    /// Whether `bytes` bytes at the address are in bounds and aligned, as `i1`.
    pub(super) fn is_valid(&mut self, address: &Address, bytes: u32, align: u32) -> Opd {
        let unchecked = !self.input.options.checks || self.version.is_in_bounds();
        if unchecked && !matches!(address.place.root, Root::Null | Root::Unset) {
            return Opd::bool(true);
        }
        let inside = self.is_inside(address, i64::from(bytes));
        if inside.is_false() {
            return inside;
        }
        match self.unproved_alignment(address, align) {
            None => inside,
            Some((aligned, _)) => self.t.and(&inside, &aligned),
        }
    }

    /// The bytes that an address is known to be a multiple of.
    pub(super) fn known_alignment(&self, address: &Address) -> u32 {
        let known = match (address.place.root, address.added) {
            (Root::Many, _) | (_, Added::Anything) => 1,
            (_, Added::AtMost { align, .. }) => self.facts.alignment.of_pointer(address.pointer).min(align),
            (_, Added::Nothing) => self.facts.alignment.of_pointer(address.pointer),
        };
        known.min(1 << address.extra.trailing_zeros().min(8))
    }

    /// Whether an access is aligned, as `i1`, and the alignment that it has in any case; `None` if it is
    /// known to be aligned, or nothing is checked.
    pub(super) fn unproved_alignment(&mut self, address: &Address, align: u32) -> Option<(Opd, u32)> {
        if !self.input.options.checks {
            return None;
        }
        let align = align.clamp(1, 16);
        let known = self.known_alignment(address);
        if known >= align {
            return None;
        }
        let start = self.start(address);
        let position = if self.alignment_of_base(address.place.root) >= align {
            start
        } else {
            let base = self.t.address_of(&address.place.base);
            self.t.add(&base, &start)
        };
        let low = self.t.and(&position, i64::from(align) - 1);
        Some((self.t.icmp(IntPredicate::Eq, &low, 0), known))
    }

    /// Bytes that the first byte of an allocation is aligned to.
    fn alignment_of_base(&self, root: Root) -> u32 {
        match root {
            Root::Argument(index) => self.facts.alignment.of_argument(index),
            Root::Local(local) => self.input.function.locals[local.index()].align.max(1),
            // As they are emitted.
            Root::Threadgroup(_) | Root::Global(_) => 16,
            Root::Unset | Root::Null | Root::Many => 1,
        }
    }

    fn is_inside(&mut self, address: &Address, bytes: i64) -> Opd {
        let place = &address.place;
        if let (Opd::Int(_, offset), Opd::Int(_, len)) = (&address.offset, &place.len) {
            let start = offset.saturating_add(address.extra);
            return Opd::bool(start >= 0 && start.saturating_add(bytes) <= *len);
        }
        if let Opd::Int(_, offset) = &address.offset {
            let start = offset.saturating_add(address.extra);
            if start >= 0 && start.saturating_add(bytes) <= self.bound_bytes(place.root) {
                return Opd::bool(true);
            }
        }
        let added = match address.added {
            Added::Nothing => Some(0),
            Added::AtMost { bytes, .. } => Some(bytes),
            Added::Anything => None,
        };
        if let (Opd::Int(_, len), Some(added), true) = (&place.len, added, place.root != Root::Many) {
            let bound = self.bound_of_offset(address.pointer);
            let end = bound.and_then(|bound| {
                let start = bound.checked_add(u64::try_from(address.extra).ok()?)?.checked_add(added)?;
                start.checked_add(bytes as u64)
            });
            if end.is_some_and(|end| end <= *len as u64) {
                return Opd::bool(true);
            }
        }
        if let Some(indexed) = self.indexed(address) {
            return self.is_index_inside(address, indexed, bytes);
        }
        let start = self.start(address);
        let limit = self.limit(place, bytes);
        self.t.icmp(IntPredicate::ULt, &start, &limit)
    }

    /// The largest offset that a pointer into a variable can have.
    fn bound_of_offset(&self, pointer: Value) -> Option<u64> {
        let known = self.facts.loop_forms.counter_bounds();
        offset_bound(self.input.function, self.facts.geometry, known, pointer)
    }

    /// The address as a 32-bit index into its allocation.
    fn indexed(&self, address: &Address) -> Option<Indexed> {
        if address.place.root == Root::Many || address.added != Added::Nothing {
            return None;
        }
        let function = self.input.function;
        let mut constant = address.extra;
        let mut found: Option<(Value, u32)> = None;
        let mut pointer = address.pointer;
        loop {
            let inst = match function.values[pointer.index()].def {
                ValueDef::Param(_) => break,
                // Its offset is only known at run time.
                ValueDef::LoopParam(..) | ValueDef::Result(..) => return None,
                ValueDef::Inst(inst) => inst,
            };
            match &function.inst(inst).op {
                Op::PtrAdd { base, index, scale, offset } => {
                    constant = constant.checked_add(*offset)?;
                    if let Some(index) = index
                        && found.replace((*index, *scale)).is_some()
                    {
                        return None;
                    }
                    pointer = *base;
                }
                Op::ThreadgroupAddr(_) | Op::GlobalAddr(_) | Op::LocalAddr(_) => break,
                _ => return None,
            }
        }
        let (wide, scale) = found?;
        let Some(Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), index)) = function.def(wide) else {
            return None;
        };
        let is_narrow = function.ty(*index) == Type::Scalar(Scalar::I32);
        let fits = scale > 0 && (0..1 << 31).contains(&constant);
        let signed = *cast == CastOp::SExt;
        // Of signed indices those below 0 may be valid, down to the constant.
        let counts = !signed || constant % i64::from(scale.max(1)) == 0;
        (is_narrow && fits && counts).then_some(Indexed { index: *index, signed, scale, constant })
    }

    /// Compares the index with the number of valid ones. To a signed one what the constant adds is added
    /// first: a sum below 0 is a large unsigned number then, above 2^31, at which the number of signed ones
    /// ends. (An index that only the constant brings above 2^31 elements is refused.)
    fn is_index_inside(&mut self, address: &Address, indexed: Indexed, bytes: i64) -> Opd {
        let Indexed { index, signed, scale, constant } = indexed;
        let (mut index, mut need) = (self.one(index), bytes);
        if signed {
            index = self.t.add(&index, constant / i64::from(scale));
        } else {
            need += constant;
        }
        let (count, all) = self.count(&address.place, need, scale, signed);
        let below = self.t.icmp(IntPredicate::ULt, &index, &count);
        if all.is_false() { below } else { self.t.or(&below, &all) }
    }

    /// The number of valid indices, for accesses that end `need` bytes after `index × scale`; and whether all
    /// that there are are valid.
    fn count(&mut self, place: &Place, need: i64, scale: u32, signed: bool) -> (Opd, Opd) {
        let most: i64 = if signed { 1 << 31 } else { i64::from(u32::MAX) };
        if let Opd::Int(_, len) = place.len {
            let count = if len >= need { (len - need) / i64::from(scale) + 1 } else { 0 };
            let all = !signed && count > most;
            return (Opd::i32(i64::from(count.min(most) as u32 as i32)), Opd::bool(all));
        }
        let key = (self.number(place.root), need, scale, signed);
        if let Some(known) = self.places.counts.get(&key) {
            return known.clone();
        }
        let (t, len) = (&mut self.t, &place.len);
        let fits = t.in_entry(|t| t.icmp(IntPredicate::UGe, len, need));
        let room = t.in_entry(|t| t.sub(len, need));
        let quotient = t.in_entry(|t| t.udiv(&room, i64::from(scale)));
        let more = t.in_entry(|t| t.add(&quotient, 1));
        let count = t.in_entry(|t| t.select(&fits, &more, 0));
        let beyond = t.in_entry(|t| t.icmp(IntPredicate::UGt, &count, most));
        let capped = t.in_entry(|t| t.select(&beyond, &Opd::int(I64, most), &count));
        let narrow = t.in_entry(|t| t.trunc(&capped, I32));
        // Signed indices end there anyway.
        let known = (narrow, if signed { Opd::bool(false) } else { beyond });
        self.places.counts.insert(key, known.clone());
        known
    }

    /// One more than the largest offset at which `bytes` bytes are in bounds.
    fn limit(&mut self, place: &Place, bytes: i64) -> Opd {
        if let Opd::Int(_, len) = place.len {
            return Opd::i64((len - bytes + 1).max(0));
        }
        let (len, less) = (&place.len, bytes - 1);
        if place.root == Root::Many {
            let fits = self.t.icmp(IntPredicate::UGe, len, bytes);
            let room = self.t.binary(Binary::Sub, len, less);
            return self.t.select(&fits, &room, 0);
        }
        let key = (self.number(place.root), bytes);
        if let Some(limit) = self.places.limits.get(&key) {
            return limit.clone();
        }
        let fits = self.t.in_entry(|t| t.icmp(IntPredicate::UGe, len, bytes));
        let room = self.t.in_entry(|t| t.binary(Binary::Sub, len, less));
        let limit = self.t.in_entry(|t| t.select(&fits, &room, 0));
        self.places.limits.insert(key, limit.clone());
        limit
    }

    // --- tagged pointers

    /// The pointer as it is kept in slots and where its allocation is not known.
    pub(super) fn tagged(&mut self, pointer: Value) -> Opd {
        let offset = self.one(pointer);
        match self.root(pointer) {
            Root::Many => offset,
            root => {
                let code = self.code_of_root(root);
                let sum = self.t.add(&code, &offset);
                match (&code, &offset) {
                    (Opd::Int(_, _), Opd::Int(_, offset)) if (0..=LARGEST_OFFSET).contains(offset) => sum,
                    // The first byte's code is not saturated.
                    _ => saturated_forward(&mut self.t, Width::One, &code, &sum),
                }
            }
        }
    }

    /// The tagged pointer to the first byte of an allocation; null of an argument that nothing is bound to.
    fn code_of_root(&mut self, root: Root) -> Opd {
        let code = Opd::i64((self.number(root) << 48) + BIAS);
        match root {
            Root::Null | Root::Unset | Root::Many => Opd::i64(0),
            Root::Argument(_) => {
                let place = self.place(root, Space::Device);
                if place.base.is_null() {
                    return Opd::i64(0);
                }
                if place.base.ty() != GLOBAL {
                    return code;
                }
                let bound = self.t.icmp(IntPredicate::Ne, &place.base, &Opd::zero(GLOBAL));
                self.t.select(&bound, &code, 0)
            }
            Root::Threadgroup(_) | Root::Global(_) | Root::Local(_) => code,
        }
    }

    /// The pointer in the form that its allocation asks for, from bits in a slot.
    pub(super) fn from_tagged(&mut self, tagged: Opd, root: Root) -> Opd {
        match root {
            Root::Many => tagged,
            Root::Null | Root::Unset => tagged,
            _ => self.untagged_offset(&tagged),
        }
    }

    fn untagged_offset(&mut self, tagged: &Opd) -> Opd {
        let low = self.t.and(tagged, OFFSET_BITS);
        self.t.sub(&low, BIAS)
    }

    /// Allocation and offset of a tagged pointer for an access, which `stores`.
    pub(super) fn decode(&mut self, tagged: &Opd, space: Space, stores: bool) -> (Place, Opd) {
        let number = self.t.lshr(tagged, 48);
        let (mut base, mut len) = (Opd::zero(pointer_type(space)), Opd::i64(0));
        for root in self.candidates(space) {
            let place = self.place(root, space);
            if place.base.is_null() {
                continue;
            }
            let is_it = self.t.icmp(IntPredicate::Eq, &number, self.number(root));
            base = self.t.select(&is_it, &place.base, &base);
            len = self.t.select(&is_it, &place.len, &len);
        }
        if matches!(space, Space::Device | Space::Constant) {
            (base, len) = self.resident_place(&number, (base, len), stores);
        }
        let offset = self.untagged_offset(tagged);
        (Place { base, len, root: Root::Many }, offset)
    }

    /// The allocations that pointers of a space can have.
    fn candidates(&self, space: Space) -> Vec<Root> {
        let arguments = || {
            let args = self.input.kernel.args.iter().enumerate();
            args.filter(|(_, arg)| arg.enabled && arg.space == space).map(|(at, _)| Root::Argument(at))
        };
        let module = self.input.module;
        match space {
            Space::Device => arguments().collect(),
            Space::Constant => {
                let globals =
                    (0..module.globals.len()).map(|at| Root::Global(anymetal_ir::GlobalId(at as u32)));
                arguments().chain(globals).collect()
            }
            Space::Threadgroup => {
                let count = module.threadgroup_vars.len();
                let vars = (0..count).map(|at| Root::Threadgroup(anymetal_ir::ThreadgroupId(at as u32)));
                arguments().chain(vars).collect()
            }
            Space::Thread => {
                (0..self.input.function.locals.len()).map(|at| Root::Local(Local(at as u32))).collect()
            }
        }
    }

    /// Whether no byte can be accessed through both pointers, as `i1`; false unless both are made of
    /// arguments.
    pub(super) fn are_disjoint(&mut self, a: Value, b: Value) -> Opd {
        let roots = [a, b].map(|pointer| self.root(pointer));
        let [Root::Argument(_), Root::Argument(_)] = roots else { return Opd::bool(false) };
        let [x, y] = roots.map(|root| {
            let Place { base, len, .. } = self.place(root, Space::Device);
            let start = self.t.address_of(&base);
            let end = self.t.add(&start, &len);
            (start, end)
        });
        let is_below = self.t.icmp(IntPredicate::ULe, &x.1, &y.0);
        let is_above = self.t.icmp(IntPredicate::ULe, &y.1, &x.0);
        self.t.or(&is_below, &is_above)
    }

    /// Something that orders and equals as addresses of the pointers' spaces do.
    pub(super) fn address_bits(&mut self, pointer: Value) -> Opd {
        if self.ty(pointer) == Type::Ptr(Space::Thread) {
            return self.tagged(pointer);
        }
        let Address { place, offset, .. } = self.address(pointer, AccessKind::Load);
        if place.base.is_null() {
            return offset;
        }
        let bits = self.t.address_of(&place.base);
        let sum = self.t.add(&bits, &offset);
        if place.root != Root::Many {
            return sum;
        }
        // A null pointer has no offset; threadgroup memory has a valid address 0, which no pointer is equal
        // to by chance as long as it is told by its length.
        let tagged = self.one(pointer);
        let number = self.t.lshr(&tagged, 48);
        let null = self.t.icmp(IntPredicate::Eq, &number, 0);
        self.t.select(&null, &tagged, &sum)
    }
}

/// LLVM's type of pointers to a space. Constant data lies in global memory; thread memory is generic.
pub(super) fn pointer_type(space: Space) -> llvm::Type {
    match space {
        Space::Device | Space::Constant => GLOBAL,
        Space::Threadgroup => SHARED,
        Space::Thread => PTR,
    }
}
