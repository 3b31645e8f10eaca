//! The processors whose objects can be linked, and what a relocation asks for on each.

use std::fmt;

use super::{aarch64, x86_64};

/// The machine an object is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Machine {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        })
    }
}

/// What the address that a relocation refers to has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing is to be done.
    Nothing,
    /// The symbol itself.
    Symbol,
    /// The symbol, or a jump to it when it lies outside the object.
    Callable,
    /// A memory slot that holds the symbol's address.
    Slot,
}

/// Why a relocation was not applied; the caller adds machine, type and target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The place lies outside its section.
    Outside,
    /// The value does not fit the field.
    ResidentMemory,
    /// The type is none of ours.
    Kind,
}

/// The three addresses of a relocation's arithmetic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operands {
    /// Of the target, the stub or the slot, plus the addend.
    pub(super) target: u64,
    /// Of the bytes changed.
    pub(super) place: u64,
}

impl Operands {
    /// Target minus place.
    pub(super) fn distance(self) -> i64 {
        self.target.wrapping_sub(self.place).cast_signed()
    }
}

/// Bytes of one jump to an address outside the object, the same on both machines.
pub(super) const STUB_BYTES: usize = 16;

impl Machine {
    /// The machine of the running program.
    pub fn host() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// From ELF's machine number.
    pub(super) fn from_elf(number: u16) -> Option<Self> {
        match number {
            object::elf::EM_X86_64 => Some(Self::X86_64),
            object::elf::EM_AARCH64 => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// What a relocation of this type needs; `None` for a type that is none of ours.
    pub(super) fn need(self, kind: u32) -> Option<Need> {
        match self {
            Self::X86_64 => x86_64::need(kind),
            Self::Aarch64 => aarch64::need(kind),
        }
    }

    /// Changes the bytes at the start of `bytes`.
    pub(super) fn apply(self, kind: u32, bytes: &mut [u8], operands: Operands) -> Result<(), Misfit> {
        match self {
            Self::X86_64 => x86_64::apply(kind, bytes, operands),
            Self::Aarch64 => aarch64::apply(kind, bytes, operands),
        }
    }

    /// A jump to `address`, from anywhere.
    pub(super) fn stub(self, address: u64) -> [u8; STUB_BYTES] {
        match self {
            Self::X86_64 => x86_64::stub(address),
            Self::Aarch64 => aarch64::stub(address),
        }
    }
}

/// The first `N` bytes of a relocation's place.
pub(super) fn field<const N: usize>(bytes: &mut [u8]) -> Result<&mut [u8; N], Misfit> {
    bytes.first_chunk_mut().ok_or(Misfit::Outside)
}
