//! Values for a kernel's function constants.

use anymetal_driver::ConstantValue;
use anymetal_types::scalar::ScalarType;
use anymetal_types::scalar_value::Scalar;

pub use anymetal_driver::ConstantKey;

/// Values by index (`[[function_constant(0)]]`) or by name. A later value for the same constant counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionConstants {
    values: Vec<(ConstantKey, ConstantValue)>,
}

impl FunctionConstants {
    /// None.
    pub fn new() -> Self {
        FunctionConstants::default()
    }

    /// With a value, converted to the type that the source declares.
    #[must_use]
    pub fn with(self, constant: impl Into<ConstantKey>, value: impl Into<Scalar>) -> Self {
        self.with_value(constant.into(), ConstantValue::Converted(value.into()))
    }

    /// With the bits of a value whose type must be the declared one.
    #[must_use]
    pub fn with_typed(self, constant: impl Into<ConstantKey>, scalar: ScalarType, bits: u64) -> Self {
        self.with_value(constant.into(), ConstantValue::Typed(scalar, bits))
    }

    fn with_value(mut self, key: ConstantKey, value: ConstantValue) -> Self {
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
        self.values.iter().map(|(key, value)| (key, value.scalar()))
    }

    /// The values as they are given, in order.
    pub(crate) fn values(&self) -> &[(ConstantKey, ConstantValue)] {
        &self.values
    }

    /// Whether nothing was given.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}
