//! Relocations and stubs of 64-bit x86, after the System V psABI.

use object::elf;

use super::machine::{Misfit, Need, Operands, STUB_BYTES, field};

pub(super) fn need(kind: u32) -> Option<Need> {
    match kind {
        elf::R_X86_64_NONE => Some(Need::Nothing),
        elf::R_X86_64_64 | elf::R_X86_64_PC64 | elf::R_X86_64_32 | elf::R_X86_64_32S | elf::R_X86_64_PC32 => {
            Some(Need::Symbol)
        }
        elf::R_X86_64_PLT32 => Some(Need::Callable),
        elf::R_X86_64_GOTPCREL
        | elf::R_X86_64_GOTPCRELX
        | elf::R_X86_64_REX_GOTPCRELX
        | elf::R_X86_64_CODE_4_GOTPCRELX => Some(Need::Slot),
        _ => None,
    }
}

pub(super) fn apply(kind: u32, bytes: &mut [u8], operands: Operands) -> Result<(), Misfit> {
    match kind {
        elf::R_X86_64_64 => *field(bytes)? = operands.target.to_le_bytes(),
        elf::R_X86_64_PC64 => *field(bytes)? = operands.distance().to_le_bytes(),
        elf::R_X86_64_32 => {
            let value = u32::try_from(operands.target).map_err(|_| Misfit::ResidentMemory)?;
            *field(bytes)? = value.to_le_bytes();
        }
        elf::R_X86_64_32S => {
            let value = i32::try_from(operands.target.cast_signed()).map_err(|_| Misfit::ResidentMemory)?;
            *field(bytes)? = value.to_le_bytes();
        }
        elf::R_X86_64_PC32
        | elf::R_X86_64_PLT32
        | elf::R_X86_64_GOTPCREL
        | elf::R_X86_64_GOTPCRELX
        | elf::R_X86_64_REX_GOTPCRELX
        | elf::R_X86_64_CODE_4_GOTPCRELX => {
            let value = i32::try_from(operands.distance()).map_err(|_| Misfit::ResidentMemory)?;
            *field(bytes)? = value.to_le_bytes();
        }
        _ => return Err(Misfit::Kind),
    }
    Ok(())
}

/// `jmp [rip + 0]` followed by the address it reads.
pub(super) fn stub(address: u64) -> [u8; STUB_BYTES] {
    let mut stub = [0xcc; STUB_BYTES];
    stub[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    stub[6..14].copy_from_slice(&address.to_le_bytes());
    stub
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_checked() {
        let mut bytes = [0; 8];
        let near = Operands { target: 0x1000, place: 0x1010 };
        apply(elf::R_X86_64_PC32, &mut bytes, near).expect("fits");
        assert_eq!(bytes[..4], (-16i32).to_le_bytes());
        let far = Operands { target: 0x1_0000_0000, place: 0 };
        assert_eq!(apply(elf::R_X86_64_PLT32, &mut bytes, far), Err(Misfit::ResidentMemory));
        assert_eq!(apply(elf::R_X86_64_32, &mut bytes, far), Err(Misfit::ResidentMemory));
        assert_eq!(apply(elf::R_X86_64_64, &mut bytes[..7], far), Err(Misfit::Outside));
        assert_eq!(apply(elf::R_X86_64_TPOFF32, &mut bytes, near), Err(Misfit::Kind));
        assert_eq!(need(elf::R_X86_64_TPOFF32), None);
    }
}
