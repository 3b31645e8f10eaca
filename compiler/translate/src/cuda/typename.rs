//! The text of types in MSL.

use super::words;
use crate::token::Text;

/// The text of a type without words that are CUDA's.
pub(super) fn plain_type(text: &Text<'_>, (first, last): (usize, usize)) -> String {
    let mut out = Vec::new();
    for token in first..=last {
        let word = text.at(token);
        let is_second_long = word == "long" && token > first && text.at(token - 1) == "long";
        let vector3 = words::vector(word).filter(|(_, width)| *width == 3);
        match words::word(word) {
            _ if is_second_long || word.starts_with("__shared") || word == "__constant__" => {}
            Some("") => {}
            Some(msl) => out.push(msl.to_owned()),
            None if vector3.is_some() => out.push(format!("packed_{}", word.replace("double", "float"))),
            None => out.push(word.replace("double", "float")),
        }
    }
    out.join(" ").replace(" < ", "<").replace(" >", ">").replace(" : : ", "::")
}
