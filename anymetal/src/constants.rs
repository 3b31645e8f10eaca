//! Values for a kernel's function constants.

use anymetal_core::submission::argument::Scalar;
use anymetal_hal::artifact::ScalarType;
use half::{bf16, f16};

/// Values by index (`[[function_constant(0)]]`) or by name. A later value for the same constant counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionConstants {
    values: Vec<(ConstantKey, Value)>,
}

/// A value as it is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// To be converted to the declared type.
    Converted(Scalar),
    /// Bits of a type that must be the declared one.
    Typed(ScalarType, u64),
}

impl Value {
    fn scalar(self) -> Scalar {
        match self {
            Value::Converted(scalar) => scalar,
            Value::Typed(scalar, bits) => match scalar {
                ScalarType::Bool => Scalar::Bool(bits != 0),
                ScalarType::I8 => Scalar::Integer((bits as i8).into()),
                ScalarType::I16 => Scalar::Integer((bits as i16).into()),
                ScalarType::I32 => Scalar::Integer((bits as i32).into()),
                ScalarType::I64 => Scalar::Integer((bits as i64).into()),
                ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => {
                    Scalar::Integer(bits.into())
                }
                ScalarType::F16 => Scalar::Float(f16::from_bits(bits as u16).to_f64()),
                ScalarType::BF16 => Scalar::Float(bf16::from_bits(bits as u16).to_f64()),
                ScalarType::F32 => Scalar::Float(f32::from_bits(bits as u32).into()),
            },
        }
    }
}

/// Which function constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConstantKey {
    /// By `[[function_constant(index)]]`.
    Index(u32),
    /// By its name in the source.
    Name(String),
    /// One component of a vector, as [`FunctionConstants::with_vector`] gives them.
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

impl std::fmt::Display for ConstantKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConstantKey::Index(index) => write!(formatter, "{index}"),
            ConstantKey::Name(name) => write!(formatter, "`{name}`"),
            ConstantKey::Component(whole, lane) => write!(formatter, "component {lane} of {whole}"),
        }
    }
}

impl FunctionConstants {
    /// None.
    pub fn new() -> Self {
        FunctionConstants::default()
    }

    /// With a value, converted to the type that the source declares.
    #[must_use]
    pub fn with(self, constant: impl Into<ConstantKey>, value: impl Into<Scalar>) -> Self {
        self.with_value(constant.into(), Value::Converted(value.into()))
    }

    /// With the bits of a value whose type must be the declared one.
    #[must_use]
    pub fn with_typed(self, constant: impl Into<ConstantKey>, scalar: ScalarType, bits: u64) -> Self {
        self.with_value(constant.into(), Value::Typed(scalar, bits))
    }

    fn with_value(mut self, key: ConstantKey, value: Value) -> Self {
        self.values.retain(|(known, _)| *known != key);
        self.values.push((key, value));
        self
    }

    /// With the components of a vector (`constant ushort2 stride [[function_constant(2)]]`), of which there
    /// must be as many as the source declares.
    #[must_use]
    pub fn with_vector(mut self, constant: impl Into<ConstantKey>, components: &[Scalar]) -> Self {
        let whole = constant.into();
        for (lane, component) in (0u8..).zip(components) {
            self = self.with(ConstantKey::Component(Box::new(whole.clone()), lane), *component);
        }
        self
    }

    /// What was given, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&ConstantKey, Scalar)> {
        self.values().map(|(key, value)| (key, value.scalar()))
    }

    /// The values as they are given, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&ConstantKey, Value)> {
        self.values.iter().map(|(key, value)| (key, *value))
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
