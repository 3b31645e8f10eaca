//! Macro expansion: the standard's subtle cases, `#`, `##`, variadic macros.

use super::*;

#[test]
fn rescanning_and_self_reference() {
    // In the manner of the standard's example 3 of 6.10.3.5.
    let definitions = "
        #define x 3
        #define f(a) f(x * (a))
        #undef x
        #define x 2
        #define g f
        #define z z[0]
        #define h g(~
        #define m(a) a(w)
        #define w 0,1
        #define t(a) a
        #define p() int
        #define q(x) x
        #define r(x,y) x ## y
        #define str(x) # x
    ";
    let cases = [
        (
            "f(y+1) + f(f(z)) % t(t(g)(0) + t)(1);",
            "f(2 * (y+1)) + f(2 * (f(2 * (z[0])))) % f(2 * (0)) + t(1);",
        ),
        ("g(x+(3,4)-w) | h 5) & m\n (f)^m(m);", "f(2 * (2+(3,4)-0,1)) | f(2 * (~ 5)) & f(2 * (0,1))^m(0,1);"),
        (
            "p() i[q()] = { q(1), r(2,3), r(4,), r(,5), r(,) };\nchar c[2][6] = { str(hello), str() };",
            "int i[] = { 1, 23, 4, 5, };\nchar c[2][6] = { \"hello\", \"\" };",
        ),
    ];
    for (text, expected) in cases {
        assert_expands(&format!("{definitions}{text}"), expected);
    }
}

