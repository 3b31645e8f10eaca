//! Instructions that put vectors together, take them apart and choose between them.

use super::{LANES, Opd, Text};

impl Text {
    /// Every lane the same.
    pub(crate) fn splat(&mut self, element: &str, value: &Opd) -> Opd {
        self.splat_to(LANES, element, value)
    }

    /// A vector of `n` copies.
    pub(crate) fn splat_to(&mut self, n: usize, element: &str, value: &Opd) -> Opd {
        assert!(n > 0, "LLVM has no vectors without elements");
        self.expect(value, element);
        match value {
            Opd::Int(0) => Opd::text("zeroinitializer"),
            Opd::Text(t) if matches!(&**t, "false" | "zeroinitializer") => Opd::text("zeroinitializer"),
            Opd::Text(t) if &**t == "poison" => Opd::text("poison"),
            c if c.is_const() => Opd::text(format!("splat ({element} {c})")),
            _ => {
                let one = self
                    .value(format_args!("insertelement <{n} x {element}> poison, {element} {value}, i64 0"));
                self.value(format_args!(
                    "shufflevector <{n} x {element}> {one}, <{n} x {element}> poison, <{n} x i32> zeroinitializer"
                ))
            }
        }
    }

    /// Elements of the concatenation of two vectors of `n` elements; `None` is any.
    pub(crate) fn shuffle(
        &mut self,
        element: &str,
        n: usize,
        a: &Opd,
        b: &Opd,
        picks: &[Option<usize>],
    ) -> Opd {
        assert!(!picks.is_empty(), "a shuffle has at least one element");
        assert!(picks.iter().flatten().all(|&pick| pick < 2 * n), "a shuffle picks from two vectors of {n}");
        let list: Vec<String> = picks
            .iter()
            .map(|pick| pick.map_or("i32 poison".to_owned(), |index| format!("i32 {index}")))
            .collect();
        self.value(format_args!(
            "shufflevector <{n} x {element}> {a}, <{n} x {element}> {b}, <{} x i32> <{}>",
            picks.len(),
            list.join(", ")
        ))
    }

    /// The parts, one after the other; their number is a power of two.
    pub(crate) fn concat(&mut self, element: &str, mut length: usize, mut parts: Vec<Opd>) -> Opd {
        assert!(parts.len().is_power_of_two(), "the number of parts is a power of two, not {}", parts.len());
        while parts.len() > 1 {
            let picks: Vec<_> = (0..2 * length).map(Some).collect();
            parts = parts
                .chunks(2)
                .map(|pair| self.shuffle(element, length, &pair[0], &pair[1], &picks))
                .collect();
            length *= 2;
        }
        parts.pop().expect("at least one part")
    }

    /// `select` of whole vectors or scalars by one `i1` or a mask; `ty` is the values' type.
    pub(crate) fn select(
        &mut self,
        condition_type: &str,
        condition: &Opd,
        ty: &str,
        a: &Opd,
        b: &Opd,
    ) -> Opd {
        debug_assert!(
            condition_type == "i1" || condition_type.ends_with(" x i1>") && ty.starts_with('<'),
            "a {condition_type} does not choose between values of type {ty}"
        );
        self.expect(condition, condition_type);
        self.expect(a, ty);
        self.expect(b, ty);
        if a == b || condition.is_text("true") {
            return a.clone();
        }
        if condition.is_text("false") {
            return b.clone();
        }
        self.value(format_args!("select {condition_type} {condition}, {ty} {a}, {ty} {b}"))
    }
}
