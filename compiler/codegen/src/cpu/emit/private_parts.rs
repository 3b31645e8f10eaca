//! Scalars that are a part of a private array's unit: arrays that are passed to functions have units of a
//! fixed size.

use anymetal_ir::Scalar;

use super::cast::reinterpret;
use super::lane::Width;
use super::out_of_line::Helper;
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, MASK, Opd, lanes_type, scalar_type};

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
        let (ty, below) = (width.of("i64"), i64::from(parts.unit) - 1);
        let offset = match width {
            Width::One => self.t.add("i64", parts.offset, &Opd::Int(extra)),
            _ => self.t.value(format_args!("add {ty} {}, {}", parts.offset, width.int("i64", extra))),
        };
        let unit = self.t.value(format_args!("and {ty} {offset}, {}", width.int("i64", !below)));
        let inside = self.t.value(format_args!("and {ty} {offset}, {}", width.int("i64", below)));
        (unit, inside)
    }

    /// At which bit of its unit each lane's part begins.
    fn shift_of_parts(&mut self, parts: &Parts<'_>, inside: &Opd) -> Opd {
        let width = Self::width_of_parts(parts);
        let element = format!("i{}", parts.unit * 8);
        let (from, to) = (width.of("i64"), width.of(&element));
        let bits = self.t.value(format_args!("shl {from} {inside}, {}", width.int("i64", 3)));
        let bits = match parts.unit {
            8 => bits,
            _ => self.t.value(format_args!("trunc {from} {bits} to {to}")),
        };
        if parts.is_uniform { self.t.splat(&element, &bits) } else { bits }
    }

    /// One scalar of all lanes.
    pub(super) fn load_part(&mut self, parts: &Parts<'_>, extra: i64, scalar: Scalar) -> Opd {
        let (units, inside) = self.units_of_parts(parts, extra);
        let bits = parts.unit * 8;
        let ty = lanes_type(&format!("i{bits}"));
        let raw = if parts.is_uniform {
            let bytes = self.t.mul("i64", &units, &Opd::Int(LANES as i64));
            let at = self.t.offset(parts.base, &bytes);
            let raw = self.t.load(&ty, &at, parts.unit);
            self.t.value(format_args!("freeze {ty} {raw}"))
        } else {
            let places = self.lane_places(&units, parts.unit);
            self.need(Helper::Gather(bits));
            self.t.value(format_args!("call {ty} @am.gather.{bits}(ptr {}, <32 x i64> {places})", parts.base))
        };
        let shift = self.shift_of_parts(parts, &inside);
        let shifted = self.t.value(format_args!("lshr {ty} {raw}, {shift}"));
        let own = format!("i{}", scalar.size() * 8);
        let narrow = lanes_type(&own);
        let part = self.t.value(format_args!("trunc {ty} {shifted} to {narrow}"));
        match scalar {
            Scalar::Bool => self.t.value(format_args!("icmp ne {narrow} {part}, zeroinitializer")),
            scalar => reinterpret(&mut self.t, Width::All, &own, scalar_type(scalar), &part),
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
        let own = format!("i{}", scalar.size() * 8);
        let narrow = lanes_type(&own);
        let value = match scalar {
            Scalar::Bool => self.t.value(format_args!("zext {MASK} {value} to {narrow}")),
            scalar => reinterpret(&mut self.t, Width::All, scalar_type(scalar), &own, value),
        };
        if let Some(good) = good {
            let places = self.lane_places(&units, parts.unit);
            let places = self.t.value(format_args!("add <32 x i64> {places}, {inside}"));
            return self.scatter_private(parts.base, &places, good, scalar.size() * 8, &value);
        }
        let ty = lanes_type(&format!("i{}", parts.unit * 8));
        let bytes = self.t.mul("i64", &units, &Opd::Int(LANES as i64));
        let at = self.t.offset(parts.base, &bytes);
        let old = self.t.load(&ty, &at, parts.unit);
        let shift = self.shift_of_parts(parts, &inside);
        let wide = self.t.value(format_args!("zext {narrow} {value} to {ty}"));
        let wide = self.t.value(format_args!("shl {ty} {wide}, {shift}"));
        let ones = self.t.value(format_args!("zext {narrow} splat ({own} -1) to {ty}"));
        let place = self.t.value(format_args!("shl {ty} {ones}, {shift}"));
        let others = self.t.value(format_args!("xor {ty} {place}, splat (i{} -1)", parts.unit * 8));
        let kept = self.t.value(format_args!("and {ty} {old}, {others}"));
        let mut new = self.t.value(format_args!("or {ty} {kept}, {wide}"));
        if let Mask::Some(mask) = self.position.mask.clone() {
            new = self.t.select(MASK, &mask, &ty, &new, &old);
        }
        self.t.store(&ty, &new, &at, parts.unit);
    }
}
