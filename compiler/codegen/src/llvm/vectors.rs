//! Instructions that put vectors together and take them apart.

use super::{Builder, I32, I64, LANES, Opd, Type};

/// The number of an element: known, or an operand.
pub(crate) trait Index {
    /// The operand, which is an `i64` if the number is known.
    fn index(self) -> Opd;
}

impl Index for usize {
    fn index(self) -> Opd {
        Opd::i64(self as i64)
    }
}

impl Index for &Opd {
    fn index(self) -> Opd {
        assert!(matches!(self.ty(), I32 | I64), "{self} is a {}, not the number of an element", self.ty());
        self.clone()
    }
}

impl Builder {
    /// Every lane the same.
    pub(crate) fn splat(&mut self, value: &Opd) -> Opd {
        self.splat_to(LANES, value)
    }

    /// A vector of `n` copies.
    pub(crate) fn splat_to(&mut self, n: usize, value: &Opd) -> Opd {
        if value.is_const() {
            return value.splat(n);
        }
        let ty = value.ty().vector(n);
        let one = self.insert(&Opd::poison(ty), value, 0);
        self.result(ty, format_args!("shufflevector {ty} {one}, {ty} poison, <{n} x i32> zeroinitializer"))
    }

    /// An element of a vector.
    #[track_caller]
    pub(crate) fn extract(&mut self, vector: &Opd, index: impl Index) -> Opd {
        let ty = vector.ty();
        assert!(ty.is_vector(), "{vector} is a {ty}, not a vector");
        let index = index.index();
        self.result(ty.element(), format_args!("extractelement {ty} {vector}, {}", index.typed()))
    }

    /// The vector with another element.
    #[track_caller]
    pub(crate) fn insert(&mut self, vector: &Opd, value: &Opd, index: impl Index) -> Opd {
        let ty = vector.ty();
        assert!(ty.is_vector(), "{vector} is a {ty}, not a vector");
        self.expect(value, ty.element());
        let index = index.index();
        self.result(ty, format_args!("insertelement {ty} {vector}, {}, {}", value.typed(), index.typed()))
    }

    /// Elements of the concatenation of two vectors; `None` is any.
    #[track_caller]
    pub(crate) fn shuffle(&mut self, a: &Opd, b: &Opd, picks: &[Option<usize>]) -> Opd {
        let ty = a.ty();
        let Type::Vector(n, _) = ty else { panic!("{a} is a {ty}, not a vector") };
        self.expect(b, ty);
        assert!(picks.iter().flatten().all(|&pick| pick < 2 * n), "a shuffle picks from two vectors of {n}");
        let list: Vec<String> = picks
            .iter()
            .map(|pick| pick.map_or("i32 poison".to_owned(), |index| format!("i32 {index}")))
            .collect();
        self.result(
            ty.element().vector(picks.len()),
            format_args!("shufflevector {ty} {a}, {ty} {b}, <{} x i32> <{}>", picks.len(), list.join(", ")),
        )
    }

    /// Elements of a vector; `None` is any.
    #[track_caller]
    pub(crate) fn pick(&mut self, vector: &Opd, picks: &[Option<usize>]) -> Opd {
        self.shuffle(vector, &Opd::poison(vector.ty()), picks)
    }

    /// The parts, one after the other; their number is a power of two.
    #[track_caller]
    pub(crate) fn concat(&mut self, mut parts: Vec<Opd>) -> Opd {
        assert!(parts.len().is_power_of_two(), "the number of parts is a power of two, not {}", parts.len());
        while parts.len() > 1 {
            let picks: Vec<_> = (0..2 * parts[0].ty().count()).map(Some).collect();
            parts = parts.chunks(2).map(|pair| self.shuffle(&pair[0], &pair[1], &picks)).collect();
        }
        parts.pop().expect("at least one part")
    }
}
