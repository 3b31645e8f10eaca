//! Scalars that are a part of a private array's unit: arrays that are passed to functions have units of a
//! fixed size.

use anymetal_ir::Scalar;

use super::lane::Width;
use super::out_of_line::Helper;
use super::{Emitter, Mask};
use crate::llvm::{self, IntPredicate, LANES, Opd, scalar_type};

/// Where parts are: the array, the offsets of all lanes or the one that they share, and bytes per unit.
pub(super) struct Parts<'a> {
    pub(super) base: &'a Opd,
    pub(super) offset: &'a Opd,
    pub(super) is_uniform: bool,
    pub(super) unit: u32,
}

impl Emitter<'_, '_> {
    fn width_of_parts(parts: &Parts<'_>) -> Width {
        if parts.is_uniform { Width::One } else { Width::All }
    }

    /// The offsets of the units, and the bytes into them.
    fn units_of_parts(&mut self, parts: &Parts<'_>, extra: i64) -> (Opd, Opd) {
        let width = Self::width_of_parts(parts);
        let below = i64::from(parts.unit) - 1;
        let offset = match width {
            Width::One => self.t.add(parts.offset, extra),
            _ => self.t.add(parts.offset, extra),
        };
        let unit = self.t.and(&offset, !below);
        let inside = self.t.and(&offset, below);
        (unit, inside)
    }

    /// At which bit of its unit each lane's part begins.
    fn shift_of_parts(&mut self, parts: &Parts<'_>, inside: &Opd) -> Opd {
        let width = Self::width_of_parts(parts);
        let element = llvm::Type::int(parts.unit * 8);
        let to = width.of(element);
        let bits = self.t.shl(inside, 3);
        let bits = match parts.unit {
            8 => bits,
            _ => self.t.trunc(&bits, to),
        };
        if parts.is_uniform { self.t.splat(&bits) } else { bits }
    }

    /// One scalar of all lanes.
    pub(super) fn load_part(&mut self, parts: &Parts<'_>, extra: i64, scalar: Scalar) -> Opd {
        let (units, inside) = self.units_of_parts(parts, extra);
        let bits = parts.unit * 8;
        let ty = llvm::Type::int(bits).lanes();
        let raw = if parts.is_uniform {
            let bytes = self.t.mul(&units, LANES as i64);
            let at = self.t.offset(parts.base, &bytes);
            let raw = self.t.load(ty, &at, parts.unit);
            self.t.freeze(&raw)
        } else {
            let places = self.lane_places(&units, parts.unit);
            self.need(Helper::Gather(bits));
            self.t.call(ty, format!("am.gather.{bits}"), &[parts.base, &places])
        };
        let shift = self.shift_of_parts(parts, &inside);
        let shifted = self.t.lshr(&raw, &shift);
        let own = llvm::Type::int(scalar.size() * 8);
        let narrow = own.lanes();
        let part = self.t.trunc(&shifted, narrow);
        match scalar {
            Scalar::Bool => self.t.icmp(IntPredicate::Ne, &part, 0),
            scalar => self.t.reinterpret(&part, scalar_type(scalar)),
        }
    }

    /// Stores one scalar of the lanes that are on; of `good` where lanes have offsets of their own.
    pub(super) fn store_part(
        &mut self,
        parts: &Parts<'_>,
        good: Option<&Opd>,
        extra: i64,
        scalar: Scalar,
        value: &Opd,
    ) {
        let (units, inside) = self.units_of_parts(parts, extra);
        let own = llvm::Type::int(scalar.size() * 8);
        let narrow = own.lanes();
        let value = match scalar {
            Scalar::Bool => self.t.zext(value, narrow),
            _ => self.t.reinterpret(value, own),
        };
        if let Some(good) = good {
            let places = self.lane_places(&units, parts.unit);
            let places = self.t.add(&places, &inside);
            return self.scatter_private(parts.base, &places, good, scalar.size() * 8, &value);
        }
        let ty = llvm::Type::int(parts.unit * 8).lanes();
        let bytes = self.t.mul(&units, LANES as i64);
        let at = self.t.offset(parts.base, &bytes);
        let old = self.t.load(ty, &at, parts.unit);
        let shift = self.shift_of_parts(parts, &inside);
        let wide = self.t.zext(&value, ty);
        let wide = self.t.shl(&wide, &shift);
        let ones = self.t.zext(&Opd::int(own, -1).splat(LANES), ty);
        let place = self.t.shl(&ones, &shift);
        let others = self.t.xor(&place, -1);
        let kept = self.t.and(&old, &others);
        let mut new = self.t.or(&kept, &wide);
        if let Mask::Some(mask) = self.position.mask.clone() {
            new = self.t.select(&mask, &new, &old);
        }
        self.t.store(&new, &at, parts.unit);
    }
}
