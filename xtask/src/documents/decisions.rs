//! The rules on `docs/decisions/`: names, headers, numbers without gaps, and one row each in the index.

use crate::source_tree::SourceFile;

const FOLDER: &str = "docs/decisions/";
const INDEX: &str = "docs/decisions/README.md";

/// What a status line may begin with.
const STATUSES: &[&str] = &["proposed", "accepted", "superseded by "];

/// What the header of a decision says.
#[derive(Debug)]
struct Header<'a> {
    number: &'a str,
    title: &'a str,
    date: &'a str,
    status: &'a str,
}

/// Checks every file of the folder. `files` are sorted by path, so decisions come in the order of their
/// numbers.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let index = files.iter().find(|file| file.path == INDEX).map_or("", |file| file.text.as_str());
    let decisions = files.iter().filter(|file| file.path.starts_with(FOLDER) && file.path != INDEX);
    let mut findings = Vec::new();
    for (position, file) in decisions.enumerate() {
        let expected = format!("{:04}", position + 1);
        match header(file) {
            Ok(header) if header.number != expected => {
                findings.push(format!("{}: number {expected} is missing or used twice", file.path));
            }
            Ok(header) => listed(file, &header, index, &mut findings),
            Err(what) => findings.push(format!("{}: {what}", file.path)),
        }
    }
    findings
}

/// The index must have the row that follows from the header, so that the two cannot differ.
fn listed(file: &SourceFile, header: &Header<'_>, index: &str, findings: &mut Vec<String>) {
    let Header { number, title, date, status } = header;
    let name = &file.path[FOLDER.len()..];
    let row = format!("| [{number}]({name}) | {date} | {status} | {title} |");
    if !index.lines().any(|line| line == row) {
        findings.push(format!("{INDEX}: lacks the row `{row}`"));
    }
}

/// Reads `# NNNN: title`, `- Date: …` and `- Status: …`, all before the first section.
fn header(file: &SourceFile) -> Result<Header<'_>, &'static str> {
    let name = &file.path[FOLDER.len()..];
    let number = name.split_once('-').map_or("", |(number, _)| number);
    if !is_digits(number, 4) || !name.ends_with(".md") {
        return Err("a decision is named NNNN-subject.md");
    }
    let title = file.text.lines().next().and_then(|line| line.strip_prefix("# ")?.strip_prefix(number));
    let title =
        title.and_then(|rest| rest.strip_prefix(": ")).ok_or("the first line is not `# NNNN: title`")?;
    let date =
        field(&file.text, "- Date: ").filter(|date| is_date(date)).ok_or("no line `- Date: YYYY-MM-DD`")?;
    let known = |status: &&str| STATUSES.iter().any(|start| status.starts_with(start));
    let status = field(&file.text, "- Status: ").filter(known);
    let status = status.ok_or("no line `- Status: ` with proposed, accepted or superseded by NNNN")?;
    Ok(Header { number, title, date, status })
}

/// The rest of the first line with this start, before the first section.
fn field<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().take_while(|line| !line.starts_with("## ")).find_map(|line| line.strip_prefix(start))
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 3 && parts.iter().zip([4, 2, 2]).all(|(part, length)| is_digits(part, length))
}

fn is_digits(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# 0001: Loader\n\n- Date: 2026-11-20\n- Status: accepted\n\n## Context\n";
    const ROW: &str = "| [0001](0001-loader.md) | 2026-11-20 | accepted | Loader |\n";

    fn findings(index: &str, decisions: &[(&str, &str)]) -> Vec<String> {
        let file = |path: String, text: &str| SourceFile { path, text: text.to_owned() };
        let mut files: Vec<_> =
            decisions.iter().map(|(name, text)| file(format!("{FOLDER}{name}"), text)).collect();
        files.push(file(INDEX.to_owned(), index));
        check(&files)
    }

    fn assert_found(index: &str, decisions: &[(&str, &str)], what: &str) {
        let found = findings(index, decisions);
        assert!(found.len() == 1 && found[0].contains(what), "{what}: {found:?}");
    }

    #[test]
    fn a_good_decision_passes() {
        assert_eq!(findings(ROW, &[("0001-loader.md", GOOD)]), Vec::<String>::new());
    }

    #[test]
    fn names_and_headers_are_checked() {
        assert_found(ROW, &[("loader.md", GOOD)], "NNNN-subject");
        assert_found(ROW, &[("01-loader.md", GOOD)], "NNNN-subject");
        assert_found(ROW, &[("0001-loader.md", &GOOD.replace("# 0001", "# 0002"))], "first line");
        assert_found(ROW, &[("0001-loader.md", &GOOD.replace("2026-11-20", "today"))], "Date");
        assert_found(ROW, &[("0001-loader.md", &GOOD.replace("accepted", "fine"))], "Status");
        let late = "# 0001: Loader\n\n- Status: accepted\n\n## Context\n\n- Date: 2026-11-20\n";
        assert_found(ROW, &[("0001-loader.md", late)], "Date");
    }

    #[test]
    fn the_index_has_every_decision_as_it_is() {
        assert_found("", &[("0001-loader.md", GOOD)], "lacks the row");
        let superseded = GOOD.replace("accepted", "superseded by 0002");
        assert_found(ROW, &[("0001-loader.md", &superseded)], "superseded by 0002 | Loader");
    }

    #[test]
    fn numbers_have_no_gaps_and_are_unique() {
        let second = GOOD.replace("0001", "0003");
        assert_found(ROW, &[("0001-loader.md", GOOD), ("0003-gap.md", &second)], "0002 is missing");
        assert_found(
            ROW,
            &[("0001-loader.md", GOOD), ("0001-twice.md", GOOD)],
            "0002 is missing or used twice",
        );
    }
}
