//! Instructions on scalar integers, which fold where the operands are constants.

use super::{Opd, Text, wrap_int};

impl Text {
    /// `a + b`.
    pub(crate) fn add(&mut self, ty: &str, a: &Opd, b: &Opd) -> Opd {
        self.expect(a, ty);
        self.expect(b, ty);
        match (a, b) {
            (Opd::Int(x), Opd::Int(y)) => Opd::Int(wrap_int(ty, x.wrapping_add(*y))),
            (Opd::Int(0), x) | (x, Opd::Int(0)) => x.clone(),
            _ => self.value(format_args!("add {ty} {a}, {b}")),
        }
    }

    /// `a - b`.
    pub(crate) fn sub(&mut self, ty: &str, a: &Opd, b: &Opd) -> Opd {
        self.expect(a, ty);
        self.expect(b, ty);
        match (a, b) {
            (Opd::Int(x), Opd::Int(y)) => Opd::Int(wrap_int(ty, x.wrapping_sub(*y))),
            (x, Opd::Int(0)) => x.clone(),
            _ => self.value(format_args!("sub {ty} {a}, {b}")),
        }
    }

    /// `a × b`.
    pub(crate) fn mul(&mut self, ty: &str, a: &Opd, b: &Opd) -> Opd {
        self.expect(a, ty);
        self.expect(b, ty);
        match (a, b) {
            (Opd::Int(x), Opd::Int(y)) => Opd::Int(wrap_int(ty, x.wrapping_mul(*y))),
            (Opd::Int(0), _) | (_, Opd::Int(0)) => Opd::Int(0),
            (Opd::Int(1), x) | (x, Opd::Int(1)) => x.clone(),
            _ => self.value(format_args!("mul {ty} {a}, {b}")),
        }
    }

    /// `a && b` of `i1`.
    pub(crate) fn and(&mut self, a: &Opd, b: &Opd) -> Opd {
        self.expect(a, "i1");
        self.expect(b, "i1");
        if a.is_text("true") || b.is_text("false") {
            return b.clone();
        }
        if b.is_text("true") || a.is_text("false") {
            return a.clone();
        }
        self.value(format_args!("and i1 {a}, {b}"))
    }

    /// `icmp` of scalars.
    pub(crate) fn icmp(&mut self, predicate: &str, ty: &str, a: &Opd, b: &Opd) -> Opd {
        self.expect(a, ty);
        self.expect(b, ty);
        if let (Opd::Int(x), Opd::Int(y)) = (a, b) {
            let result = match predicate {
                "eq" => Some(x == y),
                "ne" => Some(x != y),
                "slt" => Some(x < y),
                "sle" => Some(x <= y),
                "sgt" => Some(x > y),
                "sge" => Some(x >= y),
                _ => None,
            };
            if let Some(result) = result {
                return Opd::bool(result);
            }
        }
        self.value(format_args!("icmp {predicate} {ty} {a}, {b}"))
    }
}
