//! Steps: the compact instructions that a SIMD-group executes.
//!
//! Every step works on all lanes of one component. Structured control flow is flat here: each region ends in
//! a marker step, and each step that can switch lanes off names the marker to skip to when none is left.
//! See `machine/control.rs` for what the markers do.

use anymetal_ir::{
    AtomicOp, BarrierScope, BinOp, CastOp, CmpOp, MathFn, Pieces, Scalar, SimdOp, Space, Type, UnOp,
};

use crate::lanes::{Apply1, Apply2, Apply3};

/// An index into [`super::Program::steps`]; while lowering, relative to the function.
pub(crate) type Pc = u32;

/// A component's place in the register file. While lowering it is a virtual number, see `registers.rs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A run of [`super::Program::operands`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlotRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl SlotRange {
    pub(crate) fn indices(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// A pointer: the region's number and the byte offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PtrSlots {
    pub(crate) region: Slot,
    pub(crate) offset: Slot,
}

/// What one component looks like in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Element {
    /// One byte; anything but 0 reads as 1.
    Bool,
    /// That many bytes, little endian.
    Bytes(u8),
    /// Eight bytes, which become two components: a pointer to that space.
    Pointer(Space),
    /// The same in a pointer slot ([`anymetal_analysis::PointerSlots`]), which keeps the region.
    Slot,
}

impl Element {
    pub(crate) fn of(scalar: Scalar) -> Self {
        if scalar == Scalar::Bool { Self::Bool } else { Self::Bytes(scalar.size() as u8) }
    }

    /// Whether it is a pointer, which has two components.
    pub(crate) fn is_pointer(self) -> bool {
        matches!(self, Self::Pointer(_) | Self::Slot)
    }

    pub(crate) fn size(self) -> u64 {
        match self {
            Self::Bool => 1,
            Self::Bytes(n) => u64::from(n),
            Self::Pointer(_) | Self::Slot => 8,
        }
    }
}

/// What may be odd about an arithmetic step, see [`crate::ArithmeticLint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    Nothing,
    /// A division, whose divisor may be 0; a shift, maybe by the bits of the type or more; a sum or product,
    /// which may wrap around.
    Integer(BinOp, Scalar),
    /// From 32 bits to 64, as signed numbers: of a wrapped value, the other half counts.
    SignExtension,
    /// Operands and result are of the type.
    Nan(Scalar),
}

impl Check {
    pub(crate) fn of_binary(op: BinOp, ty: Scalar) -> Self {
        match op {
            BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem => Self::Integer(op, ty),
            BinOp::Shl | BinOp::LShr | BinOp::AShr => Self::Integer(op, ty),
            BinOp::Add | BinOp::Sub | BinOp::Mul => Self::Integer(op, ty),
            BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => Self::Nan(ty),
            _ => Self::Nothing,
        }
    }

    pub(crate) fn of_cast(op: CastOp, from: Scalar, to: Scalar) -> Self {
        if (op, from, to) == (CastOp::SExt, Scalar::I32, Scalar::I64) {
            Self::SignExtension
        } else {
            Self::Nothing
        }
    }

    pub(crate) fn of_math(function: MathFn, ty: Scalar) -> Self {
        let is_float = ty.is_float() && function.result_type(Type::Scalar(ty)) == Type::Scalar(ty);
        if is_float { Self::Nan(ty) } else { Self::Nothing }
    }
}

/// One step.
#[derive(Clone, Copy, Debug)]
#[rustfmt::skip]
pub(crate) enum Step {
    // --- arithmetic: fast forms, then those evaluated lane by lane
    Apply1 { apply: Apply1, check: Check, dst: Slot, a: Slot },
    Apply2 { apply: Apply2, check: Check, dst: Slot, a: Slot, b: Slot },
    Apply3 { apply: Apply3, check: Check, dst: Slot, a: Slot, b: Slot, c: Slot },
    Unary { op: UnOp, ty: Scalar, dst: Slot, a: Slot },
    Binary { op: BinOp, ty: Scalar, dst: Slot, a: Slot, b: Slot },
    Compare { op: CmpOp, ty: Scalar, dst: Slot, a: Slot, b: Slot },
    Cast { op: CastOp, from: Scalar, to: Scalar, dst: Slot, a: Slot },
    /// Unused arguments repeat the first.
    Math { function: MathFn, ty: Scalar, arity: u8, dst: Slot, args: [Slot; 3] },

    // --- pointers
    ComparePtr { op: CmpOp, dst: Slot, a: PtrSlots, b: PtrSlots },
    /// `dst = base + offset`, on offsets.
    PtrOffset { dst: Slot, base: Slot, offset: i64 },
    PtrIndex { dst: Slot, base: Slot, index: Slot, scale: u32, offset: i64 },
    PackPtr { dst: Slot, ptr: PtrSlots },
    /// A pointer to a space from its bits.
    UnpackPtr { dst: PtrSlots, space: Space, bits: Slot },

