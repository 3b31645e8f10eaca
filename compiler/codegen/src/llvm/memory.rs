//! Instructions on memory.

use std::fmt;

use super::{Builder, I1, I32, I64, Opd, PTR, Rmw, Type, VOID};

/// The node is in the metadata that the CPU's code generator writes after the functions.
const NONTEMPORAL: &str = ", !nontemporal !14";

/// Alignment, volatility and metadata of a load or store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemFlags {
    /// The alignment in bytes.
    align: u32,
    is_volatile: bool,
    /// Whether the processor should write around its caches.
    is_nontemporal: bool,
    /// Metadata as LLVM writes it, with a comma before each.
    metadata: &'static str,
}

impl From<u32> for MemFlags {
    #[track_caller]
    fn from(align: u32) -> Self {
        assert!(align.is_power_of_two(), "alignment {align} is not a power of two");
        Self { align, is_volatile: false, is_nontemporal: false, metadata: "" }
    }
}

impl MemFlags {
    /// Metadata for an access with this alignment.
    #[track_caller]
    pub(crate) fn with(align: u32, metadata: &'static str) -> Self {
        Self { metadata, ..Self::from(align) }
    }

    /// As it is, but volatile if `is`.
    pub(crate) fn volatile(self, is: bool) -> Self {
        Self { is_volatile: is, ..self }
    }

    /// As it is, but around the caches.
    pub(crate) fn nontemporal(self) -> Self {
        Self { is_nontemporal: true, ..self }
    }

    fn qualifier(self) -> &'static str {
        if self.is_volatile { "volatile " } else { "" }
    }
}

impl fmt::Display for MemFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nontemporal = if self.is_nontemporal { NONTEMPORAL } else { "" };
        write!(f, "align {}{nontemporal}{}", self.align, self.metadata)
    }
}

/// What a compare-and-exchange returns: the value before, and whether it was exchanged.
#[derive(Clone, Debug)]
pub(crate) struct Exchanged {
    register: u32,
    ty: Type,
}

impl Builder {
    /// A load.
    #[track_caller]
    pub(crate) fn load(&mut self, ty: Type, pointer: &Opd, access: impl Into<MemFlags>) -> Opd {
        self.expect_pointer(pointer);
        let access = access.into();
        self.result(ty, format_args!("load {}{ty}, {}, {access}", access.qualifier(), pointer.typed()))
    }

    /// The load of a stop flag. The comment marks it for [`crate::polls::verify`].
    pub(crate) fn load_stop_flag(&mut self, pointer: &Opd) -> Opd {
        self.expect_pointer(pointer);
        self.result(I32, format_args!("load volatile i32, {}, align 4 ; poll", pointer.typed()))
    }

    /// A store.
    #[track_caller]
    pub(crate) fn store(&mut self, value: &Opd, pointer: &Opd, access: impl Into<MemFlags>) {
        self.expect_pointer(pointer);
        let access = access.into();
        self.line(format_args!(
            "store {}{}, {}, {access}",
            access.qualifier(),
            value.typed(),
            pointer.typed()
        ));
    }

    /// An atomic load with this scope and ordering.
    #[track_caller]
    pub(crate) fn atomic_load(&mut self, ty: Type, pointer: &Opd, ordering: &str, align: u32) -> Opd {
        self.expect_pointer(pointer);
        self.result(ty, format_args!("load atomic {ty}, {} {ordering}, align {align}", pointer.typed()))
    }

    /// An atomic store with this scope and ordering.
    #[track_caller]
    pub(crate) fn atomic_store(&mut self, value: &Opd, pointer: &Opd, ordering: &str, align: u32) {
        self.expect_pointer(pointer);
        self.line(format_args!(
            "store atomic {}, {} {ordering}, align {align}",
            value.typed(),
            pointer.typed()
        ));
    }

    /// An atomic read-modify-write, which returns the value before. `how` has what is written after the
    /// operand: scope, ordering, alignment.
    #[track_caller]
    pub(crate) fn atomicrmw(&mut self, op: Rmw, pointer: &Opd, operand: &Opd, how: &str) -> Opd {
        self.expect_pointer(pointer);
        self.result(
            operand.ty(),
            format_args!("atomicrmw {op} {}, {} {how}", pointer.typed(), operand.typed()),
        )
    }

