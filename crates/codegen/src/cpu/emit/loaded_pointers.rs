//! Pointers that memory holds: addresses when they are stored to buffers, tagged pointers once they are
//! loaded.
//!
//! A loaded address is looked up in the launch's table of resident buffers, and gets a number beyond those of
//! the kernel's own allocations. The table is constant during a launch, so the lookup is a function of its
//! arguments alone, which LLVM may hoist. Only kernels that load pointers have any of this
//! ([`anymetal_ir::analysis::function_loads_pointers`]).

use anymetal_ir::{ArgKind, Space, Type, Value};
use anymetal_launch_abi::offsets::{LAUNCH_RESIDENT, LAUNCH_RESIDENT_COUNT, TABLE_ENTRY};
use anymetal_launch_abi::resident::{ADDRESS_BITS, DANGLING};

use super::Emitter;
use super::lane::Lane;
use super::out_of_line::Helper;
use crate::cpu::llvm_text::Opd;
use crate::cpu::shape::flow::encoded as encoded_shape;
use crate::cpu::shape::{Affine, Shape};
use crate::cpu::storage::Root;
use crate::tagged::{self, BIAS, OFFSET_BITS, Search};

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
loop:
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
    each_lane("am.pointers", "am.pointer", "ptr %launch, i64 %first", "ptr %launch, i64 %first")
}

/// The text of [`Helper::Addresses`].
pub(super) fn addresses() -> String {
    let parameters = "ptr %table, i64 %arguments, ptr %launch, i64 %first";
    each_lane("am.addresses", "am.address", parameters, parameters)
}

impl Emitter<'_, '_> {
    /// Whether the value is a pointer that is an address in memory.
    fn has_address(&self, pointer: Value) -> bool {
        matches!(self.facts.function.ty(pointer), Type::Ptr(Space::Device | Space::Constant))
    }

    /// The number of the first resident buffer: beyond all allocations of the kernel, its locals too.
    pub(super) fn first_resident(&self) -> usize {
        self.shared_allocations() + self.facts.function.locals.len()
    }

    /// The tagged pointers of eight bytes each that were loaded, for a pointer value.
    pub(super) fn loaded_pointer(&mut self, pointer: Value, bits: &Lane) -> Lane {
        if self.has_address(pointer) { self.loaded_pointers(bits) } else { bits.clone() }
    }

    /// The tagged pointers of eight bytes each.
    pub(super) fn loaded_pointers(&mut self, bits: &Lane) -> Lane {
        if !self.loads_pointers {
            return bits.clone();
        }
        let (launch, first) = (self.group.launch.clone(), self.first_resident());
        if bits.is_uniform() {
            let bits = bits.at(&mut self.t, "i64", 0);
            if matches!(bits, Opd::Int(0)) {
                return Lane::known(Affine::known([0; 32]));
            }
            self.need(Helper::Pointer);
            let code =
                self.t.value(format_args!("call i64 @am.pointer(ptr {launch}, i64 {first}, i64 {bits})"));
            return Lane::uniform(code);
        }
        self.need(Helper::Pointers);
        let bits = bits.vector(&mut self.t, "i64");
        Lane::Varying(self.t.value(format_args!(
            "call <32 x i64> @am.pointers(ptr {launch}, i64 {first}, <32 x i64> {bits})"
        )))
    }

    /// As [`Self::loaded_pointers`], of all lanes, for a pointer value.
    pub(super) fn loaded_vector(&mut self, pointer: Value, bits: Opd) -> Opd {
        let lane = self.loaded_pointer(pointer, &Lane::Varying(bits));
        lane.vector(&mut self.t, "i64")
    }

    /// The eight bytes of a pointer in a buffer or as an integer.
    pub(super) fn addressed(&mut self, value: Value) -> Lane {
        if !self.has_address(value) {
            return self.encoded(value);
        }
        let root = self.facts.storage.pointer(value).root;
        if root == Root::Many {
            let codes = self.lane(value, 0);
            return self.addresses(&codes);
        }
        let base = self.address_base(root);
        match (self.lane(value, 0), encoded_shape(&self.shape(value, 0))) {
            (Lane::Affine { assumption, .. }, Shape::Affine(shape)) => {
                let step = shape.segment_len();
                let mut bases = Vec::new();
                for segment in 0..shape.segments {
                    let offset = self.at(value, 0, segment * step);
                    bases.push(self.t.add("i64", &offset, &base));
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
        let root = self.facts.storage.pointer(value).root;
        if root == Root::Many {
            let codes = Lane::Varying(self.vector(value, 0));
            return self.addresses(&codes).vector(&mut self.t, "i64");
        }
        let base = self.address_base(root);
        self.offsets_plus(value, &base)
    }

    /// The address of offset 0 in a buffer; of what has none, the code.
    fn address_base(&mut self, root: Root) -> Opd {
        match root {
            Root::Argument(_) => {
                let base = self.place(root).base;
                if base.is_text("null") {
                    return Opd::Int(0);
                }
                self.t.value(format_args!("ptrtoint ptr {base} to i64"))
            }
            root => self.code_of_root(root),
        }
    }

    fn offsets_plus(&mut self, value: Value, base: &Opd) -> Opd {
        let offsets = self.vector(value, 0);
        let base = self.t.splat("i64", base);
        self.t.value(format_args!("add <32 x i64> {offsets}, {base}"))
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
        let given = format!("ptr {table}, i64 {arguments}, ptr {launch}, i64 {first}");
        if codes.is_uniform() {
            self.need(Helper::Address);
            let code = codes.at(&mut self.t, "i64", 0);
            return Lane::uniform(self.t.value(format_args!("call i64 @am.address({given}, i64 {code})")));
        }
        self.need(Helper::Addresses);
        let codes = codes.vector(&mut self.t, "i64");
        let all = self.t.value(format_args!("call <32 x i64> @am.addresses({given}, <32 x i64> {codes})"));
        Lane::Varying(all)
    }
}
