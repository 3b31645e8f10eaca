//! Pointers in memory: addresses where data can be, tagged pointers in slots and registers.
//!
//! Invariant: bits that may be data become a pointer only by [`Emitter::loaded_pointers`], which admits
//! what a pointer to the space may point to: to device memory a resident buffer of the launch, found by its
//! address; to constant memory also the kernel's constant data; to threadgroup memory the threadgroup's
//! variables; to thread memory the thread's locals. The table of resident buffers is constant during a
//! launch, so the search is a function of its arguments alone, which LLVM may hoist. Only kernels that load
//! pointers have any of this ([`anymetal_analysis::function_loads_pointers`]).

use anymetal_abi::offsets::{LAUNCH_RESIDENT, LAUNCH_RESIDENT_COUNT, TABLE_ENTRY};
use anymetal_abi::resident::{ADDRESS_BITS, DANGLING};
use anymetal_ir::{ArgKind, Space, Type, Value};

use super::Emitter;
use super::lane::{Lane, Width};
use super::out_of_line::Helper;
use crate::llvm::{I64, IntPredicate, Opd};
use crate::tagged::{self, BIAS, OFFSET_BITS, Search};
use anymetal_analysis::divergence::transfer::addressed;
use anymetal_analysis::divergence::{Affine, Shape};
use anymetal_simd::storage::Root;

/// The text of [`Helper::Pointer`].
pub(super) fn pointer() -> String {
    let start = format!(
        "  %table.p = getelementptr i8, ptr %launch, i64 {LAUNCH_RESIDENT}
  %table = load ptr, ptr %table.p, align 8
  %count.p = getelementptr i8, ptr %launch, i64 {LAUNCH_RESIDENT_COUNT}
  %count = load i64, ptr %count.p, align 8
"
    );
    tagged::search(Search { parameters: "ptr %launch", start: &start, pointer: "ptr", invariant: "" })
}

/// The text of [`Helper::Address`]: the eight bytes in a buffer of a tagged pointer. Those of allocations
/// without an address stay as they are. Buffers have the numbers below `%arguments` and from `%first` on.
pub(super) fn address() -> String {
    format!(
        "define internal i64 @am.address(ptr %table, i64 %arguments, ptr %launch, i64 %first, i64 %code) noinline nounwind willreturn memory(read) {{
entry:
  %number = lshr i64 %code, {ADDRESS_BITS}
  %low = and i64 %code, {OFFSET_BITS}
  %offset = sub i64 %low, {BIAS}
  %is.null = icmp eq i64 %number, 0
  br i1 %is.null, label %plain, label %known
known:
  %is.argument = icmp ult i64 %number, %arguments
  br i1 %is.argument, label %argument, label %resident
argument:
  %own.at = mul i64 %number, {TABLE_ENTRY}
  %own.p = getelementptr i8, ptr %table, i64 %own.at
  br label %based
resident:
  %count.p = getelementptr i8, ptr %launch, i64 {LAUNCH_RESIDENT_COUNT}
  %count = load i64, ptr %count.p, align 8
  %index = sub i64 %number, %first
  %is.resident = icmp ult i64 %index, %count
  br i1 %is.resident, label %entry.of, label %other
entry.of:
  %entries.p = getelementptr i8, ptr %launch, i64 {LAUNCH_RESIDENT}
  %entries = load ptr, ptr %entries.p, align 8
  %at = mul i64 %index, {TABLE_ENTRY}
  %entry.p = getelementptr i8, ptr %entries, i64 %at
  br label %based
based:
  %p = phi ptr [ %own.p, %argument ], [ %entry.p, %entry.of ]
  %base = load i64, ptr %p, align 8
  %address = add i64 %base, %offset
  br label %ends
other:
  %is.dangling = icmp eq i64 %number, {DANGLING}
  br i1 %is.dangling, label %ends, label %plain
ends:
  %result = phi i64 [ %address, %based ], [ %offset, %other ]
  %high = lshr i64 %result, {ADDRESS_BITS}
  %is.address = icmp eq i64 %high, 0
  br i1 %is.address, label %done, label %plain
done:
  ret i64 %result
plain:
  ret i64 %code
}}
"
    )
}

