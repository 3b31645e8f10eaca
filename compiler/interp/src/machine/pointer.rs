//! Pointers as values and as bytes.
//!
//! As a value a pointer is two components, the region's number and the byte offset, which cannot be
//! confused. As eight bytes it is an address, if what it points into has one ([`Addresses`]). Else it is
//! the region in the upper 16 bits and the offset, as a signed number, in the lower 48; null is zero, and
//! so is an argument that nothing is bound to. An offset beyond 48 bits makes bits that name no region.
//!
//! Invariant: bytes may be data, so what they become is limited by the pointer's space ([`resolve`]): an
//! address of a buffer that the launch may reach, or a region that the thread could name anyway.

use anymetal_abi::resident::{self, is_address};
use anymetal_ir::{CmpOp, Scalar, Space, eval::eval_compare};

use super::address::Addresses;
use super::{Environment, Machine};
use crate::lanes::Lanes;
use crate::program::step::{Element, PtrSlots, Slot, SlotRange};
use crate::program::{Arena, Program, Region};

const OFFSET_BITS: u32 = 48;
/// Names no region.
const LOST: u64 = 0xfffe;
const MAX_ADDRESS: u64 = (1 << resident::ADDRESS_BITS) - 1;

/// `base + offset`, on offsets.
pub(super) fn advanced(out: &mut Lanes, base: &Lanes, offset: i64) {
    for i in 0..32 {
        out[i] = base[i].wrapping_add(offset as u64);
    }
}

/// `base + index × scale + offset`, on offsets.
pub(super) fn indexed(out: &mut Lanes, base: &Lanes, index: &Lanes, scale: u32, offset: i64) {
    let (scale, offset) = (u64::from(scale), offset as u64);
    for i in 0..32 {
        out[i] = base[i].wrapping_add(index[i].wrapping_mul(scale)).wrapping_add(offset);
    }
}

/// The eight bytes of a pointer.
fn pack_address(addresses: &Addresses, regions: &[Region], region: u64, offset: u64) -> u64 {
    addresses.of(regions, region, offset).unwrap_or_else(|| pack(regions, region, offset))
}

/// The eight bytes of a pointer in memory of that kind.
pub(crate) fn pack_element(
    element: Element,
    addresses: &Addresses,
    regions: &[Region],
    (region, offset): (u64, u64),
) -> u64 {
    match element {
        Element::Slot => pack(regions, region, offset),
        _ => pack_address(addresses, regions, region, offset),
    }
}

/// The eight bytes of a pointer to what has no address, or in a slot.
fn pack(regions: &[Region], region: u64, offset: u64) -> u64 {
    let low = offset & ((1 << OFFSET_BITS) - 1);
    if unpack(low).1 != offset {
        return (LOST << OFFSET_BITS) | low;
    }
    let region = if offset == 0 && Region::numbered(regions, region).is_null { 0 } else { region };
    (region << OFFSET_BITS) | low
}

/// Region and offset that eight bytes mean for a pointer to a space.
fn resolve(env: &Environment<'_, '_>, space: Space, bits: u64) -> (u64, u64) {
    let (region, offset) = unpack(bits);
    let arena = env.region(region).arena;
    match space {
        _ if bits == 0 => (0, 0),
        Space::Device | Space::Constant if is_address(bits) => env.addresses.find(bits),
        Space::Constant if matches!(arena, Arena::Global(_)) => (region, offset),
        Space::Device | Space::Constant => (resident::DANGLING, bits & MAX_ADDRESS),
        Space::Threadgroup if arena == Arena::Threadgroup => (region, offset),
        Space::Thread if arena == Arena::Private => (region, offset),
        Space::Threadgroup | Space::Thread => (0, offset),
    }
}

/// Region and offset of eight bytes that are no address.
fn unpack(bits: u64) -> (u64, u64) {
    let unused = 64 - OFFSET_BITS;
    (bits >> OFFSET_BITS, (((bits << unused) as i64) >> unused) as u64)
}