    // --- moving components
    Move { dst: Slot, src: Slot },
    /// Writes the active lanes only.
    Merge { dst: Slot, src: Slot },
    /// Between element sizes, on little endian bytes.
    Repack { dst: SlotRange, src: SlotRange, to: Element, from: Element },
    /// `from[index % len]`.
    Pick { dst: Slot, index: Slot, from: SlotRange },
    /// `index % count == position ? value : old`.
    Replace { dst: Slot, index: Slot, value: Slot, old: Slot, position: u8, count: u8 },

    // --- memory
    LocalStart { region: u32 },
    Load { dst: SlotRange, ptr: PtrSlots, element: Element, align: u32 },
    Store { src: SlotRange, ptr: PtrSlots, element: Element, align: u32 },
    MemCopy { dst: PtrSlots, src: PtrSlots, size: u64, align: u32, pieces: Pieces },
    MemZero { dst: PtrSlots, size: u64, align: u32, pieces: Pieces },
    /// The next store writes a part of an object of these bytes.
    WriteWhole { ptr: PtrSlots, bytes: u64 },
    AtomicLoad { ty: Scalar, dst: Slot, ptr: PtrSlots },
    AtomicStore { ty: Scalar, ptr: PtrSlots, value: Slot },
    AtomicRmw { op: AtomicOp, ty: Scalar, dst: Slot, ptr: PtrSlots, value: Slot },
    AtomicCas { ty: Scalar, dst: Slot, ptr: PtrSlots, expected: Slot, desired: Slot },

    // --- SIMD-groups
    /// The memory flags, if the module has them.
    Barrier { scope: BarrierScope, flags: Option<Slot> },
    /// Memory flags, order, scope.
    Fence { operands: [Slot; 3] },
    /// Unused arguments repeat the first.
    Simd { op: SimdOp, ty: Scalar, dst: Slot, args: [Slot; 4] },
    MatrixLoad { dst: [Slot; 2], ptr: PtrSlots, stride: Slot, ty: Scalar, transpose: bool },
    MatrixStore { src: [Slot; 2], ptr: PtrSlots, stride: Slot, ty: Scalar, transpose: bool },
    /// The first two operands are the result, then A, B, C.
    MatrixMultiply { operands: SlotRange, types: [Scalar; 3] },

    // --- control
    If { cond: Slot, otherwise: Pc },
    Else { end: Pc },
    EndIf { skip: Pc },
    Loop,
    Continuing { end: Pc },
    Back { body: Pc, waits: bool },
    EndLoop { skip: Pc },
    Switch,
    Case { selector: Slot, values: SlotRange, next: Pc },
    EndCase,
    Default { end: Pc },
    EndSwitch { skip: Pc },
    Scope,
    EndScope { skip: Pc },
    /// Break (of the frame that many below the top) and return (the call's frame).
    Leave { frame: u32, skip: Pc },
    Continue { frame: u32, skip: Pc },
    /// The target is a function number until linking.
    Call { entry: Pc },
    EndFunction,
}

/// Whether a step reads or writes a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Use,
    Def,
}

impl Step {
    /// Calls `f` for each slot: all uses, then all definitions.
    pub(crate) fn for_each_slot(&mut self, operands: &mut [Slot], f: &mut dyn FnMut(&mut Slot, Role)) {
        if self.visit_arithmetic(f) || self.visit_groups(operands, f) {
            return;
        }
        self.visit_memory(operands, f);
    }

    fn visit_arithmetic(&mut self, f: &mut dyn FnMut(&mut Slot, Role)) -> bool {
        let dst = match self {
            Self::Apply1 { dst, a, .. }
            | Self::Unary { dst, a, .. }
            | Self::Cast { dst, a, .. }
            | Self::PtrOffset { dst, base: a, .. }
            | Self::Move { dst, src: a }
            | Self::Merge { dst, src: a } => {
                f(a, Role::Use);
                dst
            }
            Self::Apply2 { dst, a, b, .. }
            | Self::Binary { dst, a, b, .. }
            | Self::Compare { dst, a, b, .. }
            | Self::PtrIndex { dst, base: a, index: b, .. }
            | Self::PackPtr { dst, ptr: PtrSlots { region: a, offset: b } } => {
                f(a, Role::Use);
                f(b, Role::Use);
                dst
            }
            Self::Apply3 { dst, a, b, c, .. }
            | Self::Math { dst, args: [a, b, c], .. }
            | Self::Replace { dst, index: a, value: b, old: c, .. } => {
                f(a, Role::Use);
                f(b, Role::Use);
                f(c, Role::Use);
                dst
            }
            Self::ComparePtr { dst, a, b, .. } => {
                for slot in [&mut a.region, &mut a.offset, &mut b.region, &mut b.offset] {
                    f(slot, Role::Use);
                }
                dst
            }
            _ => return false,
        };
        f(dst, Role::Def);
        true
    }

