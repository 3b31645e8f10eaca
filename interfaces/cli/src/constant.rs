//! `--constant ID|NAME=TYPE:VALUE`.

use anymetal::ScalarType;
use anymetal_driver::{ConstantKey, ConstantValue};

use crate::scalar;

/// A value for a function constant, as the command line gives it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    /// Which.
    pub(crate) key: ConstantKey,
    /// Its value.
    pub(crate) value: ConstantValue,
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
        Ok(Constant { key, value: ConstantValue::Typed(declared, scalar::parse(declared, value)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal::ScalarType;

    #[test]
    fn constants_are_named_or_numbered_and_typed() {
        let constant = Constant::parse("3=bool:true").unwrap();
        assert_eq!(constant.key, ConstantKey::Index(3));
        assert_eq!(constant.value, ConstantValue::Typed(ScalarType::Bool, 1));
        assert_eq!(Constant::parse("width=i32:-1").unwrap().key, ConstantKey::Name("width".into()));
        for text in ["width", "width=3", "width=int:3", "=i32:1", "width=u8:300"] {
            assert!(Constant::parse(text).is_err(), "{text}");
        }
    }
}