#[test]
fn stringising_and_pasting() {
    // In the manner of example 4.
    let definitions = r##"
        #define str(s) # s
        #define xstr(s) str(s)
        #define debug(s, t) printf("x" # s "= %d, x" # t "= %s", x ## s, x ## t)
        #define INCFILE(n) vers ## n
        #define glue(a, b) a ## b
        #define xglue(a, b) glue(a, b)
        #define HIGHLOW "hello"
        #define LOW LOW ", world"
    "##;
    let cases = [
        ("debug(1, 2);", r#"printf("x1= %d, x2= %s", x1, x2);"#),
        (
            r#"fputs(str(strncmp("abc\0d", "abc", '\4') == 0) str(: @\n), s);"#,
            r#"fputs("strncmp(\"abc\\0d\", \"abc\", '\\4') == 0: @\n", s);"#,
        ),
        ("xstr(INCFILE(2).h)", r#""vers2.h""#),
        ("glue(HIGH, LOW);", r#""hello";"#),
        ("xglue(HIGH, LOW)", r#""hello, world""#),
        ("str(  a  +\n  /* c */ b )", r#""a + b""#),
        ("xstr(a b)", r#""a b""#),
    ];
    for (text, expected) in cases {
        assert_expands(&format!("{definitions}{text}"), expected);
    }
}

#[test]
fn placemarkers() {
    // In the manner of example 5.
    let definitions = "#define t(x,y,z) x ## y ## z\n";
    assert_expands(
        &format!(
            "{definitions}int j[] = {{ t(1,2,3), t(,4,5), t(6,,7), t(8,9,), t(10,,), t(,11,), t(,,12), t(,,) }};"
        ),
        "int j[] = { 123, 45, 67, 89, 10, 11, 12, };",
    );
    // The paste of hashes is no operator.
    assert_expands(
        "#define hash_hash # ## #\n#define mkstr(a) # a\n#define in_between(a) mkstr(a)\n\
         #define join(c, d) in_between(c hash_hash d)\nchar p[] = join(x, y);",
        "char p[] = \"x ## y\";",
    );
}

#[test]
fn variadic_macros() {
    // In the manner of example 7.
    let definitions = r##"
        #define debug(...) fprintf(stderr, __VA_ARGS__)
        #define showlist(...) puts(#__VA_ARGS__)
        #define report(test, ...) ((test)?puts(#test): printf(__VA_ARGS__))
        #define gnu(format, args...) print(format, ## args)
        #define tail(a, ...) call(a, ##__VA_ARGS__)
        #define opt(a, ...) f(a __VA_OPT__(, (__VA_ARGS__)) )
        #define optpaste(a, ...) a ## __VA_OPT__(x) ## y
        #define EMPTY
    "##;
    let cases = [
        (r#"debug("Flag");"#, r#"fprintf(stderr, "Flag");"#),
        (r#"debug("X = %d\n", x);"#, r#"fprintf(stderr, "X = %d\n", x);"#),
        ("showlist(The first, second, and third items.);", r#"puts("The first, second, and third items.");"#),
        (
            r#"report(x>y, "x is %d but y is %d", x, y);"#,
            r#"((x>y)?puts("x>y"): printf("x is %d but y is %d", x, y));"#,
        ),
        ("gnu(1) gnu(1, 2, 3)", "print(1) print(1, 2, 3)"),
        ("tail(1) tail(1,) tail(1, 2)", "call(1) call(1) call(1, 2)"),
        ("opt(1) opt(1, 2, 3) opt(1, EMPTY)", "f(1) f(1, (2, 3)) f(1)"),
        ("optpaste(a) optpaste(a, 1)", "ay axy"),
    ];
    for (text, expected) in cases {
        assert_expands(&format!("{definitions}{text}"), expected);
    }
}

#[test]
fn attribute_strings_made_by_macros() {
    assert_expands(
        "#define AFFINE(fn, tname) template [[host_name(\"affine_\" #tname \"_strided\")]] kernel void fn##_##tname();\n\
         AFFINE(affine, float)",
        "template [[host_name(\"affine_float_strided\")]] kernel void affine_float();",
    );
}

#[test]
fn macros_that_take_macros() {
    let definitions = "
        #define EACH(M, ...) M(float, __VA_ARGS__) M(half, __VA_ARGS__)
        #define CASE(T, n, body) case n: { body(T); break; }
        #define BODY(T) run<T>()
        #define EVAL(...) __VA_ARGS__
        #define DEFER(id) id EMPTY()
        #define EMPTY()
        #define TYPES half, half4
    ";
    assert_expands(
        &format!("{definitions} EACH(CASE, 1, BODY)"),
        "case 1: { run<float>(); break; } case 1: { run<half>(); break; }",
    );
    assert_expands(&format!("{definitions} k<TYPES, 3>"), "k<half, half4, 3>");
    assert_expands(&format!("{definitions} EVAL(DEFER(BODY)(x))"), "run<x>()");
    assert_expands(&format!("{definitions} DEFER(BODY)(x)"), "BODY (x)");
}

#[test]
fn calls_that_reach_over_the_end_of_an_expansion() {
    assert_expands(
        "#define f(x) [x]\n#define g f\n#define h(x) x f\ng(1) h(2)(3) f\n(4) f",
        "[1] 2[3] [4] f",
    );
    // A name met while its macro is disabled stays as it is.
    assert_expands("#define f(x) x f\nf(1)(2)(3)", "1 f(2)(3)");
    assert_expands("#define a b\n#define b a\na b", "a b");
    assert_expands("#define foo foo + 1\nfoo", "foo + 1");
    assert_expands(
        "#define NIL(x) x\n#define G_0(a) NIL(G_1)(a)\n#define G_1(a) NIL(G_0)(a)\nG_0(42)",
        "G_0(42)",
    );
}

#[test]
fn operators_that_are_words() {
    assert_eq!(expand("a and not b or_eq c"), "a && ! b |= c");
}

#[test]
fn tokens_carry_their_expansion() {
    let text = "#define INNER(x) (x + bad)\n#define OUTER(y) INNER(y)\nint v = OUTER(arg);\n";
    let run = run(text);
    let find = |name: &str| {
        let token = run.output.tokens.iter().find(|token| token.word() == Some(name.into()));
        token.unwrap_or_else(|| panic!("{name} is missing")).span
    };
    let chain = |span: anymetal_diagnostics::Span| {
        let mut names = Vec::new();
        let mut span = span;
        while let Some(expansion) = run.map.expansion(span.expansion) {
            names.push(expansion.macro_name.to_string());
            span = expansion.call_site;
        }
        (names, run.map.text(span))
    };
    assert_eq!(chain(find("bad")), (vec!["INNER".to_owned(), "OUTER".to_owned()], "OUTER(arg)"));
    assert_eq!(chain(find("arg")).0, ["INNER", "OUTER"]);
    assert_eq!(run.map.text(run.map.outermost(find("arg"))), "arg");
    assert_eq!(run.map.text(run.map.outermost(find("bad"))), "OUTER(arg)");
    assert!(chain(find("v")).0.is_empty());
}

#[test]
fn macros_of_the_place() {
    assert_expands("#line 100 \"other.h\"\n__LINE__ __FILE__ __COUNTER__ __COUNTER__", "100 \"other.h\" 0 1");
    assert_expands("#define L __LINE__\n\nL __FILE__ L", "3 \"main.metal\" 3");
    assert_expands("#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\nCAT(v, __LINE__)", "v3");
}