    fn visit_groups(&mut self, operands: &mut [Slot], f: &mut dyn FnMut(&mut Slot, Role)) -> bool {
        match self {
            Self::Simd { dst, args, .. } => {
                args.iter_mut().for_each(|arg| f(arg, Role::Use));
                f(dst, Role::Def);
            }
            Self::MatrixLoad { dst, ptr, stride, .. } => {
                for slot in [&mut ptr.region, &mut ptr.offset, stride] {
                    f(slot, Role::Use);
                }
                dst.iter_mut().for_each(|slot| f(slot, Role::Def));
            }
            Self::MatrixStore { src: [a, b], ptr, stride, .. } => {
                for slot in [&mut ptr.region, &mut ptr.offset, stride, a, b] {
                    f(slot, Role::Use);
                }
            }
            Self::MatrixMultiply { operands: range, .. } => {
                let (result, sources) = operands[range.indices()].split_at_mut(2);
                sources.iter_mut().for_each(|slot| f(slot, Role::Use));
                result.iter_mut().for_each(|slot| f(slot, Role::Def));
            }
            Self::If { cond: slot, .. }
            | Self::Case { selector: slot, .. }
            | Self::Barrier { flags: Some(slot), .. } => f(slot, Role::Use),
            Self::Fence { operands } => operands.iter_mut().for_each(|slot| f(slot, Role::Use)),
            _ => return false,
        }
        true
    }

    fn visit_memory(&mut self, operands: &mut [Slot], f: &mut dyn FnMut(&mut Slot, Role)) {
        let ptr_use = |ptr: &mut PtrSlots, f: &mut dyn FnMut(&mut Slot, Role)| {
            f(&mut ptr.region, Role::Use);
            f(&mut ptr.offset, Role::Use);
        };
        match self {
            Self::Load { dst, ptr, .. } => {
                ptr_use(ptr, f);
                operands[dst.indices()].iter_mut().for_each(|slot| f(slot, Role::Def));
            }
            Self::Store { src, ptr, .. } => {
                ptr_use(ptr, f);
                operands[src.indices()].iter_mut().for_each(|slot| f(slot, Role::Use));
            }
            Self::Repack { dst, src, .. } => {
                operands[src.indices()].iter_mut().for_each(|slot| f(slot, Role::Use));
                operands[dst.indices()].iter_mut().for_each(|slot| f(slot, Role::Def));
            }
            Self::Pick { dst, index, from } => {
                f(index, Role::Use);
                operands[from.indices()].iter_mut().for_each(|slot| f(slot, Role::Use));
                f(dst, Role::Def);
            }
            Self::UnpackPtr { dst, bits, .. } => {
                f(bits, Role::Use);
                f(&mut dst.region, Role::Def);
                f(&mut dst.offset, Role::Def);
            }
            Self::MemCopy { dst, src, .. } => {
                ptr_use(src, f);
                ptr_use(dst, f);
            }
            Self::MemZero { dst, .. } => ptr_use(dst, f),
            Self::WriteWhole { ptr, .. } => ptr_use(ptr, f),
            Self::AtomicLoad { dst, ptr, .. } => {
                ptr_use(ptr, f);
                f(dst, Role::Def);
            }
            Self::AtomicStore { ptr, value, .. } => {
                ptr_use(ptr, f);
                f(value, Role::Use);
            }
            Self::AtomicRmw { dst, ptr, value, .. } => {
                ptr_use(ptr, f);
                f(value, Role::Use);
                f(dst, Role::Def);
            }
            Self::AtomicCas { dst, ptr, expected, desired, .. } => {
                ptr_use(ptr, f);
                f(expected, Role::Use);
                f(desired, Role::Use);
                f(dst, Role::Def);
            }
            _ => {}
        }
    }

    /// The step it may jump to, if any.
    pub(crate) fn target_mut(&mut self) -> Option<&mut Pc> {
        match self {
            Self::If { otherwise: pc, .. }
            | Self::Else { end: pc }
            | Self::EndIf { skip: pc }
            | Self::Continuing { end: pc }
            | Self::Back { body: pc, .. }
            | Self::EndLoop { skip: pc }
            | Self::Case { next: pc, .. }
            | Self::Default { end: pc }
            | Self::EndSwitch { skip: pc }
            | Self::EndScope { skip: pc }
            | Self::Leave { skip: pc, .. }
            | Self::Continue { skip: pc, .. } => Some(pc),
            _ => None,
        }
    }
}