/// Region and offset by which pointers are compared: one buffer may be bound at several arguments.
fn canonical(env: &Environment<'_, '_>, region: u64, offset: u64) -> (u64, u64) {
    let own = env.region(region);
    if !matches!(own.arena, Arena::Buffer(_)) {
        return (region, offset);
    }
    match env.regions.iter().position(|other| other.arena == own.arena) {
        Some(first) => (first as u64, offset.wrapping_add(own.start).wrapping_sub(env.regions[first].start)),
        None => (region, offset),
    }
}

impl Machine {
    /// Equality compares region and offset, orders compare offsets only (they are for one allocation), and
    /// disjointness compares regions.
    pub(super) fn compare_pointers(
        &mut self,
        env: &Environment<'_, '_>,
        op: CmpOp,
        dst: Slot,
        a: PtrSlots,
        b: PtrSlots,
    ) {
        if op == CmpOp::Disjoint {
            let region = |ptr: PtrSlots, lane: usize| env.region(self.registers[ptr.region.index()][lane]);
            self.registers[dst.index()] =
                std::array::from_fn(|lane| u64::from(region(a, lane).is_disjoint(region(b, lane))));
            return;
        }
        let value = |ptr: PtrSlots, lane: usize| {
            let (region, offset) =
                (self.registers[ptr.region.index()][lane], self.registers[ptr.offset.index()][lane]);
            let (region, offset) = canonical(env, region, offset);
            match op {
                CmpOp::Eq | CmpOp::Ne => pack(&env.regions, region, offset),
                _ => offset,
            }
        };
        self.registers[dst.index()] = std::array::from_fn(|lane| {
            u64::from(eval_compare(op, Scalar::I64, value(a, lane), value(b, lane)))
        });
    }

    pub(super) fn pack_pointer(&mut self, env: &Environment<'_, '_>, dst: Slot, ptr: PtrSlots) {
        let (region, offset) = (&self.registers[ptr.region.index()], &self.registers[ptr.offset.index()]);
        self.registers[dst.index()] = std::array::from_fn(|lane| {
            pack_address(&env.addresses, &env.regions, region[lane], offset[lane])
        });
    }

    pub(super) fn unpack_pointer(
        &mut self,
        env: &Environment<'_, '_>,
        dst: PtrSlots,
        space: Space,
        bits: Slot,
    ) {
        let bits = self.registers[bits.index()];
        for (lane, bits) in bits.into_iter().enumerate() {
            let (region, offset) = resolve(env, space, bits);
            self.registers[dst.region.index()][lane] = region;
            self.registers[dst.offset.index()][lane] = offset;
        }
    }

    /// Of a slot, which holds nothing but pointers.
    pub(super) fn unpack_slot(&mut self, dst: PtrSlots, bits: Slot) {
        let bits = self.registers[bits.index()];
        for (lane, bits) in bits.into_iter().enumerate() {
            (self.registers[dst.region.index()][lane], self.registers[dst.offset.index()][lane]) =
                unpack(bits);
        }
    }

    /// Between element sizes: the same bytes.
    pub(super) fn repack(
        &mut self,
        program: &Program,
        dst: SlotRange,
        src: SlotRange,
        to: Element,
        from: Element,
    ) {
        let (to_size, from_size) = (to.size() as usize, from.size() as usize);
        for lane in 0..32 {
            let mut bytes = [0; 40];
            for (n, src) in program.operands[src.indices()].iter().enumerate() {
                let bits = self.registers[src.index()][lane].to_le_bytes();
                bytes[n * from_size..][..from_size].copy_from_slice(&bits[..from_size]);
            }
            for (n, dst) in program.operands[dst.indices()].iter().enumerate() {
                let mut bits = [0; 8];
                bits[..to_size].copy_from_slice(&bytes[n * to_size..][..to_size]);
                let bits = u64::from_le_bytes(bits);
                self.registers[dst.index()][lane] =
                    if to == Element::Bool { u64::from(bits != 0) } else { bits };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unpack;

    #[test]
    fn offsets_in_packed_pointers_are_signed() {
        assert_eq!(unpack(7 << 48 | 0xffff_ffff_fffc), (7, -4i64 as u64));
        assert_eq!(unpack(7 << 48 | 12), (7, 12));
    }
}
