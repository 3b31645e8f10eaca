//! The written tables: the results of a run put into those of earlier ones, so that a run may be of a few
//! files.
//!
//! Invariant: packages come in the order of [`CORPORA`], files in that of their names, and the last line of
//! each table adds up the others.

use crate::corpus::CORPORA;
use std::collections::BTreeMap;
use std::fmt::Write;

const HEADER: &str = "| file | entry points | front end | verified | passes | machine code | code KiB | seconds |\n\
                      |---|---:|---:|---:|---:|---:|---:|---:|\n";
const COLUMNS: usize = 7;

/// Cells by package and file.
type Lines = BTreeMap<(String, String), Vec<String>>;

/// The tables of `old` with the files of `new` put in.
pub fn merged(old: &str, new: &str) -> String {
    let mut lines = parse(old);
    lines.extend(parse(new));
    let mut text = String::new();
    for corpus in CORPORA {
        let of_package = |((package, file), cells): (&(String, String), &Vec<String>)| {
            (package == corpus.package).then(|| (file.clone(), cells.clone()))
        };
        let files: Vec<(String, Vec<String>)> = lines.iter().filter_map(of_package).collect();
        if files.is_empty() {
            continue;
        }
        let _ = write!(text, "\n## {}\n\n{HEADER}", corpus.package);
        for (file, cells) in &files {
            let _ = writeln!(text, "| {file} | {} |", cells.join(" | "));
        }
        let sum = |column: usize| -> f64 {
            files.iter().filter_map(|(_, cells)| cells.get(column)?.parse::<f64>().ok()).sum()
        };
        let sums: Vec<String> = (0..COLUMNS).map(|column| sum(column).round().to_string()).collect();
        let _ = writeln!(text, "| **together** | {} |", sums.join(" | "));
    }
    text
}

fn parse(text: &str) -> Lines {
    let mut lines = Lines::new();
    let mut package = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            package = name.trim().to_owned();
        }
        let cells: Vec<String> =
            line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        if let [file, cells @ ..] = cells.as_slice()
            && file.ends_with(".metal")
            && cells.len() == COLUMNS
        {
            lines.insert((package.clone(), file.clone()), cells.to_vec());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_results_replace_old_ones() {
        let table = |rows: &str| {
            format!("intro\n\n## metal\n\n{HEADER}{rows}| **together** | 9 | 9 | 9 | 9 | 9 | 9 | 9 |\n")
        };
        let old =
            table("| a.metal | 2 | 2 | 2 | 2 | – | – | 0.5 |\n| b.metal | 3 | 3 | 3 | 3 | 3 | 10 | 1.0 |\n");
        let new = table("| a.metal | 2 | 2 | 2 | 2 | 1 | 5 | 2.5 |\n");
        let text = merged(&old, &new);
        assert!(text.contains("| a.metal | 2 | 2 | 2 | 2 | 1 | 5 | 2.5 |"), "{text}");
        assert!(text.contains("| b.metal | 3 |"), "{text}");
        assert!(text.ends_with("| **together** | 5 | 5 | 5 | 5 | 4 | 15 | 4 |\n"), "{text}");
    }
}
