//! The examples that `anymetal --explain` shows: for each diagnostic the shortest rendering in `tests/ui`.

use std::collections::BTreeMap;

use crate::source_tree::SourceFile;

/// The document.
pub(crate) const DOCUMENT: &str = "interfaces/cli/src/explain_examples.txt";

/// Its text: after each line `## ID` a rendering.
pub(crate) fn document(files: &[SourceFile]) -> String {
    let mut shortest: BTreeMap<String, String> = BTreeMap::new();
    let is_rendering =
        |file: &&SourceFile| file.path.starts_with("tests/ui/") && file.path.ends_with(".stderr");
    for file in files.iter().filter(is_rendering) {
        for block in file.text.split("\n\n") {
            let Some(id) = id_of(block) else { continue };
            let shown: String = block.lines().map(|line| format!("{}\n", without_annotation(line))).collect();
            let known = shortest.entry(id.to_owned()).or_insert_with(|| shown.clone());
            if shown.len() < known.len() {
                *known = shown;
            }
        }
    }
    shortest.into_iter().map(|(id, block)| format!("## {id}\n{block}\n")).collect()
}

/// `error[ID]: …` or `warning[ID]: …`
fn id_of(block: &str) -> Option<&str> {
    let first = block.trim_start().lines().next()?;
    let rest = first.strip_prefix("error[").or_else(|| first.strip_prefix("warning["))?;
    rest.split_once("]: ").map(|(id, _)| id)
}

/// A line of source without the annotation of the test that it is from.
fn without_annotation(line: &str) -> &str {
    line.split("//~").next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_rendering_is_taken_without_its_annotation() {
        let text = "error[a]: a long message\n --> f.metal:1:1\n  |\n1 | x; //~ a\n  | ^\n\n\
                    error[a]: short\n1 | x //~ a\n\nwarning[b]: m\n";
        let file = SourceFile { path: "tests/ui/f.stderr".to_owned(), text: text.to_owned() };
        assert_eq!(document(&[file]), "## a\nerror[a]: short\n1 | x\n\n## b\nwarning[b]: m\n\n");
    }
}
