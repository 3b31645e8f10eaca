//! Operands of instructions: registers and constants.

use std::fmt;
use std::rc::Rc;

/// An operand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Opd {
    /// An integer constant (of any integer type but `i1`).
    Int(i64),
    /// A register.
    Reg(u32),
    /// Another constant, as text.
    Text(Rc<str>),
}

impl Opd {
    /// A constant as text.
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// `true` or `false`.
    pub(crate) fn bool(value: bool) -> Self {
        Self::text(if value { "true" } else { "false" })
    }

    /// Whether it is this text.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        matches!(self, Self::Text(t) if &**t == text)
    }

    /// Whether it can be an operand of this type: registers always, constants if the type has such.
    pub(crate) fn fits(&self, ty: &str) -> bool {
        let is_any = |text: &str| matches!(text, "poison" | "undef" | "zeroinitializer");
        match (self, ty) {
            (Self::Reg(_), _) => true,
            (Self::Int(n), "i8") => (i64::from(i8::MIN)..=i64::from(u8::MAX)).contains(n),
            (Self::Int(n), "i16") => (i64::from(i16::MIN)..=i64::from(u16::MAX)).contains(n),
            (Self::Int(n), "i32") => (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(n),
            (Self::Int(_), ty) => matches!(ty, "i64" | "i128"),
            (Self::Text(text), _) if is_any(text) => true,
            (Self::Text(text), "i1") => matches!(&**text, "true" | "false"),
            (Self::Text(text), ty) if ty.starts_with("ptr") => {
                &**text == "null" || text.starts_with(['@', '%']) || text.contains('(')
            }
            (Self::Text(text), _) if ty.starts_with('<') => {
                text.starts_with(['<', 's']) || text.starts_with('%')
            }
            (Self::Text(text), _) => !matches!(&**text, "true" | "false" | "null"),
        }
    }

    /// Whether it is a constant.
    pub(crate) fn is_const(&self) -> bool {
        !matches!(self, Self::Reg(_))
    }
}

impl fmt::Display for Opd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(n) => write!(f, "{n}"),
            Self::Reg(n) => write!(f, "%r{n}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The text of a vector constant.
pub(crate) fn vector_const(element: &str, values: impl IntoIterator<Item = i64>) -> Opd {
    let values: Vec<i64> = values.into_iter().collect();
    assert!(!values.is_empty(), "LLVM has no vectors without elements");
    assert!(
        element.starts_with('i') || values.iter().all(|&v| v == 0),
        "{element} constants are not integers"
    );
    let show = |v: i64| match element {
        "i1" => if v & 1 == 1 { "true" } else { "false" }.to_owned(),
        _ => wrap_int(element, v).to_string(),
    };
    if values.iter().all(|&v| v == 0) {
        return Opd::text("zeroinitializer");
    }
    let items: Vec<String> = values.iter().map(|&v| format!("{element} {}", show(v))).collect();
    Opd::text(format!("<{}>", items.join(", ")))
}

/// The integer as a value of that type, sign-extended.
pub(crate) fn wrap_int(ty: &str, value: i64) -> i64 {
    debug_assert!(ty.starts_with('i') && ty != "i1", "{ty} does not wrap as an integer");
    match ty {
        "i8" => i64::from(value as i8),
        "i16" => i64::from(value as i16),
        "i32" => i64::from(value as i32),
        _ => value,
    }
}
