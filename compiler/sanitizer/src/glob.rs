//! Patterns with `*` and `?` for names of kernels, functions, variables and files.
//!
//! `\` takes the next character as it is. Invariant: matching takes at most the product of both lengths,
//! whatever the pattern is.

use std::fmt;

/// A pattern for a whole name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Glob {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// `*`: any characters, also none.
    Any,
    /// `?`
    One,
    Literal(char),
}

impl Glob {
    pub(crate) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            parts.push(match char {
                '*' => Part::Any,
                '?' => Part::One,
                '\\' => Part::Literal(chars.next().unwrap_or('\\')),
                char => Part::Literal(char),
            });
        }
        Self { text: text.to_owned(), parts }
    }

    /// Whether it matches all of `name`.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut part) = (0, 0);
        // Where the last `*` stands, and what it takes so far ends.
        let mut star: Option<(usize, usize)> = None;
        while at < name.len() {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    star = Some((part, at));
                    part += 1;
                    continue;
                }
                Some(&Part::Literal(char)) if char == name[at] => (at, part) = (at + 1, part + 1),
                Some(Part::One) => (at, part) = (at + 1, part + 1),
                _ => {
                    let Some((star_part, taken)) = star else { return false };
                    star = Some((star_part, taken + 1));
                    (at, part) = (taken + 1, star_part + 1);
                }
            }
        }
        self.parts[part..].iter().all(|part| *part == Part::Any)
    }

    /// Whether it matches a path, or its end from some folder on: `race.metal` matches `shaders/race.metal`.
    pub(crate) fn matches_path(&self, path: &str) -> bool {
        let ends = path.char_indices().filter(|(_, char)| matches!(char, '/' | '\\'));
        self.matches(path) || ends.into_iter().any(|(at, _)| self.matches(&path[at + 1..]))
    }

    /// The pattern that matches `name` only.
    pub(crate) fn quote(name: &str) -> String {
        let mut quoted = String::with_capacity(name.len());
        for char in name.chars() {
            if matches!(char, '*' | '?' | '\\') {
                quoted.push('\\');
            }
            quoted.push(char);
        }
        quoted
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn stars_and_question_marks_match() {
        for (pattern, name, expected) in [
            ("reduce", "reduce", true),
            ("reduce", "reduce_2", false),
            ("reduce*", "reduce", true),
            ("*_f16*", "gemm_f16_64", true),
            ("g?mm", "gemm", true),
            ("g?mm", "gmm", false),
            ("", "", true),
            ("", "a", false),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("k?", "kö", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), expected, "{pattern} against {name}");
        }
    }

    #[test]
    fn a_path_matches_from_a_folder_on() {
        assert!(Glob::new("race.metal").matches_path("shaders/race.metal"));
        assert!(Glob::new("shaders/*").matches_path("/home/me/shaders/race.metal"));
        assert!(!Glob::new("race.metal").matches_path("shaders/trace.metal"));
    }

    #[test]
    fn a_quoted_name_matches_itself_only() {
        let name = r"op<float *>?\";
        assert!(Glob::new(&Glob::quote(name)).matches(name));
        assert!(!Glob::new(&Glob::quote(name)).matches("op<float x>?\\"));
    }

    #[test]
    fn many_stars_end_soon() {
        assert!(!Glob::new(&"*a".repeat(200)).matches(&"a".repeat(199)));
    }
}