/// The text of a helper that calls another for each lane; `extra` are the parameters before the lane's.
fn each_lane(name: &str, of: &str, parameters: &str, arguments: &str) -> String {
    format!(
        "define internal <32 x i64> @{name}({parameters}, <32 x i64> %all) noinline nounwind {{
entry:
  br label %loop
loop: ; lanes <= 32
  %lane = phi i64 [ 0, %entry ], [ %next, %loop ]
  %result = phi <32 x i64> [ %all, %entry ], [ %with, %loop ]
  %one = extractelement <32 x i64> %all, i64 %lane
  %changed = call i64 @{of}({arguments}, i64 %one)
  %with = insertelement <32 x i64> %result, i64 %changed, i64 %lane
  %next = add i64 %lane, 1
  %more = icmp ult i64 %next, 32
  br i1 %more, label %loop, label %done
done:
  ret <32 x i64> %with
}}
"
    )
}

/// The text of [`Helper::Pointers`].
pub(super) fn pointers() -> String {
    let parameters = "ptr %launch, i64 %constants, i64 %constants.count, i64 %first";
    each_lane("am.pointers", "am.pointer", parameters, parameters)
}

/// The text of [`Helper::Addresses`].
pub(super) fn addresses() -> String {
    let parameters = "ptr %table, i64 %arguments, ptr %launch, i64 %first";
    each_lane("am.addresses", "am.address", parameters, parameters)
}

impl Emitter<'_, '_> {
    /// Whether the value is a pointer that is an address in memory.
    fn has_address(&self, pointer: Value) -> bool {
        matches!(self.plan.facts.function.ty(pointer), Type::Ptr(Space::Device | Space::Constant))
    }

    /// The number of the first resident buffer: beyond all allocations of the kernel, its locals too.
    pub(super) fn first_resident(&self) -> usize {
        self.shared_allocations() + self.plan.facts.function.locals.len()
    }

    /// A pointer from its bits, which may be data.
    pub(super) fn loaded_pointer(&mut self, pointer: Value, bits: &Lane) -> Lane {
        let space = self.plan.facts.function.pointer_space(pointer);
        self.loaded_pointers(space, bits)
    }

    /// Tagged pointers to a space from bits that may be data.
    pub(super) fn loaded_pointers(&mut self, space: Space, bits: &Lane) -> Lane {
        match space {
            Space::Device => self.resident_pointers(0, bits),
            Space::Constant => self.resident_pointers(self.shared.module.globals.len(), bits),
            Space::Threadgroup => self.threadgroup_pointers(bits),
            // Only locals are decoded.
            Space::Thread => bits.clone(),
        }
    }

    /// Of addresses; `constants` constant data may be named by their tags.
    fn resident_pointers(&mut self, constants: usize, bits: &Lane) -> Lane {
        let (launch, first) = (self.group.launch.clone(), self.first_resident());
        let globals = self.shared_allocations() - self.shared.module.globals.len();
        let given = [launch, Opd::i64(globals as i64), Opd::i64(constants as i64), Opd::i64(first as i64)];
        if bits.is_uniform() {
            let bits = bits.at(&mut self.t, I64, 0);
            if matches!(bits, Opd::Int(_, 0)) {
                return Lane::known(Affine::known([0; 32]));
            }
            self.need(Helper::Pointer);
            return Lane::uniform(self.t.call(I64, "am.pointer", &with_last(&given, &bits)));
        }
        self.need(Helper::Pointers);
        let bits = bits.vector(&mut self.t, I64);
        Lane::Varying(self.t.call(I64.lanes(), "am.pointers", &with_last(&given, &bits)))
    }

