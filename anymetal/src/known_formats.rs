//! Formats of textures and states of samplers that a launch comes with: code is made for them as it is for
//! threadgroup sizes.

use crate::constants::FunctionConstants;
use anymetal_types::scalar_value::Scalar;

/// Values of function constants that programs do not see, by their indices in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownFormats {
    values: Vec<(u32, u64)>,
}

impl KnownFormats {
    /// Sets one; the last value counts.
    pub(crate) fn set(&mut self, constant: u32, value: u64) {
        match self.values.binary_search_by_key(&constant, |(known, _)| *known) {
            Ok(at) => self.values[at].1 = value,
            Err(at) => self.values.insert(at, (constant, value)),
        }
    }

    /// The program's own constants with these.
    pub(crate) fn added_to(&self, constants: &FunctionConstants) -> FunctionConstants {
        let add = |constants: FunctionConstants, &(index, value): &(u32, u64)| {
            constants.with(index, Scalar::Integer(value.into()))
        };
        self.values.iter().fold(constants.clone(), add)
    }
}
