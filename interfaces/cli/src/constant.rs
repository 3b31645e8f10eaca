//! `--constant ID|NAME=TYPE:VALUE`.

use anymetal::FunctionConstants;
use anymetal::reflection::ScalarType;
use anymetal_driver::{ConstantKey, ConstantValue};

use crate::scalar;

/// A value for a function constant, as the command line gives it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    /// Which.
    pub(crate) key: ConstantKey,
    /// The type of its value.
    scalar: ScalarType,
    /// The bits of its value.
    bits: u64,
}

impl Constant {
    /// Parses the option's text.
    pub(crate) fn parse(text: &str) -> Result<Constant, String> {
        let (key, value) = text.split_once('=').ok_or("write ID=TYPE:VALUE or NAME=TYPE:VALUE")?;
        let (name, value) = value.split_once(':').ok_or("the value needs its type, as in u32:7")?;
        let declared = ScalarType::named(name)
            .ok_or_else(|| format!("`{name}` is no type; there are {}", scalar::all_names()))?;
        if key.is_empty() {
            return Err("the constant's name is missing".to_owned());
        }
        let key = key.parse().map_or_else(|_| ConstantKey::Name(key.to_owned()), ConstantKey::Index);
        Ok(Constant { key, scalar: declared, bits: scalar::parse(declared, value)? })
    }

    /// Its value for the compiler.
    pub(crate) fn value(&self) -> ConstantValue {
        ConstantValue::Typed(self.scalar, self.bits)
    }

    /// The constants with this one.
    pub(crate) fn added_to(&self, constants: FunctionConstants) -> FunctionConstants {
        match &self.key {
            ConstantKey::Name(name) => constants.with_typed(name.as_str(), self.scalar, self.bits),
            ConstantKey::Index(index) => constants.with_typed(*index, self.scalar, self.bits),
            ConstantKey::Component(..) => unreachable!("the option has no syntax for components"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_named_or_numbered_and_typed() {
        let constant = Constant::parse("3=bool:true").unwrap();
        assert_eq!(constant.key, ConstantKey::Index(3));
        assert_eq!(constant.value(), ConstantValue::Typed(ScalarType::Bool, 1));
        assert_eq!(Constant::parse("width=i32:-1").unwrap().key, ConstantKey::Name("width".into()));
        for text in ["width", "width=3", "width=int:3", "=i32:1", "width=u8:300"] {
            assert!(Constant::parse(text).is_err(), "{text}");
        }
    }
}