    /// Tags of threadgroup memory as they are; null of others.
    fn threadgroup_pointers(&mut self, bits: &Lane) -> Lane {
        let (module, kernel) = (self.shared.module, self.shared.kernel);
        let arguments = kernel.args.iter().enumerate();
        let arguments = arguments.filter(|(_, argument)| argument.kind == ArgKind::ThreadgroupMemory);
        let mut numbers: Vec<usize> = arguments.map(|(index, _)| 1 + index).collect();
        numbers.extend((0..module.threadgroup_vars.len()).map(|var| 1 + kernel.args.len() + var));
        let (width, bits) = match bits.is_uniform() {
            true => (Width::One, bits.at(&mut self.t, I64, 0)),
            false => (Width::All, bits.vector(&mut self.t, I64)),
        };
        let number = self.t.lshr(&bits, i64::from(ADDRESS_BITS));
        let mut known = width.constant(&Opd::bool(false));
        for own in numbers {
            let is_own = self.t.icmp(IntPredicate::Eq, &number, own as i64);
            known = self.t.or(&known, &is_own);
        }
        let pointer = self.t.select(&known, &bits, 0);
        if width == Width::One { Lane::uniform(pointer) } else { Lane::Varying(pointer) }
    }

    /// As [`Self::loaded_pointers`], of all lanes, for a pointer value.
    pub(super) fn loaded_vector(&mut self, pointer: Value, bits: Opd) -> Opd {
        let lane = self.loaded_pointer(pointer, &Lane::Varying(bits));
        lane.vector(&mut self.t, I64)
    }

    /// The eight bytes of a pointer in a buffer or as an integer.
    pub(super) fn addressed(&mut self, value: Value) -> Lane {
        if !self.has_address(value) {
            return self.encoded(value);
        }
        let base = match self.plan.facts.storage.pointer(value).root {
            Root::Many => {
                let codes = self.lane(value, 0);
                return self.addresses(&codes);
            }
            Root::Argument(index) => self.argument_address(index),
            _ => return self.encoded(value),
        };
        match (self.lane(value, 0), addressed(&self.shape(value, 0))) {
            (Lane::Affine { assumption, .. }, Shape::Affine(shape)) => {
                let step = shape.segment_len();
                let mut bases = Vec::new();
                for segment in 0..shape.segments {
                    let offset = self.at(value, 0, segment * step);
                    bases.push(self.t.add(&offset, &base));
                }
                Lane::Affine { bases, shape, assumption }
            }
            _ => Lane::Varying(self.offsets_plus(value, &base)),
        }
    }

    /// As [`Self::addressed`], in all lanes, whatever the pointer's shape.
    pub(super) fn addressed_vector(&mut self, value: Value) -> Opd {
        if !self.has_address(value) {
            return self.encoded_vector(value);
        }
        let offsets = self.vector(value, 0);
        match self.plan.facts.storage.pointer(value).root {
            Root::Many => self.addresses(&Lane::Varying(offsets)).vector(&mut self.t, I64),
            Root::Argument(index) => {
                let base = self.argument_address(index);
                self.offsets_plus(value, &base)
            }
            _ => self.encoded_vector(value),
        }
    }

    /// The eight bytes of a pointer in the memory at an address.
    pub(super) fn stored_pointer(&mut self, at: Value, value: Value) -> Lane {
        let lane = match self.plan.facts.storage.is_slot(at) {
            true => self.encoded(value),
            false => self.addressed(value),
        };
        match lane {
            Lane::Affine { shape, .. } if shape.is_assumed() => Lane::Varying(self.addressed_vector(value)),
            lane => lane,
        }
    }

