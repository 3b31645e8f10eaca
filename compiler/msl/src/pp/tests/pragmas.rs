//! Pragmas that become tokens, and those that do not.

use super::*;

#[test]
fn loop_hints() {
    let text = "
        #define N 4
        #pragma unroll
        #pragma unroll(N / 2)
        #pragma unroll 8
        #pragma clang loop unroll(full)
        #pragma clang loop unroll_count(N) vectorize(enable)
        #pragma clang loop unroll(disable)
        #pragma nounroll
        for";
    let expected = "<unroll Enable> <unroll ( 4 / 2 ) > <unroll 8 > <unroll Full> <unroll ( 4 ) > \
                    <vectorize Enable> <unroll Disable> <unroll Disable> for";
    assert_eq!(expand(text), expected);
}

#[test]
fn floating_point_modes() {
    let text = "#pragma METAL fp math_mode(safe) contract(off)\n#pragma STDC FP_CONTRACT ON\n\
                #pragma clang fp contract(fast)\n#pragma METAL fp math_mode(fast)\nx";
    assert_eq!(expand(text), "<math Safe> <contract Off> <contract On> <contract Fast> <math Fast> x");
    let text = "_Pragma(\"STDC FP_CONTRACT OFF\") a\n#pragma STDC FP_CONTRACT DEFAULT\nb";
    assert_eq!(expand(text), "<contract Off> a <contract Fast> b");
}

#[test]
fn unknown_forms_are_ignored_with_a_warning() {
    let forms = [
        ("#pragma METAL fp math_mode(odd)", "(", ""),
        ("#pragma METAL fp contract off", "off", ""),
        ("#pragma METAL fp contract(maybe)", "(", ""),
        ("#pragma METAL fp contract", "pragma", ""),
        ("#pragma METAL fp", "pragma", ""),
        ("#pragma METAL fp contract(off) exact(on)", "exact", "<contract Off> "),
        ("#pragma STDC FP_CONTRACT MAYBE", "MAYBE", ""),
        ("#pragma STDC FP_CONTRACT", "pragma", ""),
        ("#pragma STDC FP_EXACT ON", "FP_EXACT", ""),
    ];
    for (text, place, tokens) in forms {
        let run = run(&format!("{text}\nx"));
        let only = run.only();
        assert_eq!((only.id, only.severity), ("unknown-pragma", Severity::Warning), "of {text:?}");
        assert_eq!(run.map.text(only.span), place, "of {text:?}");
        assert_eq!(run.text(), format!("{tokens}x"), "of {text:?}");
    }
}

#[test]
fn others_are_dropped() {
    let text = "#pragma METAL internals : enable\n#pragma clang diagnostic push\n#pragma\n\
                #pragma GCC system_header\n#pragma STDC FENV_ACCESS ON\n_Pragma(\"clang diagnostic pop\") x";
    assert_eq!(expand(text), "x");
}

#[test]
fn each_unused_name_is_a_token() {
    assert_eq!(expand("#pragma unused(x, y)\nx"), "<unused x> <unused y> x");
    assert_eq!(run("#pragma unused(x\nx").text(), "x");
    assert_eq!(run("#pragma unused()\nx").text(), "x");
}

#[test]
fn operators_survive_macros() {
    let text = "
        #define FOR_UNROLL _Pragma(\"clang loop unroll(full)\") for
        #define TWICE(x) x x
        #define COUNTED(n) _Pragma(\"unroll(N)\") for
        #define N 3
        FOR_UNROLL (;;) TWICE(FOR_UNROLL) COUNTED(1)";
    let expected = "<unroll Full> for ( ; ; ) <unroll Full> for <unroll Full> for <unroll ( 3 ) > for";
    assert_eq!(expand(text), expected);
}

#[test]
fn directives_within_arguments() {
    let text = "#define ID(...) __VA_ARGS__\nID(a\n#pragma unroll\n#if 1\nb\n#else\nc\n#endif\n)";
    assert_eq!(expand(text), "a <unroll Enable> b");
}

#[test]
fn strings_join_but_not_over_other_tokens() {
    assert_eq!(
        expand("\"a\" \"b\" u8\"c\" ; \"d\"\n#pragma unroll\n\"e\""),
        "\"abc\" ; \"d\" <unroll Enable> \"e\""
    );
}

#[test]
fn options_of_clang_are_checked() {
    for option in ["reassociate(off)", "reciprocal(on) exceptions(maytrap)", "eval_method(source)"] {
        let run = run(&format!("#pragma clang fp {option}\nx"));
        assert!(run.ids().is_empty(), "of {option:?}");
        assert_eq!(run.text(), "x", "of {option:?}");
    }
    for option in ["", "exact(on)", "contract on", "contract(maybe)", "contract(fast"] {
        let run = run(&format!("#pragma clang fp {option}\nx"));
        assert_eq!(run.only().id, "invalid-pragma", "of {option:?}");
    }
}
