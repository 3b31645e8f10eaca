//! Literals and components of vectors.

use super::declarations::vector;
use super::{Translator, wide};

impl Translator<'_> {
    pub(super) fn vectors(&mut self) {
        for token in 0..self.text.len() {
            let word = self.text.at(token);
            if vector(word).is_some_and(|(_, width)| width > 4) {
                self.note_wide(word);
            }
            // `(float4)(a, b, c, d)`
            let is_literal = word == "("
                && vector(self.text.at(token + 1)).is_some()
                && self.text.at(token + 2) == ")"
                && matches!(self.text.at(token + 3), "(" | "{");
            if is_literal {
                self.text.remove(token);
                self.text.remove(token + 2);
                if self.text.at(token + 3) == "{" {
                    self.text.replace(token + 3, "(");
                    if let Some(close) = self.text.closing(token + 3) {
                        self.text.replace(close, ")");
                    }
                }
            }
            if word == "." && self.text.is_word(token + 1) {
                self.component(token);
            }
        }
    }

    fn component(&mut self, dot: usize) {
        let name = self.text.at(dot + 1);
        if let Some(digits) = name.strip_prefix(['s', 'S'])
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            if let Some(width) = self.width_before(dot).filter(|width| *width > 4) {
                match wide::components(width, digits) {
                    Some(components) => self.text.replace(dot + 1, components),
                    None => {
                        let hint = "name one component, or a half: `.lo` and `.hi`";
                        self.refuse(dot + 1, format!("the components `{name}` of {width}"), hint);
                    }
                }
                return;
            }
            let letters: Option<String> = digits
                .chars()
                .map(|digit| "xyzw".chars().nth(digit.to_digit(16).unwrap_or(16) as usize))
                .collect();
            match letters {
                Some(letters) => self.text.replace(dot + 1, letters),
                None => self.refuse(dot + 1, format!("Metal has no component `{name}`"), "vectors have four"),
            }
            return;
        }
        if !matches!(name, "lo" | "hi" | "even" | "odd") {
            return;
        }
        let Some(width) = self.width_before(dot) else {
            if dot > 0 && self.text.at(dot - 1) == ")" {
                let hint = "name the components: `.xy` and `.zw` of four";
                self.refuse(dot + 1, format!("`.{name}` of an expression whose width is not seen"), hint);
            }
            return;
        };
        let letters = match (name, width) {
            ("lo" | "hi", 8 | 16) => return,
            (_, 8 | 16) => {
                return self.refuse(
                    dot + 1,
                    format!("`.{name}` of {width} components"),
                    "name the components",
                );
            }
            ("lo" | "even", 2) => "x",
            ("hi" | "odd", 2) => "y",
            ("lo", _) => "xy",
            ("hi", 4) => "zw",
            ("even", 4) => "xz",
            ("odd", 4) => "yw",
            _ => {
                return self.refuse(dot + 1, format!("`.{name}` of three components"), "name the components");
            }
        };
        self.text.replace(dot + 1, letters);
    }

    /// The width of the vector whose name, or element, stands before the dot, by its declaration.
    fn width_before(&self, dot: usize) -> Option<u32> {
        let mut token = dot.checked_sub(1)?;
        // `v.lo.s1`: half of the width before.
        if matches!(self.text.at(token), "lo" | "hi") && token > 0 && self.text.at(token - 1) == "." {
            return self.width_before(token - 1).map(|width| width / 2);
        }
        if self.text.at(token) == ")" {
            return self.width_of_call(self.text.opening(token)?.checked_sub(1)?);
        }
        while self.text.at(token) == "]" {
            let mut depth = 0u32;
            loop {
                match self.text.at(token) {
                    "]" => depth += 1,
                    "[" => depth -= 1,
                    _ => {}
                }
                token = token.checked_sub(1)?;
                if depth == 0 {
                    break;
                }
            }
        }
        let name = self.text.at(token);
        (0..token).rev().find_map(|at| {
            let (_, width) = vector(self.text.at(at))?;
            let mut next = at + 1;
            while matches!(self.text.at(next), "*" | "const" | "restrict" | "volatile" | "__restrict") {
                next += 1;
            }
            // `float4 a, b`: names up to the end of the declaration.
            let end = (next..token)
                .find(|&end| matches!(self.text.at(end), ";" | ")" | "{" | "("))
                .unwrap_or(token);
            (next..end).any(|at| self.text.at(at) == name).then_some(width)
        })
    }

    /// The width of what a function gives, by its name or its declaration.
    fn width_of_call(&self, name: usize) -> Option<u32> {
        let word = self.text.at(name);
        if let Some(width) = word.strip_prefix("vload") {
            return width.parse().ok();
        }
        let ty = word.strip_prefix("convert_").or(word.strip_prefix("as_"));
        if let Some((_, width)) = ty.and_then(|ty| vector(ty.split('_').next().unwrap_or_default())) {
            return Some(width);
        }
        let function = self.declarations.functions.iter().find(|function| function.name == word)?;
        vector(self.text.at(function.at.checked_sub(1)?)).map(|(_, width)| width)
    }
}