    /// What a pointer that was loaded from an address is kept as: tagged, or the offset from its root.
    pub(super) fn pointer_in(&mut self, at: Value, result: Value, bits: &Lane) -> Lane {
        let is_slot = self.plan.facts.storage.is_slot(at);
        match self.plan.facts.storage.pointer(result).root {
            Root::Many if is_slot => bits.clone(),
            Root::Many => self.loaded_pointer(result, bits),
            root if is_slot => {
                let code = self.code_of_root(root);
                self.minus(bits, &code)
            }
            root => self.offset_from(root, bits),
        }
    }

    /// The offsets from a root that pointers have whose bits are not in a slot.
    pub(super) fn offset_from(&mut self, root: Root, bits: &Lane) -> Lane {
        let base = self.bits_of_root(root);
        self.minus(bits, &base)
    }

    /// The bits of pointers at these offsets from a root, outside of slots.
    pub(super) fn bits_at(&mut self, root: Root, offsets: &Lane) -> Lane {
        let base = self.bits_of_root(root);
        let is_address = matches!(root, Root::Argument(index) if self.is_buffer(index));
        let (width, offset) = match offsets.is_uniform() {
            true => (Width::One, offsets.at(&mut self.t, I64, 0)),
            false => (Width::All, offsets.vector(&mut self.t, I64)),
        };
        let bits = match (is_address, width) {
            (true, Width::One) => self.t.add(&offset, &base),
            (true, _) => {
                let base = self.t.splat(&base);
                self.t.add(&offset, &base)
            }
            (false, _) => self.tagged(width, &base, &offset),
        };
        if width == Width::One { Lane::uniform(bits) } else { Lane::Varying(bits) }
    }

    /// The bits of a pointer to a root's first byte, outside of slots.
    fn bits_of_root(&mut self, root: Root) -> Opd {
        match root {
            Root::Argument(index) if self.is_buffer(index) => self.argument_address(index),
            root => self.code_of_root(root),
        }
    }

    fn is_buffer(&self, argument: usize) -> bool {
        self.shared.kernel.args[argument].kind == ArgKind::Buffer
    }

    fn minus(&mut self, bits: &Lane, base: &Opd) -> Lane {
        if matches!(base, Opd::Int(_, 0)) {
            return bits.clone();
        }
        let base = self.t.splat(base);
        let all = bits.vector(&mut self.t, I64);
        Lane::Varying(self.t.sub(&all, &base))
    }

    /// The address of the first byte that is bound at a buffer argument; 0 if nothing is.
    fn argument_address(&mut self, index: usize) -> Opd {
        let base = self.place(Root::Argument(index)).base;
        if base.is_null() {
            return Opd::i64(0);
        }
        self.t.address_of(&base)
    }

    fn offsets_plus(&mut self, value: Value, base: &Opd) -> Opd {
        let offsets = self.vector(value, 0);
        let base = self.t.splat(base);
        self.t.add(&offsets, &base)
    }

    /// The eight bytes in a buffer of tagged pointers.
    pub(super) fn addresses(&mut self, codes: &Lane) -> Lane {
        let table = self.table();
        let arguments = 1 + self
            .shared
            .kernel
            .args
            .iter()
            .rposition(|arg| arg.kind == ArgKind::Buffer)
            .map_or(0, |last| last + 1);
        let (launch, first) = (self.group.launch.clone(), self.first_resident());
        let given = [table, Opd::i64(arguments as i64), launch, Opd::i64(first as i64)];
        if codes.is_uniform() {
            self.need(Helper::Address);
            let code = codes.at(&mut self.t, I64, 0);
            return Lane::uniform(self.t.call(I64, "am.address", &with_last(&given, &code)));
        }
        self.need(Helper::Addresses);
        let codes = codes.vector(&mut self.t, I64);
        Lane::Varying(self.t.call(I64.lanes(), "am.addresses", &with_last(&given, &codes)))
    }
}

/// The arguments of a call, the last apart.
fn with_last<'o>(given: &'o [Opd], last: &'o Opd) -> Vec<&'o Opd> {
    given.iter().chain([last]).collect()
}
