//! Aliases with an alignment: `typedef float4 loose __attribute__((aligned(4)))`.
//!
//! In MSL structures, members and variables have alignments, aliases do not. The attribute moves to the
//! members of structures that have the alias as their type. A vector with the alignment of its scalar is a
//! packed one.

use std::collections::BTreeMap;

use super::Translator;
use super::declarations::vector;

/// An alias whose alignment its uses need.
struct Alias {
    name: String,
    alignment: String,
}

impl Translator<'_> {
    /// Rewrites aliases with an alignment and the members of their types.
    pub(super) fn alignments(&mut self) {
        let mut aligned: BTreeMap<String, String> = BTreeMap::new();
        // For each open brace, whether it is a structure's.
        let mut braces = Vec::new();
        for token in 0..self.text.len() {
            match self.text.at(token) {
                "typedef" if !self.text.in_directive(token) => {
                    let alias = self.alias(token);
                    aligned.extend(alias.map(|alias| (alias.name, alias.alignment)));
                }
                "{" => braces.push(self.is_record(token)),
                "}" => drop(braces.pop()),
                word => {
                    let before = self.text.at(token.wrapping_sub(1));
                    let is_member = braces.last() == Some(&true)
                        && matches!(before, "{" | ";" | "}" | "const" | "volatile")
                        && self.text.at(token + 1) != "*";
                    if let Some(amount) = aligned.get(word).filter(|_| is_member) {
                        self.text.insert_before(token, &format!("__attribute__((aligned({amount}))) "));
                    }
                }
            }
        }
    }

    /// Takes the alignment from the `typedef` at a token, unless it is that of a structure defined there.
    fn alias(&mut self, start: usize) -> Option<Alias> {
        let end = (start..self.text.len()).find(|&token| matches!(self.text.at(token), ";" | "{"))?;
        if self.text.at(end) == "{" {
            return None;
        }
        let attribute = (start..end).find(|&token| self.text.at(token) == "__attribute__")?;
        let close = self.text.closing(attribute + 1)?;
        let list = self.text.parts(attribute + 2, self.text.closing(attribute + 2)?);
        let of_alignment = |first: usize| self.text.at(first).trim_matches('_') == "aligned";
        let (first, last) = list.into_iter().find(|&(first, _)| of_alignment(first))?;
        let alignment = match self.text.at(first + 1) {
            "(" => self.text.between(first + 2, last - 1).to_owned(),
            _ => "16".to_owned(),
        };
        let words: Vec<usize> = (start + 1..end)
            .filter(|token| !(attribute..=close).contains(token) && self.text.is_word(*token))
            .collect();
        let (&name, ty) = words.split_last()?;
        let name = self.text.at(name).to_owned();
        self.text.remove_all(attribute..=close);
        let base = *ty.last()?;
        let Some((scalar, _)) = vector(self.text.at(base)) else {
            self.check_alignment(attribute, base, &alignment);
            return Some(Alias { name, alignment });
        };
        if size_of(scalar).is_some_and(|size| alignment == size.to_string()) {
            let packed = format!("packed_{}", self.text.at(base));
            self.text.replace(base, packed);
            return None;
        }
        Some(Alias { name, alignment })
    }

    /// An alias of a number with less than its own alignment means accesses that Metal does not have.
    fn check_alignment(&mut self, attribute: usize, base: usize, alignment: &str) {
        let size = size_of(self.text.at(base));
        if size.zip(alignment.parse().ok()).is_some_and(|(size, alignment): (u32, u32)| alignment < size) {
            let hint = "read the bytes, or use `as_type`";
            self.refuse(attribute, "a number with less than its own alignment", hint);
        }
    }

    /// Whether the brace begins the members of a structure or union.
    fn is_record(&self, brace: usize) -> bool {
        let mut token = brace;
        while token > 0 {
            token -= 1;
            match self.text.at(token) {
                "struct" | "union" => return true,
                ")" => match self.text.opening(token) {
                    Some(open) if self.text.at(open.wrapping_sub(1)) == "__attribute__" => token = open - 1,
                    _ => return false,
                },
                _ if self.text.is_word(token) && brace - token <= MAX_HEAD => {}
                _ => return false,
            }
        }
        false
    }
}

/// The most tokens between `struct` and its brace that are looked at.
const MAX_HEAD: usize = 64;

/// The bytes of a number.
fn size_of(scalar: &str) -> Option<u32> {
    Some(match scalar {
        "char" | "uchar" | "bool" => 1,
        "short" | "ushort" | "half" => 2,
        "int" | "uint" | "float" => 4,
        "long" | "ulong" => 8,
        _ => return None,
    })
}