    /// A compare-and-exchange. `how` has what is written after the operands.
    #[track_caller]
    pub(crate) fn cmpxchg(&mut self, pointer: &Opd, [old, new]: [&Opd; 2], how: &str) -> Exchanged {
        self.expect_pointer(pointer);
        self.expect(new, old.ty());
        let register = self.fresh();
        self.line(format_args!(
            "%r{register} = cmpxchg {}, {}, {} {how}",
            pointer.typed(),
            old.typed(),
            new.typed()
        ));
        Exchanged { register, ty: old.ty() }
    }

    /// The value before a compare-and-exchange.
    pub(crate) fn value_before(&mut self, Exchanged { register, ty }: &Exchanged) -> Opd {
        self.result(*ty, format_args!("extractvalue {{ {ty}, i1 }} %r{register}, 0"))
    }

    /// Whether a compare-and-exchange stored the new value.
    pub(crate) fn is_exchanged(&mut self, Exchanged { register, ty }: &Exchanged) -> Opd {
        self.result(I1, format_args!("extractvalue {{ {ty}, i1 }} %r{register}, 1"))
    }

    /// `pointer + bytes`.
    #[track_caller]
    pub(crate) fn offset(&mut self, pointer: &Opd, bytes: impl super::Like) -> Opd {
        let bytes = bytes.like(I64);
        if bytes.is_int(0) {
            self.expect_pointer(pointer);
            return pointer.clone();
        }
        self.address(super::I8, pointer, &bytes)
    }

    /// The address of the field of a record that begins at this offset.
    #[track_caller]
    pub(crate) fn field(&mut self, record: &Opd, offset: i64) -> Opd {
        self.address(super::I8, record, &Opd::i64(offset))
    }

    /// The address of one of the values of a type that follow each other from the pointer on, or one address
    /// for each index of a vector.
    #[track_caller]
    pub(crate) fn address(&mut self, ty: impl fmt::Display, pointer: &Opd, index: &Opd) -> Opd {
        self.expect_pointer(pointer);
        assert!(
            matches!(index.ty().element(), I32 | I64),
            "an address index is an {}, not an i64",
            index.ty()
        );
        let of_result = index.ty().with_element(pointer.ty());
        self.result(of_result, format_args!("getelementptr {ty}, {}, {}", pointer.typed(), index.typed()))
    }

    /// A stack slot of the function.
    #[track_caller]
    pub(crate) fn alloca(&mut self, ty: Type, align: u32) -> Opd {
        self.slot(ty, align)
    }

    /// Stack slots of the function, one after the other.
    #[track_caller]
    pub(crate) fn alloca_array(&mut self, count: u64, ty: impl fmt::Display, align: u32) -> Opd {
        self.slot(format_args!("[{count} x {ty}]"), align)
    }

    #[track_caller]
    fn slot(&mut self, ty: impl fmt::Display, align: u32) -> Opd {
        assert!(align.is_power_of_two(), "a stack slot's alignment is a power of two, not {align}");
        self.in_entry(|t| t.result(PTR, format_args!("alloca {ty}, align {align}")))
    }

    /// Stack slots that are zero where the function begins. The contents of a plain slot are undefined
    /// and may be data of another kernel or of the host.
    #[track_caller]
    pub(crate) fn zeroed_array(&mut self, count: u64, ty: Type, align: u32) -> Opd {
        let slot = self.alloca_array(count, ty, align);
        self.clear_at_entry(&slot, count * ty.bits() as u64 / 8, align);
        slot
    }

    /// Clears a stack slot where the function begins.
    pub(crate) fn clear_at_entry(&mut self, slot: &Opd, bytes: u64, align: u32) {
        self.in_entry(|t| t.clear(slot, bytes, align));
    }

    /// Clears memory.
    pub(crate) fn clear(&mut self, at: &Opd, bytes: u64, align: u32) {
        let ty = at.ty();
        let name = format!("llvm.memset.{}.i64", ty.suffix());
        self.declare_function(VOID, &name, &[ty, super::I8, I64, I1]);
        self.line(format_args!("call void @{name}({ty} align {align} {at}, i8 0, i64 {bytes}, i1 false)"));
    }

    /// Copies memory.
    pub(crate) fn copy(&mut self, to: &Opd, from: &Opd, bytes: u64, align: u32) {
        let (dst, src) = (to.ty(), from.ty());
        let name = format!("llvm.memcpy.{}.{}.i64", dst.suffix(), src.suffix());
        self.declare_function(VOID, &name, &[dst, src, I64, I1]);
        self.line(format_args!(
            "call void @{name}({dst} align {align} {to}, {src} align {align} {from}, i64 {bytes}, i1 false)"
        ));
    }
}
