//! Values for function constants: how they are given, and what they become.
//!
//! Owns [`ConstantKey`], [`ConstantValue`] and their resolution against a module. Invariant: a value reaches
//! the module only if the declared type holds it exactly (numbers for floating-point types are rounded to
//! nearest); nothing is truncated.

use std::fmt;

use anymetal_diagnostics::suggest;
use anymetal_hal::artifact::{ElementType, FunctionConstantInfo, ScalarType};
use anymetal_ir::{FunctionConstant, FunctionConstantId, Module};
use anymetal_types::scalar_value::Scalar;
use serde::{Deserialize, Serialize};

use crate::error::CompileError;
use crate::key::KeyBuilder;
use crate::reflection::scalar_type;

/// Which function constant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ConstantKey {
    /// By `[[function_constant(index)]]`.
    Index(u32),
    /// By its name in the source.
    Name(String),
    /// One component of a vector.
    Component(Box<ConstantKey>, u8),
}

impl From<u32> for ConstantKey {
    fn from(index: u32) -> Self {
        ConstantKey::Index(index)
    }
}

/// Literals are `i32`; a negative one names no constant and is reported as unknown.
impl From<i32> for ConstantKey {
    fn from(index: i32) -> Self {
        u32::try_from(index).map_or_else(|_| ConstantKey::Name(index.to_string()), ConstantKey::Index)
    }
}

impl From<&str> for ConstantKey {
    fn from(name: &str) -> Self {
        ConstantKey::Name(name.to_owned())
    }
}

impl From<String> for ConstantKey {
    fn from(name: String) -> Self {
        ConstantKey::Name(name)
    }
}

impl ConstantKey {
    /// Whether this is that constant of the module.
    fn names(&self, constant: &FunctionConstant) -> bool {
        match self {
            ConstantKey::Index(index) => constant.index == *index,
            ConstantKey::Name(name) => constant.name == *name,
            ConstantKey::Component(whole, lane) => constant.lane == *lane && whole.names(constant),
        }
    }

    fn is_component(&self) -> bool {
        matches!(self, ConstantKey::Component(..))
    }

    /// Adds the key to that of a compilation.
    pub(crate) fn add_to(&self, key: KeyBuilder) -> KeyBuilder {
        match self {
            ConstantKey::Index(index) => key.field("index").number((*index).into()),
            ConstantKey::Name(name) => key.field("name").field(name),
            ConstantKey::Component(whole, lane) => {
                whole.add_to(key.field("component").number((*lane).into()))
            }
        }
    }
}

impl fmt::Display for ConstantKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConstantKey::Index(index) => write!(formatter, "{index}"),
            ConstantKey::Name(name) => write!(formatter, "`{name}`"),
            ConstantKey::Component(whole, lane) => write!(formatter, "component {lane} of {whole}"),
        }
    }
}

/// The value of a function constant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum ConstantValue {
    /// Converted to the declared type.
    Converted(Scalar),
    /// For exactly that type: the value's bits, zero-extended.
    Typed(ScalarType, u64),
}

impl<S: Into<Scalar>> From<S> for ConstantValue {
    fn from(value: S) -> Self {
        ConstantValue::Converted(value.into())
    }
}

impl ConstantValue {
    /// The value without its type.
    #[must_use]
    pub fn scalar(self) -> Scalar {
        match self {
            ConstantValue::Converted(value) => value,
            ConstantValue::Typed(scalar, bits) => Scalar::from_bits(scalar, bits),
        }
    }

    /// The bits of a value of that type, zero-extended; `None` if the type cannot hold it.
    fn bits(self, declared: ScalarType) -> Option<u64> {
        match self {
            ConstantValue::Converted(value) => value.to_bits(declared),
            ConstantValue::Typed(given, bits) => (given == declared).then_some(bits),
        }
    }

    fn describe(self) -> String {
        match self {
            ConstantValue::Converted(value) => value.to_string(),
            ConstantValue::Typed(given, _) => format!("a `{}`", given.msl_name()),
        }
    }

    /// Adds the value to a key.
    pub(crate) fn add_to(self, key: KeyBuilder) -> KeyBuilder {
        match self {
            ConstantValue::Converted(Scalar::Bool(value)) => key.field("bool").number(value.into()),
            ConstantValue::Converted(Scalar::Integer(value)) => {
                key.field("integer").field(value.to_le_bytes())
            }
            ConstantValue::Converted(Scalar::Float(value)) => key.field("float").number(value.to_bits()),
            ConstantValue::Typed(scalar, bits) => key.field(scalar.msl_name()).number(bits),
        }
    }
}

/// Adds values with their constants to a key.
pub(crate) fn add_to(values: &[(ConstantKey, ConstantValue)], mut key: KeyBuilder) -> KeyBuilder {
    key = key.number(values.len() as u64);
    for (constant, value) in values {
        key = value.add_to(constant.add_to(key));
    }
    key
}

/// Finds each value's constant in the module. With `ignore_unknown`, values for constants that this kernel
/// does not have are left out instead of refused, as Metal does.
pub(crate) fn resolve(
    values: &[(ConstantKey, ConstantValue)],
    module: &Module,
    kernel: &str,
    ignore_unknown: bool,
) -> Result<Vec<(FunctionConstantId, Option<u64>)>, CompileError> {
    let mut resolved = Vec::with_capacity(values.len());
    for (key, value) in values {
        let mut found = false;
        // Several declarations may share an index: all get the value.
        for (position, constant) in module.function_constants.iter().enumerate().filter(|(_, c)| key.names(c))
        {
            found = true;
            let declared = scalar_type(constant.ty, constant.signed);
            let fits = key.is_component() == (constant.lanes > 1);
            let bits = value.bits(declared).filter(|_| fits).ok_or_else(|| CompileError::ConstantType {
                kernel: kernel.to_owned(),
                constant: key.to_string(),
                expected: type_name(constant),
                got: value.describe(),
            })?;
            resolved.push((FunctionConstantId(position as u32), Some(bits)));
        }
        if !found && !ignore_unknown {
            return Err(unknown(key, module, kernel));
        }
    }
    Ok(resolved)
}

