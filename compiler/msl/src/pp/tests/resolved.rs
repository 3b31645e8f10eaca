//! The source with its includes resolved: it gives the same tokens, and needs no file.

use super::*;

/// The text of a run, after checking that it gives the tokens of the run.
fn resolved(text: &str, files: &[(&str, &str)], definitions: &[&str]) -> String {
    let definitions = definitions.iter().map(|text| Definition::Define((*text).to_owned())).collect();
    let options = Options { definitions, ..Options::default() };
    let before = run_with(text, files, &options);
    assert!(before.sink.diagnostics().is_empty(), "{:?}", before.sink.diagnostics());
    let main = before.output.tokens.last().expect("there is an end").span.file;
    let resolved = before.output.includes.resolved(&before.map, main, &options.definitions);
    let after = run(&resolved);
    assert_eq!(after.text(), before.text(), "{resolved}");
    assert_eq!(errors(&after), 0, "{:?}", after.sink.diagnostics());
    resolved
}

#[test]
fn includes_become_text_and_macros_stay() {
    let text =
        "#include <metal_stdlib>\n#define TWICE(x) x x\n  #include \"a.h\" // first\nTWICE(after) __LINE__\n";
    let files =
        [("a.h", "#include \"b.h\"\n#include \"b.h\"\nTWICE(a) __LINE__ __FILE__"), ("b.h", "b __FILE__\n")];
    let resolved = resolved(text, &files, &["WIDTH=4", "PAIR(x)=x x", "FLAG"]);
    assert!(resolved.starts_with("#define WIDTH 4\n#define PAIR(x) x x\n#define FLAG 1\n"), "{resolved}");
    assert!(resolved.contains("#include <metal_stdlib>\n#define TWICE(x) x x\n"), "{resolved}");
    assert_eq!(resolved.matches("#include").count(), 1, "{resolved}");
    assert_eq!(resolved.matches("b __FILE__").count(), 2, "{resolved}");
}

#[test]
fn a_file_that_is_read_once_is_written_once() {
    let files = [("a.h", "#pragma once\nstruct A {};\n"), ("b.h", "#import \"a.h\"\nb\n")];
    let resolved = resolved("#import \"a.h\"\n#include \"b.h\"\n#import \"b.h\"\nend\n", &files, &[]);
    assert_eq!((resolved.matches("struct A").count(), resolved.matches("#i").count()), (1, 0), "{resolved}");
}

#[test]
fn one_file_can_be_included_with_other_macros_each_time() {
    let list =
        "#define ITEM(x) int x;\n#include \"list.h\"\n#undef ITEM\n#define ITEM(x) #x\n#include NAME\n";
    let files = [("list.h", "ITEM(one)\n#ifdef MORE\n#include \"more.h\"\n#endif\n")];
    let resolved = resolved(list, &files, &["NAME=\"list.h\""]);
    assert_eq!(resolved.matches("ITEM(one)").count(), 2, "{resolved}");
    assert_eq!(resolved.matches("#include \"more.h\"").count(), 2, "what is skipped stays: {resolved}");
}

#[test]
fn names_with_quotes_and_lines_of_the_including_file_survive() {
    let files = [("a \"b\".h", "inside __FILE__\n")];
    let resolved = resolved("one\n#include <a \"b\".h>\nthree __LINE__ __FILE__\n", &files, &[]);
    assert!(resolved.contains("#line 1 \"a \\\"b\\\".h\"\n"), "{resolved}");
    assert!(resolved.contains("#line 3 \"main.metal\"\nthree"), "{resolved}");
}
