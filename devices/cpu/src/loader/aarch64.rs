//! Relocations and stubs of 64-bit Arm, after the ELF supplement of the Arm ABI.

use object::elf;

use super::machine::{Misfit, Need, Operands, STUB_BYTES, field};

pub(super) fn need(kind: u32) -> Option<Need> {
    match kind {
        elf::R_AARCH64_NONE => Some(Need::Nothing),
        elf::R_AARCH64_ABS64
        | elf::R_AARCH64_ABS32
        | elf::R_AARCH64_PREL64
        | elf::R_AARCH64_PREL32
        | elf::R_AARCH64_ADR_PREL_LO21
        | elf::R_AARCH64_ADR_PREL_PG_HI21
        | elf::R_AARCH64_ADD_ABS_LO12_NC
        | elf::R_AARCH64_LDST8_ABS_LO12_NC
        | elf::R_AARCH64_LDST16_ABS_LO12_NC
        | elf::R_AARCH64_LDST32_ABS_LO12_NC
        | elf::R_AARCH64_LDST64_ABS_LO12_NC
        | elf::R_AARCH64_LDST128_ABS_LO12_NC => Some(Need::Symbol),
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => Some(Need::Callable),
        elf::R_AARCH64_ADR_GOT_PAGE | elf::R_AARCH64_LD64_GOT_LO12_NC => Some(Need::Slot),
        _ => None,
    }
}

pub(super) fn apply(kind: u32, bytes: &mut [u8], operands: Operands) -> Result<(), Misfit> {
    match kind {
        elf::R_AARCH64_ABS64 => *field(bytes)? = operands.target.to_le_bytes(),
        elf::R_AARCH64_PREL64 => *field(bytes)? = operands.distance().to_le_bytes(),
        elf::R_AARCH64_ABS32 => {
            let value = u32::try_from(operands.target).map_err(|_| Misfit::ResidentMemory)?;
            *field(bytes)? = value.to_le_bytes();
        }
        elf::R_AARCH64_PREL32 => {
            let value = i32::try_from(operands.distance()).map_err(|_| Misfit::ResidentMemory)?;
            *field(bytes)? = value.to_le_bytes();
        }
        elf::R_AARCH64_ADR_PREL_LO21 => set_adr(bytes, operands.distance())?,
        elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_GOT_PAGE => {
            let page = |address: u64| address & !0xfff;
            let pages = page(operands.target).wrapping_sub(page(operands.place)).cast_signed() >> 12;
            set_adr(bytes, pages)?;
        }
        elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => {
            set_page_offset(bytes, operands.target, 0)?;
        }
        elf::R_AARCH64_LDST16_ABS_LO12_NC => set_page_offset(bytes, operands.target, 1)?,
        elf::R_AARCH64_LDST32_ABS_LO12_NC => set_page_offset(bytes, operands.target, 2)?,
        elf::R_AARCH64_LDST64_ABS_LO12_NC | elf::R_AARCH64_LD64_GOT_LO12_NC => {
            set_page_offset(bytes, operands.target, 3)?;
        }
        elf::R_AARCH64_LDST128_ABS_LO12_NC => set_page_offset(bytes, operands.target, 4)?,
        elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => {
            let distance = operands.distance();
            if distance & 3 != 0 {
                return Err(Misfit::ResidentMemory);
            }
            let words = signed_field(distance >> 2, 26)?;
            patch(bytes, 0x03ff_ffff, words)?;
        }
        _ => return Err(Misfit::Kind),
    }
    Ok(())
}

/// `value` as a field of `bits` bits in two's complement.
fn signed_field(value: i64, bits: u32) -> Result<u32, Misfit> {
    let limit = 1i64 << (bits - 1);
    if !(-limit..limit).contains(&value) {
        return Err(Misfit::ResidentMemory);
    }
    Ok(value as u32 & ((1 << bits) - 1))
}

/// Replaces the bits of `mask` in the instruction.
fn patch(bytes: &mut [u8], mask: u32, value: u32) -> Result<(), Misfit> {
    let bytes = field::<4>(bytes)?;
    let instruction = u32::from_le_bytes(*bytes);
    *bytes = (instruction & !mask | value & mask).to_le_bytes();
    Ok(())
}

/// The split 21-bit immediate of ADR and ADRP.
fn set_adr(bytes: &mut [u8], value: i64) -> Result<(), Misfit> {
    let value = signed_field(value, 21)?;
    patch(bytes, 0x60ff_ffe0, (value & 3) << 29 | (value >> 2) << 5)
}

/// The 12-bit immediate of ADD, LDR and STR, in units of the access size.
fn set_page_offset(bytes: &mut [u8], target: u64, scale: u32) -> Result<(), Misfit> {
    let offset = (target & 0xfff) as u32;
    if offset & ((1 << scale) - 1) != 0 {
        return Err(Misfit::ResidentMemory);
    }
    patch(bytes, 0x003f_fc00, (offset >> scale) << 10)
}

/// `ldr x16, #8; br x16` followed by the address; x16 is the register that calls may destroy.
pub(super) fn stub(address: u64) -> [u8; STUB_BYTES] {
    let mut stub = [0; STUB_BYTES];
    stub[..4].copy_from_slice(&0x5800_0050u32.to_le_bytes());
    stub[4..8].copy_from_slice(&0xd61f_0200u32.to_le_bytes());
    stub[8..].copy_from_slice(&address.to_le_bytes());
    stub
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(kind: u32, instruction: u32, target: u64, place: u64) -> Result<u32, Misfit> {
        let mut bytes = instruction.to_le_bytes();
        apply(kind, &mut bytes, Operands { target, place })?;
        Ok(u32::from_le_bytes(bytes))
    }

    // Expected words are what an assembler writes for the instruction in the comment.

    #[test]
    fn branches() {
        // bl .+8 and b .-4
        assert_eq!(applied(elf::R_AARCH64_CALL26, 0x9400_0000, 0x1008, 0x1000), Ok(0x9400_0002));
        assert_eq!(applied(elf::R_AARCH64_JUMP26, 0x1400_0000, 0x0ffc, 0x1000), Ok(0x17ff_ffff));
        assert_eq!(applied(elf::R_AARCH64_CALL26, 0x9400_0000, 1 << 27, 0), Err(Misfit::ResidentMemory));
        assert_eq!(applied(elf::R_AARCH64_CALL26, 0x9400_0000, 2, 0), Err(Misfit::ResidentMemory));
    }

    #[test]
    fn pages_and_offsets() {
        // adrp x0, #0x3000 from page 1 and adrp x0, #-0x1000
        assert_eq!(applied(elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0000, 0x4010, 0x1abc), Ok(0xf000_0000));
        assert_eq!(applied(elf::R_AARCH64_ADR_PREL_PG_HI21, 0x9000_0000, 0x0010, 0x1abc), Ok(0xf0ff_ffe0));
        // add x0, x0, #0x123 and ldr q0, [x0, #0x120]
        assert_eq!(applied(elf::R_AARCH64_ADD_ABS_LO12_NC, 0x9100_0000, 0x5123, 0), Ok(0x9104_8c00));
        assert_eq!(applied(elf::R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc0_0000, 0x5120, 0), Ok(0x3dc0_4800));
        assert_eq!(
            applied(elf::R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc0_0000, 0x5128, 0),
            Err(Misfit::ResidentMemory)
        );
    }
}
