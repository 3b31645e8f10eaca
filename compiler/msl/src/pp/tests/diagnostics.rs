//! What is reported, where, and that the run goes on.

use super::*;

/// The id of the only diagnostic of a text, and the text it points at.
fn complaint(text: &str) -> (&'static str, String) {
    let run = run(text);
    let only = run.only();
    (only.id, run.map.text(only.span).to_owned())
}

#[test]
fn points_at_the_mistake() {
    let cases = [
        ("#if 1\nx", "unterminated-conditional", "#if"),
        ("#endif", "unmatched-conditional", "endif"),
        ("#if 1\n#else\n#else\n#endif", "unmatched-conditional", "else"),
        ("#if 0\n#else\n#elif 1\n#endif", "unmatched-conditional", "elif"),
        ("#if\n#endif", "invalid-condition", "#if"),
        ("#if 1 +\n#endif", "invalid-condition", "+"),
        ("#if 1 / 0\n#endif", "invalid-condition", "/"),
        ("#if 1 2\n#endif", "invalid-condition", "2"),
        ("#if FOO(1)\n#endif", "invalid-condition", "FOO"),
        ("#if 1.0\n#endif", "invalid-condition", "1.0"),
        ("#if (1\n#endif", "invalid-condition", "1"),
        ("#if defined\n#endif", "invalid-condition", "defined"),
        ("#ifdef\n#endif", "invalid-condition", "#ifdef"),
        ("#ifdef A B\n#endif", "extra-tokens", "B"),
        ("#inlcude \"x\"", "unknown-directive", "inlcude"),
        ("#define", "invalid-macro", ""),
        ("#define defined 1", "invalid-macro", "defined"),
        ("#define f(x", "invalid-macro", "("),
        ("#define f(x, x) 1", "invalid-macro", "x"),
        ("#define f(x) #y", "invalid-macro", "#"),
        ("#define f ## x", "invalid-macro", "##"),
        ("#define f __VA_ARGS__", "invalid-macro", "__VA_ARGS__"),
        ("#define f(x) x\nf(1, 2)", "macro-argument-count", "f"),
        ("#define f(x) x\nf(1", "unterminated-macro-call", "f"),
        ("#define A 1\n#define A 2", "macro-redefined", "A"),
        ("#define f(a,b) a##b\nf(+,-)", "invalid-paste", "+,-"),
        ("#include \"nope.h\"", "missing-include", "\"nope.h\""),
        ("#include nope", "invalid-include", "nope"),
        ("#line x", "invalid-line-directive", "line"),
        ("#error stop here", "error-directive", "#error stop here"),
        ("#warning careful", "warning-directive", "#warning careful"),
        ("x = \"abc", "unterminated-literal", "\"abc"),
        ("x /* abc", "unterminated-comment", "/*"),
        ("1x", "invalid-number", "1x"),
        ("a @ b", "stray-character", "@"),
        ("''", "invalid-literal", "''"),
        ("_Pragma(x)", "invalid-pragma", "_Pragma"),
    ];
    for (text, id, place) in cases {
        assert_eq!(complaint(text), (id, place.to_owned()), "of {text:?}");
    }
}

#[test]
fn suggests_and_notes() {
    let run = run("#define f(x) x\n#pragama once\nf()\nf(1,2)");
    assert_eq!(run.ids(), ["unknown-directive", "macro-argument-count"]);
    let [directive, count] = run.sink.diagnostics() else { panic!("two diagnostics") };
    assert_eq!(directive.hints, ["did you mean `#pragma`?"]);
    assert_eq!(count.message, "macro `f` takes 1 argument, but 2 given");
    assert_eq!(run.map.location(count.notes[0].span).map(|(_, place)| place.line), Some(1));
}

#[test]
fn line_directives_move_diagnostics() {
    let run = run("int a;\n#line 40 \"sum.cl\"\n#bogus\nint b = 1x;\n#line 7\n#bogus\n");
    let place = |index: usize| run.map.location(run.sink.diagnostics()[index].span);
    let place = |index| place(index).map(|(file, at)| (file.to_owned(), at.line, at.column));
    assert_eq!(place(0), Some(("sum.cl".to_owned(), 40, 2)));
    assert_eq!(place(1), Some(("sum.cl".to_owned(), 41, 9)));
    assert_eq!(place(2), Some(("sum.cl".to_owned(), 7, 2)));
    let text = anymetal_diagnostics::render_text(&run.map, run.sink.diagnostics(), false);
    assert!(text.contains("--> sum.cl:41:9") && text.contains("41 | int b = 1x;"), "{text}");
    let json = anymetal_diagnostics::render_json(&run.map, run.sink.diagnostics());
    assert!(json.contains("\"file\": \"sum.cl\"") && json.contains("\"end_line\": 41"), "{json}");
}

#[test]
fn goes_on_after_each_mistake() {
    let run = run("#if 1 +\n#endif\n#bogus\nint a = 1x;\n#include \"nope.h\"\nb");
    assert_eq!(run.ids(), ["invalid-condition", "unknown-directive", "invalid-number", "missing-include"]);
    assert_eq!(run.text(), "int a = 0 ; b");
}

#[test]
fn the_same_definition_twice_is_no_mistake() {
    assert_eq!(expand("#define F(a) a + 1\n#define F( a )   a /* c */ + 1\nF(0)"), "0 + 1");
}
