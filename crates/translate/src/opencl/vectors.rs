//! Literals and components of vectors.

use super::Translator;
use super::declarations::vector;

impl Translator<'_> {
    pub(super) fn vectors(&mut self) {
        for token in 0..self.text.len() {
            let word = self.text.at(token);
            if let Some((_, width)) = vector(word)
                && width > 4
            {
                let hint = "work on four components at a time";
                self.refuse(token, format!("Metal has no vectors of {width} components (`{word}`)"), hint);
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
}
