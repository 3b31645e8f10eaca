//! Retired words: names of files and identifiers that the field's terms have replaced; they must not return.
//!
//! Most of these words are ordinary English, so each row of the tables has a scope: a part of the path in
//! which the word had its old meaning. Comments and strings are ignored. A finding names the term to use.

mod identifiers;
mod retired;

use crate::source_tree::SourceFile;
use identifiers::identifiers;
use retired::{FILES, IDENTIFIERS, Retired};

/// The tables themselves, and this module's tests.
const TABLES: &str = "xtask/src/words";

/// Every file name and identifier that uses a retired word.
pub(crate) fn check<'a>(files: impl IntoIterator<Item = &'a SourceFile>) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.into_iter().filter(|file| !file.path.starts_with(TABLES)) {
        file_name(file, &mut findings);
        if file.path.ends_with(".rs") {
            in_identifiers(file, &mut findings);
        }
    }
    findings
}

/// Files and folders: a part of the path after the scope, without its ending.
fn file_name(file: &SourceFile, findings: &mut Vec<String>) {
    for Retired { scope, word, instead } in FILES {
        let Some((_, rest)) = file.path.split_once(scope) else { continue };
        let mut names = rest.split('/').map(|part| part.split_once('.').map_or(part, |(name, _)| name));
        let found = match word.strip_prefix('/') {
            Some(word) => names.next() == Some(word),
            None => names.any(|name| name == *word),
        };
        if found {
            findings.push(format!("{}: the name `{word}` is retired: use `{instead}`", file.path));
        }
    }
}

/// The first use of each retired identifier in a file; the others come up when that is renamed.
fn in_identifiers(file: &SourceFile, findings: &mut Vec<String>) {
    let rows: Vec<_> = IDENTIFIERS.iter().filter(|row| file.path.contains(row.scope)).collect();
    let mut found = vec![false; rows.len()];
    for (line, identifier) in identifiers(&file.text) {
        let row = rows.iter().position(|row| row.is(identifier));
        let Some(row) = row.filter(|row| !found[*row]) else { continue };
        found[row] = true;
        let instead = rows[row].instead;
        findings
            .push(format!("{}:{line}: the identifier `{identifier}` is retired: use `{instead}`", file.path));
    }
}

impl Retired {
    /// Whether an identifier is this word, or begins with it if the row ends in `*`.
    fn is(&self, identifier: &str) -> bool {
        match self.word.strip_suffix('*') {
            Some(start) => identifier.starts_with(start),
            None => identifier == self.word,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        check(&[SourceFile { path: path.to_owned(), text: text.to_owned() }])
    }

    fn assert_found(path: &str, text: &str, what: &str) {
        let found = findings(path, text);
        assert!(found.len() == 1 && found[0].contains(what), "{path}: {found:?}");
    }

    fn assert_passes(path: &str, text: &str) {
        assert_eq!(findings(path, text), Vec::<String>::new(), "{path}");
    }

    #[test]
    fn retired_file_names_are_found_in_their_scope() {
        assert_found("compiler/ir/src/passes/alike.rs", "", "use `hoist_common_code`");
        assert_found("compiler/ir/src/passes/columns/rewrite.rs", "", "use `separable_filter`");
        assert_found("tests/ir/alike/arms.ir", "", "use `hoist_common_code`");
        assert_found("runtime/hal/src/baton.rs", "", "use `single_runner`");
        assert_passes("compiler/msl/src/ast/pair.rs", "");
        assert_passes("compiler/ir/src/passes/early_cse.rs", "");
        assert_passes("compiler/ir/src/passes/pairwise.rs", "");
        assert_found("compiler/ir/src/passes/sums.rs", "", "use `split_accumulators`");
        assert_passes("compiler/ir/src/passes/fuse/tests/sums.rs", "");
    }

    #[test]
    fn retired_identifiers_are_found_as_whole_words() {
        assert_found(
            "compiler/ir/src/op/mod.rs",
            "\nenum Op { LaterRead }",
            ":2: the identifier `LaterRead`",
        );
        assert_passes("compiler/ir/src/op/mod.rs", "struct LaterReader;");
        assert_passes("devices/cpu/src/queue.rs", "let awaited = 1;");
        assert_found("compiler/ir/src/passes/prefetch.rs", "let awaited = 1;", "PrefetchHint::Read");
    }

    #[test]
    fn a_row_may_be_a_prefix() {
        assert_found("interfaces/cli/src/run.rs", "const MOST_ROWS: u32 = 1;", "MAX_");
        assert_found("testing/harness/src/lib.rs", "use limits::LEAST_BYTES;", "MIN_");
        assert_passes("interfaces/cli/src/run.rs", "const ALMOST_ALL: u32 = 1;");
    }

    #[test]
    fn each_word_is_told_once_in_a_file() {
        let text = "const MOST_A: u8 = 1;\nconst MOST_B: u8 = 1;\nconst LEAST_A: u8 = 0;\n";
        assert_eq!(findings("interfaces/cli/src/run.rs", text).len(), 2);
    }

    #[test]
    fn comments_and_strings_may_use_any_word() {
        assert_passes(
            "compiler/ir/src/op/mod.rs",
            "// MOST_ROWS\n/* LaterRead */ const A: &str = \"MOST_ROWS\";",
        );
    }

    #[test]
    fn no_row_is_there_twice_and_none_retires_its_own_replacement() {
        for table in [FILES, IDENTIFIERS] {
            for (number, row) in table.iter().enumerate() {
                let twice =
                    table[..number].iter().any(|other| (other.scope, other.word) == (row.scope, row.word));
                assert!(!twice && row.word != row.instead, "{row:?}");
            }
        }
    }
}
