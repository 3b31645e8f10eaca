//! Early returns of a neutral value in the compiler and the CPU device must say why.
//!
//! `let Some(x) = … else { return };` looks the same where a case does not apply and where an invariant is
//! broken, and in the second case code is lost without a trace. The first has a comment in its block or
//! after it, or is an `Option` with `?`; the second is an assertion.

use crate::source_tree::SourceFile;

/// The folders that the rule is for, and the number of returns without a comment that each may have.
const MAXIMA: &[(&str, usize)] = &[
    ("compiler/ir/src/", 0),
    ("compiler/analysis/src/", 0),
    ("compiler/opt/src/", 0),
    ("compiler/interp/src/", 1),
    ("compiler/msl/src/lower/", 0),
    ("compiler/driver/src/", 0),
    ("compiler/simd/src/", 0),
    ("compiler/codegen/src/", 27),
    ("devices/cpu/src/", 1),
];

/// The values that hide that nothing was done.
const NEUTRAL: &[&str] = &[
    "return",
    "return None",
    "return false",
    "return 0",
    "return ()",
    "return Ok(())",
    "return Vec::new()",
    "return vec![]",
    "return Default::default()",
];

/// The folders with more such returns than they may have, and those with fewer: the maximum may only fall.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for &(folder, maximum) in MAXIMA {
        let found: Vec<String> =
            files.iter().filter(|file| is_code_of(folder, &file.path)).flat_map(silent_returns).collect();
        if found.len() > maximum {
            findings.extend(found);
        } else if found.len() < maximum {
            let count = found.len();
            findings.push(format!(
                "xtask/src/fallbacks.rs: {folder} has {count} silent returns: lower its maximum"
            ));
        }
    }
    findings
}

fn is_code_of(folder: &str, path: &str) -> bool {
    path.starts_with(folder) && path.ends_with(".rs") && !path.ends_with("tests.rs")
}

/// The early returns of a neutral value without a comment.
fn silent_returns(file: &SourceFile) -> Vec<String> {
    let code = file.text.split("#[cfg(test)]\nmod tests {").next().expect("a text has a first part");
    let blocks = code.match_indices("else {").map(|(at, mark)| (at, &code[at + mark.len()..]));
    let silent = blocks.filter(|(_, block)| {
        let Some((body, after)) = block.split_once('}') else { return false };
        let after = after.lines().next().unwrap_or_default();
        NEUTRAL.contains(&body.trim().trim_end_matches(';')) && !after.contains("//")
    });
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    silent
        .map(|(at, _)| {
            let place = format!("{}:{}", file.path, line(at));
            format!(
                "{place}: returns a neutral value without a word: say why the case does not apply, or assert"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        silent_returns(&SourceFile { path: "compiler/ir/src/a.rs".to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_neutral_value_without_a_comment_is_found() {
        for value in
            ["return", "return;", "return None", "return false;", "return Vec::new();", "return Ok(());"]
        {
            let one_line = format!("//! A\nlet Some(a) = b else {{ {value} }};\n");
            let found = findings(&one_line);
            assert!(
                found.len() == 1 && found[0].starts_with("compiler/ir/src/a.rs:2: "),
                "{value}: {found:?}"
            );
            assert_eq!(findings(&format!("let Some(a) = b else {{\n    {value}\n}};\n")).len(), 1, "{value}");
        }
    }

    #[test]
    fn other_returns_pass() {
        for text in [
            "let Some(a) = b else {\n    // It has none.\n    return None;\n};\n",
            "let Some(a) = b else { return }; // fallback: it has none.\n",
            "let Some(a) = b else { return Err(error) };\n",
            "let Some(a) = b else { unreachable!(\"b is there\") };\n",
            "#[cfg(test)]\nmod tests {\n    let Some(a) = b else { return };\n}\n",
        ] {
            assert_eq!(findings(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_maximum_may_only_fall() {
        let row = MAXIMA.iter().find(|(_, maximum)| *maximum > 0);
        let &(folder, maximum) = row.expect("a folder still has silent returns");
        let silent = |count: usize| SourceFile {
            path: format!("{folder}a.rs"),
            text: "let Some(a) = b else { return };\n".repeat(count),
        };
        let about = |count: usize| {
            let found = check(&[silent(count)]);
            found.into_iter().filter(|finding| finding.contains(folder)).count()
        };
        assert_eq!(about(maximum), 0);
        assert_eq!(about(maximum + 1), maximum + 1);
        assert_eq!(about(maximum - 1), 1);
    }
}
