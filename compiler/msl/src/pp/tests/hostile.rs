//! Input made to exhaust memory, time or the stack.

use super::*;
use std::fmt::Write;

fn assert_stops(text: &str, id: &str) {
    let run = run(text);
    // Which bound a bomb meets first is a matter of their sizes; either ends the run.
    let bounds = [id, "too-many-tokens"];
    assert!(run.ids().iter().any(|found| bounds.contains(found)), "{:?}", run.ids());
}

#[test]
fn macro_bombs_end_with_a_diagnostic() {
    let mut objects = String::from("#define A0 x x\n");
    let mut empties = String::from("#define A0\n");
    let mut calls = String::from("#define A0(x) x x\n");
    for level in 1..64 {
        let before = level - 1;
        // Writing to a string cannot fail.
        let _ = writeln!(objects, "#define A{level} A{before} A{before}");
        let _ = writeln!(empties, "#define A{level} A{before} A{before}");
        let _ = writeln!(calls, "#define A{level}(x) A{before}(x) A{before}(x)");
    }
    assert_stops(&(objects + "A63"), "expansion-limit");
    assert_stops(&(empties + "A63"), "expansion-limit");
    assert_stops(&(calls + "A63(y)"), "expansion-limit");
    let nested = format!("#define D(x) x x\n{}y{}", "D(".repeat(64), ")".repeat(64));
    assert_stops(&nested, "expansion-limit");
}

#[test]
fn stringising_and_pasting_bombs_end_with_a_diagnostic() {
    let nested =
        format!("#define S(x) #x\n#define X(x) S(x)\n{}\"\\\\\"{}", "X(".repeat(100), ")".repeat(100));
    assert_stops(&nested, "expansion-limit");
    let mut paste = String::from("#define P(x) Q(x, x)\n#define Q(a, b) a##b\n");
    let _ = write!(paste, "{}y{}", "P(".repeat(64), ")".repeat(64));
    assert_stops(&paste, "expansion-limit");
}

#[test]
fn nesting_is_bounded_only_where_it_recurses() {
    let deep = 100_000;
    let parens = format!("#define F(x) x\nF({}{})", "(".repeat(deep), ")".repeat(deep));
    assert_eq!(run(&parens).output.tokens.len(), 2 * deep + 1);
    let calls = format!("#define F(x) x\n{}1{}", "F(".repeat(deep), ")".repeat(deep));
    assert_stops(&calls, "expansion-limit");
    let condition = format!("#if {}1{}\n#endif", "(".repeat(deep), ")".repeat(deep));
    assert_stops(&condition, "invalid-condition");
    assert_stops(&format!("#if {}1\n#endif", "!".repeat(deep)), "invalid-condition");
    assert_stops(&format!("#if {}1\n#endif", "1 ? 2 : ".repeat(deep)), "invalid-condition");
    let conditionals = "#if 1\n".repeat(deep);
    assert_stops(&conditionals, "unterminated-conditional");
}

#[test]
fn chains_of_macros_need_no_stack() {
    let mut text = String::new();
    for level in 0..100_000 {
        let _ = writeln!(text, "#define A{level} A{}", level + 1);
    }
    let run = run(&(text + "A0"));
    assert_eq!(run.text(), "A100000");
    assert!(!run.sink.has_errors());
}

#[test]
fn includes_are_bounded() {
    let endless = [("self.h", "#include \"self.h\"")];
    let run = run_with("#include \"self.h\"", &endless, &Options::default());
    assert_eq!(run.ids(), ["include-limit"]);
    let twice = [("self.h", "#if __INCLUDE_LEVEL__ < 100\n#include \"self.h\"\n#include \"self.h\"\n#endif")];
    let run = run_with("#include \"self.h\"", &twice, &Options::default());
    assert_eq!(run.ids(), ["include-limit"]);
}

#[test]
fn too_many_tokens_are_refused() {
    let mut options = Options::default();
    options.limits.tokens = 100;
    let run = run_with(&"x ".repeat(200), &[], &options);
    assert_eq!(run.ids(), ["too-many-tokens"]);
    assert_eq!(run.output.tokens.len(), 101);
    options.limits.file_bytes = 10;
    assert_eq!(run_with("0123456789 1", &[], &options).ids(), ["file-too-large"]);

    // What is included twice counts twice.
    let mut options = Options::default();
    options.limits.source_bytes = 100_000;
    let blanks = " ".repeat(60_000);
    let files = [("a.h", blanks.as_str())];
    let once = "#include \"a.h\"\n";
    assert_eq!(run_with(once, &files, &options).ids(), [""; 0]);
    assert_eq!(run_with(&once.repeat(2), &files, &options).ids(), ["source-too-large"]);
}

#[test]
fn long_string_literals_are_refused() {
    let mut options = Options::default();
    options.limits.literal_bytes = 100;
    let run_limited = |text: &str| run_with(text, &[], &options);
    assert_eq!(run_limited(&format!("\"{}\"", "x".repeat(98))).ids(), [""; 0]);
    assert_eq!(run_limited(&format!("\"{}\"", "x".repeat(99))).ids(), ["literal-too-long"]);
    // Neighbours are one literal.
    assert_eq!(run_limited(&"\"0123456789\" ".repeat(9)).ids(), [""; 0]);
    assert_eq!(run_limited(&"\"0123456789\" ".repeat(11)).ids(), ["literal-too-long"]);
}

#[test]
fn many_mistakes_are_linear() {
    let run = run(&"@ 1x ' \n".repeat(200_000));
    assert_eq!(run.sink.diagnostics().len(), Sink::LIMIT);
    assert!(errors(&run) > 0);
}

#[test]
fn rubbish_does_not_panic() {
    let pieces = [
        "#",
        "##",
        "\n#define ",
        "\n#if ",
        "\n#elif ",
        "\n#else",
        "\n#endif",
        "\n#include ",
        "\n#pragma ",
        "\n#line ",
        "_Pragma",
        "(",
        ")",
        "f",
        "(x, ...)",
        "__VA_OPT__(",
        "__VA_ARGS__",
        "\"",
        "'",
        "\\",
        "\\\n",
        "<",
        ">",
        "defined",
        "/*",
        "*/",
        "//",
        "\n",
        "0x",
        "1e+",
        "R\"(",
        "é",
        "\0",
        "__has_include(",
        "unroll(",
        "clang loop unroll_count(",
        ",",
        "?",
        ":",
        "1",
    ];
    // A small linear congruential generator: the texts are the same in every run.
    let mut state = 12345u64;
    for _ in 0..3_000 {
        let mut text = String::from("#define f(x, ...) x #x __VA_ARGS__ ## x\n");
        for _ in 0..12 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
            if state >> 63 == 0 {
                text.push(' ');
            }
        }
        let run = run(&text);
        assert_eq!(run.output.tokens.last().map(|token| token.kind), Some(TokenKind::Eof));
        anymetal_diagnostics::render_text(&run.map, run.sink.diagnostics(), false);
    }
}
