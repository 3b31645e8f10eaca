//! Conditionals, includes, the command line, and starting from another run's macros.

use super::*;

fn chooses(condition: &str) -> bool {
    match expand(&format!("#if {condition}\nyes\n#else\nno\n#endif")).as_str() {
        "yes" => true,
        "no" => false,
        other => panic!("{condition}: {other}"),
    }
}

#[test]
fn arithmetic_of_conditions() {
    let truths = [
        "1",
        "-1 < 0",
        "-1 > 0u",
        "(2 + 3) * 4 == 20",
        "1 ? 2 : 0",
        "0 ? 0 : 1",
        "~0 == -1",
        "!0",
        "7 / 2 == 3",
        "-7 / 2 == -3",
        "-7 % 2 == -1",
        "1 << 3 == 8",
        "-8 >> 1 == -4",
        "0x10 == 16 && 010 == 8 && 0b11 == 3",
        "1 || 1 / 0",
        "!(0 && 1 / 0)",
        "1 ? 1 : 1 / 0",
        "'A' == 65",
        "0xFFFFFFFFFFFFFFFF == -1",
        "UNKNOWN == 0",
        "true && !false",
        "1'000 == 1000",
        "5 & 6 ^ 1 | 8",
        "not 0 and 1",
        "__METAL_VERSION__ >= 310",
        "defined __METAL__ && defined(__METAL_VERSION__)",
        "!defined(NOPE)",
        "__has_builtin(__builtin_nope) == 0",
        "defined(__has_builtin) && !__has_builtin(x)",
        "__has_feature(cxx_lambdas)",
        "__has_include(<metal_stdlib>)",
        "!__has_include(\"nope.h\")",
        "__is_identifier(float4) && !__is_identifier(kernel)",
        "__has_cpp_attribute(maybe_unused)",
        "1 == 1L && 2u",
        "__cplusplus == 201703L",
        "1 \\\n + 1 == 2 // comment",
    ];
    for condition in truths {
        assert!(chooses(condition), "{condition}");
    }
    for condition in ["0", "1 - 1", "0 && 1 || 0", "(1, 0) == 1 || 0".trim_start_matches("(1, 0) == 1 || ")] {
        assert!(!chooses(condition), "{condition}");
    }
}

#[test]
fn groups() {
    let text = "
        #define A 2
        #if A == 1
          one
        #elif A == 2
          two
          #ifdef B
            b
          #elifndef C
            not_c
          #else
            c
          #endif
        #elif 1 / 0
          never
        #else
          other
        #endif
        #if 0
          'unterminated \" rubbish @
          #if 1
          #else
          #unknown
          #endif
        #endif
        #ifndef A
          x
        #else
          y
        #endif
        #
        # define HAS defined(A)
        #if HAS && A
          z
        #endif";
    assert_eq!(expand(text), "two not_c y z");
}

#[test]
fn includes() {
    let files = [
        ("lib/a.h", "#pragma once\n#include \"b.h\"\na __INCLUDE_LEVEL__"),
        ("lib/b.h", "#ifndef B\n#define B\nb_\n#endif"),
        ("plain.h", "plain"),
    ];
    let text = "#define H <lib/a.h>\n#include H\n#include \"lib/../lib/a.h\"\n#include <lib/b.h>\n\
                #define S \"plain.h\"\n#include S\n#import \"plain.h\"\n#import <plain.h>\n#include <metal_stdlib>\nend";
    let run = run_with(text, &files, &Options::default());
    assert!(run.sink.diagnostics().is_empty(), "{:?}", run.sink.diagnostics());
    assert_eq!(run.text(), "b_ a 1 plain plain end");
}

#[test]
fn command_line() {
    let define = |text: &str| Definition::Define(text.to_owned());
    let options = Options {
        metal_version: 400,
        math_mode: MathMode::Safe,
        definitions: vec![
            define("ONE"),
            define("TWO=2 + 0"),
            define("ADD(a,b)=a+b"),
            Definition::Undefine("__HAVE_BFLOAT__".to_owned()),
            define("EVIL=1\n#error no"),
        ],
        ..Options::default()
    };
    let text =
        "ONE TWO ADD(1,2) __METAL_VERSION__ __METAL_MAYBE_FAST_MATH__\n#ifdef __HAVE_BFLOAT__\nbf\n#endif";
    assert_eq!(run_with(text, &[], &options).text(), "1 2 + 0 1 + 2 400 0");
}

#[test]
fn starts_from_the_macros_of_another_run() {
    let library = run("#define METAL_FUNC inline\n#define TWICE(x) x x\nnamespace metal {}");
    let user = |text: &str, options: &Options| {
        let (mut map, mut sink) = (library.map.clone(), Sink::new());
        let main = map.add_file("user.metal", text);
        let start = &library.output.macros;
        let output = preprocess(main, start, options, &mut MemoryIncludes::default(), &mut map, &mut sink);
        Run { output, map, sink }
    };
    let first = user(
        "#include <metal_stdlib>\n#undef TWICE\n#define METAL_FUNC static\nMETAL_FUNC TWICE(1)",
        &Options::default(),
    );
    assert!(first.sink.diagnostics().is_empty(), "{:?}", first.sink.diagnostics());
    assert_eq!(first.text(), "static TWICE ( 1 )");
    let second =
        user("METAL_FUNC TWICE(1) __METAL_VERSION__", &Options { metal_version: 310, ..Options::default() });
    assert_eq!(second.text(), "inline 1 1 310");
    // The library was read in fast math mode.
    let safe = Options { math_mode: MathMode::Safe, ..Options::default() };
    let third = user("#ifdef __FAST_MATH__\nfast\n#else\nsafe\n#endif\n__METAL_MAYBE_FAST_MATH__", &safe);
    assert_eq!(third.text(), "safe 0");
    assert_eq!(second.map.files().len(), library.map.files().len() + 2, "a main file and the macros");
}
