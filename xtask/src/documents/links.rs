//! Relative links of Markdown files resolve, anchors included. So do the files and folders that documents
//! name in code spans, and the documents that code mentions.

use std::collections::BTreeMap;

use crate::source_tree::SourceFile;

/// The top folders: a code span that begins with one of them is a path.
const TOP_FOLDERS: &[&str] = &[
    ".ci",
    ".github",
    "anymetal",
    "compiler",
    "devices",
    "docs",
    "fuzz",
    "interfaces",
    "libraries",
    "runtime",
    "service",
    "testing",
    "tests",
    "tools",
    "xtask",
];

/// Documents about the past, whose paths were right then.
const HISTORY: &[&str] = &["CHANGELOG.md", "docs/decisions/", "docs/performance-history.md"];

/// Tidy itself, whose tests make up documents.
const RULES: &str = "xtask/src/";

/// Checks every Markdown file's links and every mention of `docs/….md` in code and settings.
/// `exists` takes a path from the root.
pub(crate) fn check(files: &[SourceFile], exists: &dyn Fn(&str) -> bool) -> Vec<String> {
    let texts: BTreeMap<&str, &str> =
        files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let mut findings = Vec::new();
    for file in files {
        if file.path.ends_with(".md") {
            links(file, &texts, exists, &mut findings);
            if !HISTORY.iter().any(|history| file.path.starts_with(history)) {
                named_paths(file, exists, &mut findings);
            }
        } else if [".rs", ".toml", ".yml"].iter().any(|end| file.path.ends_with(end))
            && !file.path.starts_with(RULES)
        {
            mentions(file, exists, &mut findings);
        }
    }
    findings
}

/// The lines outside of fenced code, counted from one.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((number + 1, line))
    })
}

fn links(
    file: &SourceFile,
    texts: &BTreeMap<&str, &str>,
    exists: &dyn Fn(&str) -> bool,
    findings: &mut Vec<String>,
) {
    for (number, line) in prose(&file.text) {
        for target in targets(line).filter(|target| !target.contains("://")) {
            if let Some(what) = broken(&file.path, target, texts, exists) {
                findings.push(format!("{}:{number}: {what}", file.path));
            }
        }
    }
}

/// Files and folders that a document names in code spans, from the root.
fn named_paths(file: &SourceFile, exists: &dyn Fn(&str) -> bool, findings: &mut Vec<String>) {
    for (number, line) in prose(&file.text) {
        for path in line.split('`').skip(1).step_by(2).filter_map(path_of_span) {
            if !exists(path) {
                findings.push(format!("{}:{number}: `{path}` does not exist", file.path));
            }
        }
    }
}

/// The path of a code span, without the Rust name after it; `None` for a span with a placeholder (`NAME`,
/// `*`, `<pass>`).
fn path_of_span(span: &str) -> Option<&str> {
    let path = span.split("::").next()?.trim_end_matches('/');
    let (top, below) = path.split_once('/')?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_placeholder = |part: &str| {
        let name = part.split('.').next().unwrap_or(part);
        name.len() > 1 && name != "README" && name.bytes().all(|b| b.is_ascii_uppercase())
    };
    let is_path =
        TOP_FOLDERS.contains(&top) && path.chars().all(is_word) && !below.split('/').any(is_placeholder);
    is_path.then_some(path)
}

/// The targets of `[text](target)` in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

fn broken(
    from: &str,
    target: &str,
    texts: &BTreeMap<&str, &str>,
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let (relative, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if relative.is_empty() { Some(from.to_owned()) } else { resolve(from, relative) };
    let Some(path) = path.filter(|path| exists(path)) else {
        return Some(format!("the link `{target}` leads nowhere"));
    };
    let text = texts.get(path.as_str()).filter(|_| !anchor.is_empty())?;
    let found = text.lines().filter_map(heading).any(|heading| slug(heading) == anchor);
    (!found).then(|| format!("{path} has no heading `#{anchor}`"))
}

/// The path from the root that `relative` means in the file `from`; none if it leaves the repository.
fn resolve(from: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            ".." => drop(parts.pop()?),
            "." | "" => {}
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn heading(line: &str) -> Option<&str> {
    line.starts_with('#').then(|| line.trim_start_matches('#').trim())
}

/// The anchor that GitHub gives a heading: lower case, spaces as dashes, other punctuation dropped.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Documents that code or settings name by their path from the root.
fn mentions(file: &SourceFile, exists: &dyn Fn(&str) -> bool, findings: &mut Vec<String>) {
    for (number, line) in file.text.lines().enumerate() {
        for rest in line.split("docs/").skip(1) {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-_/.".contains(c)));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            if name.ends_with(".md") && !exists(&format!("docs/{name}")) {
                findings.push(format!("{}:{}: docs/{name} does not exist", file.path, number + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [file(path, text), file("docs/cli.md", "# The line\n\n## Exit codes, all\n")];
        check(&files, &|path| files.iter().any(|file| file.path == path) || path == "docs")
    }

    fn assert_found(path: &str, text: &str, what: &str) {
        let found = findings(path, text);
        assert!(found.len() == 1 && found[0].contains(what), "{text}: {found:?}");
    }

    #[test]
    fn links_that_resolve_pass() {
        for link in ["cli.md", "./cli.md", "../docs/cli.md", "../docs", "cli.md#exit-codes-all", "#here"] {
            let text = format!("# Here\n\nsee [this]({link}) and [that](https://example.org/x.md)\n");
            assert_eq!(findings("docs/a.md", &text), Vec::<String>::new(), "{link}");
        }
    }

    #[test]
    fn links_that_do_not_are_found() {
        assert_found("docs/a.md", "one\n[this](gone.md)\n", "docs/a.md:2: the link `gone.md`");
        assert_found("README.md", "[this](cli.md)\n", "nowhere");
        assert_found("docs/a.md", "[this](../../cli.md)\n", "nowhere");
        assert_found("docs/a.md", "[this](cli.md#exit)\n", "no heading");
        assert_found("docs/a.md", "[ok](cli.md) [this](gone.md)\n", "gone");
    }

    #[test]
    fn code_in_a_document_has_no_links() {
        assert_eq!(findings("docs/a.md", "```\na[i](b)\n```\n"), Vec::<String>::new());
        assert_found("docs/a.md", "```\n```\n[this](gone.md)\n", "gone");
    }

    #[test]
    fn files_that_documents_name_exist() {
        assert_found("README.md", "see `docs/gone.md`\n", "`docs/gone.md`");
        assert_found("docs/a.md", "`docs/cli.md`, `docs/gone.rs::name`\n", "`docs/gone.rs`");
        for text in [
            "`docs/cli.md`",
            "`docs/`",
            "`docs/NAME.md`",
            "`docs/*.md`",
            "`docs/<page>.md`",
            "`other/gone.md`",
        ] {
            assert_eq!(findings("README.md", text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(findings("README.md", "```\n`docs/gone.md`\n```\n"), Vec::<String>::new());
        assert_eq!(findings("CHANGELOG.md", "`docs/gone.md`\n"), Vec::<String>::new());
    }

    #[test]
    fn documents_that_code_mentions_exist() {
        assert_eq!(findings("compiler/a.rs", "//! See `docs/cli.md`.\n"), Vec::<String>::new());
        assert_found("compiler/a.rs", "//! See `docs/gone.md`.\n", "docs/gone.md");
        assert_found("a.toml", "# See docs/decisions/gone.md.\n", "gone.md");
    }
}
