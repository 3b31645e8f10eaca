//! The text of types in MSL.

use super::words;
use crate::token::Text;

/// The text of a type without words that are CUDA's.
pub(super) fn plain_type(text: &Text<'_>, (first, last): (usize, usize)) -> String {
    let mut out = Vec::new();
    for token in first..=last {
        let word = text.at(token);
        let is_second_long = word == "long" && token > first && text.at(token - 1) == "long";
        match words::word(word) {
            _ if is_second_long || word.starts_with("__shared") || word == "__constant__" => {}
            Some(msl) if msl.is_empty() => {}
            Some(msl) => out.push(msl.into_owned()),
            None => out.push(word.replace("double", "float")),
        }
    }
    out.join(" ").replace(" < ", "<").replace(" >", ">").replace(" : : ", "::")
}