fn unknown(key: &ConstantKey, module: &Module, kernel: &str) -> CompileError {
    let of_program = || module.function_constants.iter().filter(|constant| constant.is_listed());
    let names = of_program().map(|constant| constant.name.as_str());
    let suggestion = match key {
        ConstantKey::Name(name) => suggest(name, names).map(str::to_owned),
        ConstantKey::Index(_) | ConstantKey::Component(..) => None,
    };
    CompileError::UnknownConstant {
        kernel: kernel.to_owned(),
        constant: key.to_string(),
        existing: of_program().map(|constant| describe(constant, false)).collect(),
        suggestion,
    }
}

/// A function constant in the words of reflection.
pub(crate) fn describe(constant: &FunctionConstant, required: bool) -> FunctionConstantInfo {
    let scalar = scalar_type(constant.ty, constant.signed);
    FunctionConstantInfo::new(
        constant.index,
        constant.name.clone(),
        match constant.lanes {
            1 => ElementType::Scalar(scalar),
            lanes => ElementType::Vector(scalar, lanes),
        },
    )
    .type_name(type_name(constant))
    .required(required)
}

/// `ushort`, `ushort2`
fn type_name(constant: &FunctionConstant) -> String {
    let scalar = scalar_type(constant.ty, constant.signed).msl_name();
    match constant.lanes {
        1 => scalar.to_owned(),
        lanes => format!("{scalar}{lanes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal_ir::Scalar as IrScalar;

    fn module() -> Module {
        let constant = |name: &str, index, ty, signed| FunctionConstant {
            name: name.into(),
            index,
            ty,
            signed,
            lane: 0,
            lanes: 1,
        };
        let stride =
            |lane| FunctionConstant { lane, lanes: 2, ..constant("stride", 4, IrScalar::I16, false) };
        let function_constants = vec![
            constant("width", 0, IrScalar::I32, false),
            constant("scale", 1, IrScalar::F32, false),
            constant("flag", 2, IrScalar::Bool, false),
            constant("offset", 3, IrScalar::I16, true),
            stride(0),
            stride(1),
        ];
        Module { function_constants, ..Module::default() }
    }

    fn one(key: ConstantKey, value: ConstantValue) -> Result<Option<u64>, CompileError> {
        resolve(&[(key, value)], &module(), "k", false).map(|resolved| resolved[0].1)
    }

    #[test]
    fn values_are_converted_exactly_or_refused() {
        let name = |name: &str| ConstantKey::Name(name.into());
        assert_eq!(one(name("width"), ConstantValue::from(7)).unwrap(), Some(7));
        assert_eq!(one(ConstantKey::Index(3), ConstantValue::from(-1)).unwrap(), Some(0xffff));
        assert_eq!(one(name("scale"), ConstantValue::from(2)).unwrap(), Some(0x4000_0000));
        assert_eq!(one(name("scale"), ConstantValue::from(0.5)).unwrap(), Some(0x3f00_0000));
        assert_eq!(one(name("flag"), ConstantValue::from(true)).unwrap(), Some(1));
        for (key, value) in [
            ("width", ConstantValue::from(-1)),
            ("width", ConstantValue::from(1.0)),
            ("width", ConstantValue::Typed(ScalarType::I32, 1)),
            ("flag", ConstantValue::from(1)),
            ("scale", ConstantValue::from((1 << 24) + 1)),
            ("offset", ConstantValue::from(1 << 15)),
        ] {
            assert!(
                matches!(one(name(key), value), Err(CompileError::ConstantType { .. })),
                "{key} {value:?}"
            );
        }
    }

    #[test]
    fn vectors_get_a_value_for_each_component() {
        let component = |lane| ConstantKey::Component(Box::new(ConstantKey::Name("stride".into())), lane);
        let given = [(component(1), ConstantValue::from(7)), (component(0), ConstantValue::from(3))];
        let resolved = resolve(&given, &module(), "k", false).unwrap();
        assert_eq!(resolved, [(FunctionConstantId(5), Some(7)), (FunctionConstantId(4), Some(3))]);
        let whole = one(ConstantKey::Index(4), ConstantValue::from(2)).unwrap_err().to_string();
        assert!(whole.contains("ushort2"), "{whole}");
        assert!(matches!(
            one(component(2), ConstantValue::from(2)),
            Err(CompileError::UnknownConstant { .. })
        ));
        let of_scalar = ConstantKey::Component(Box::new(ConstantKey::Index(0)), 0);
        assert!(matches!(one(of_scalar, ConstantValue::from(2)), Err(CompileError::ConstantType { .. })));
    }

    #[test]
    fn unknown_constants_name_those_that_exist() {
        let error = one(ConstantKey::Name("widht".into()), ConstantValue::from(1)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("did you mean `width`?") && text.contains("`bool flag` (index 2)"), "{text}");
        let ignored = resolve(&[(ConstantKey::Index(9), ConstantValue::from(true))], &module(), "k", true);
        assert_eq!(ignored.unwrap(), []);
    }
}
