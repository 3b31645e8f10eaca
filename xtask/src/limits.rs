//! The limits of the compiler: a rule on where they are, and the document that lists them.
//!
//! A limit is an integer constant that bounds how far an analysis looks, how much code a pass copies, or what
//! a target accepts. Each crate has its limits in one module, `limits`, so that two limits with the same
//! meaning are seen side by side. The doc comment of a limit has its unit and the reason of its value.

use std::fmt::Write as _;

use crate::source_tree::SourceFile;

/// The crates with limits, in pipeline order.
const CRATES: &[&str] = &["ir", "analysis", "opt", "simd", "codegen"];

/// Constants outside of `limits` modules that are named like limits: the end of a path, the name, the reason.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("cpu/math/trigonometric.rs", "LIMIT", "the end of an approximation's range, a fact of its error")];

const HEAD: &str = "\
# Limits

<!-- Made by `cargo xtask gen` from the `limits` modules of compiler/{ir,analysis,opt,simd,codegen}. -->

For contributors: the constants that bound how far analyses follow definitions, how much code passes copy, and
what targets accept. Sizes are numbers of IR instructions unless the sentence names another unit. To add a
limit, add a constant with a doc comment to the `limits` module of the crate and run `cargo xtask gen`; `tidy`
rejects constants with such names elsewhere.
";

/// A constant of a `limits` module.
#[derive(Debug, PartialEq, Eq)]
struct Limit<'a> {
    name: &'a str,
    value: &'a str,
    /// The lines of the doc comment.
    doc: String,
}

/// Limits outside of the `limits` modules, and limits without a doc comment.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| crate_of(&file.path).is_some()) {
        if is_limits_module(&file.path) {
            let undocumented = limits_in(&file.text).into_iter().filter(|limit| limit.doc.is_empty());
            findings.extend(undocumented.map(|limit| {
                format!("{}: {} has no sentence with its unit and reason", file.path, limit.name)
            }));
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            if let Some((name, _)) = constant(line)
                && is_named_like_a_limit(name)
                && !is_exception(&file.path, name)
            {
                let place = format!("{}:{}", file.path, number + 1);
                findings.push(format!("{place}: {name} is a limit: move it to the crate's `limits` module"));
            }
        }
    }
    findings
}

/// `docs/reference/limits.md`.
pub(crate) fn document(files: &[SourceFile]) -> String {
    let mut text = HEAD.to_owned();
    for name in CRATES {
        for file in
            files.iter().filter(|file| crate_of(&file.path) == Some(name) && is_limits_module(&file.path))
        {
            let title = file.text.lines().next().unwrap_or_default().trim_start_matches("//! ");
            let _ = writeln!(text, "\n## [`{0}`](../../{0})\n\n{1}\n", file.path, without_links(title));
            text.push_str("| limit | value | what it bounds |\n|---|---|---|\n");
            for Limit { name, value, doc } in limits_in(&file.text) {
                let _ = writeln!(text, "| `{name}` | `{value}` | {} |", without_links(&doc));
            }
        }
    }
    text
}

/// The crate of the compiler that a file belongs to, if it has limits.
fn crate_of(path: &str) -> Option<&'static str> {
    let (name, file) = path.strip_prefix("compiler/")?.split_once("/src/")?;
    CRATES.iter().copied().find(|known| *known == name && file.ends_with(".rs"))
}

fn is_limits_module(path: &str) -> bool {
    path.ends_with("/src/limits.rs") || path.contains("/src/limits/")
}

fn is_named_like_a_limit(name: &str) -> bool {
    name.starts_with("MAX_") || name == "STEPS" || name.contains("DEPTH") || name.contains("LIMIT")
}

fn is_exception(path: &str, name: &str) -> bool {
    EXCEPTIONS.iter().any(|(file, known, _)| path.ends_with(file) && *known == name)
}

/// The name and the value of the constant that a line defines.
fn constant(line: &str) -> Option<(&str, &str)> {
    let (before, definition) = line.split_once("const ")?;
    let before = before.trim();
    if !before.is_empty() && !before.starts_with("pub") {
        return None;
    }
    let (name, rest) = definition.split_once(": ")?;
    let (_, value) = rest.split_once(" = ")?;
    Some((name, value.trim_end_matches(';')))
}

fn limits_in(text: &str) -> Vec<Limit<'_>> {
    let mut limits = Vec::new();
    let mut doc = String::new();
    for line in text.lines() {
        if let Some(more) = line.strip_prefix("///") {
            doc.push_str(more);
        } else {
            let found = constant(line);
            limits.extend(found.map(|(name, value)| Limit { name, value, doc: doc.trim().to_owned() }));
            doc.clear();
        }
    }
    limits
}

/// Replaces rustdoc's links by their texts, which have no targets in the document.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, after)) = link.split_once("`]") else { break };
        let _ = write!(out, "{before}`{name}`");
        let target = after.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&[SourceFile { path: path.to_owned(), text: text.to_owned() }])
    }

    #[test]
    fn limits_outside_of_the_module_are_found() {
        for line in ["const MAX_COPY: usize = 1;", "    const DEPTH: u32 = 2;", "pub const LIMIT: u64 = A;"] {
            let text = format!("//! A.\n{line}\n");
            let found = findings("compiler/opt/src/a.rs", &text);
            assert!(found.len() == 1 && found[0].starts_with("compiler/opt/src/a.rs:2: "), "{found:?}");
            assert_eq!(findings("compiler/msl/src/a.rs", &text), Vec::<String>::new());
        }
        assert_eq!(findings("compiler/opt/src/a.rs", "const SIDE: u32 = 8;\n"), Vec::<String>::new());
        let trigonometric = "compiler/codegen/src/cpu/math/trigonometric.rs";
        assert_eq!(findings(trigonometric, "const LIMIT: f32 = 1.0e5;\n"), Vec::<String>::new());
    }

    #[test]
    fn a_limit_needs_a_sentence() {
        let path = "compiler/codegen/src/limits/cpu.rs";
        assert_eq!(findings(path, "/// A.\nconst MAX_A: u32 = 1;\n"), Vec::<String>::new());
        assert_eq!(findings(path, "/// A.\n\nconst MAX_A: u32 = 1;\n").len(), 1);
    }

    #[test]
    fn the_document_has_every_limit() {
        let text =
            "//! Limits of [`a`].\n\n/// Bounds [`b`](c::b)\n/// twice.\npub const MAX_A: u32 = 1 << 4;\n";
        let files = [SourceFile { path: "compiler/opt/src/limits.rs".to_owned(), text: text.to_owned() }];
        let document = document(&files);
        assert!(document.contains("Limits of `a`."), "{document}");
        assert!(document.contains("| `MAX_A` | `1 << 4` | Bounds `b` twice. |"), "{document}");
    }
}
