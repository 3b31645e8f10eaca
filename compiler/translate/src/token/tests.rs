//! Tokens, brackets and changes.

use super::*;

#[test]
fn text_comes_back_unchanged() {
    let sources = [
        "a /* b",
        "\"x\\",
        "'",
        "#define F(x) \\\n  x // y\nint é = 1.5e+3f + .5;",
        "\\",
        "a\\\r\nb",
        "0x1.8p-3 0xe+1",
    ];
    for source in sources {
        assert_eq!(Text::new(source).finish(), source);
    }
}

#[test]
fn tokens_are_told_apart() {
    let text = Text::new("#if 1 // x\na->b += 0xe+1;");
    let all: Vec<&str> = (0..text.len()).map(|token| text.at(token)).collect();
    assert_eq!(all, ["#", "if", "1", "a", "->", "b", "+=", "0xe", "+", "1", ";"]);
    assert!(text.in_directive(2) && !text.in_directive(3));
}

#[test]
fn parts_are_between_commas_of_one_depth() {
    let text = Text::new("f(a, g(b, c), d[1, 2])");
    let parts: Vec<&str> = text.parts(1, 17).iter().map(|&(a, b)| text.between(a, b)).collect();
    assert_eq!(parts, ["a", "g(b, c)", "d[1, 2]"]);
    assert_eq!(text.closing(1), Some(text.len() - 1));
}

#[test]
fn a_token_is_taken_away_with_the_space_behind_it() {
    let mut text = Text::new("a restrict b");
    text.remove(1);
    text.insert_after(2, "!");
    assert_eq!(text.finish(), "a b!");
}

#[test]
fn brackets_are_matched_in_the_first_branch_of_a_conditional() {
    let text = Text::new("a {\n#if X\n(b {\n#else\n(c {\n#endif\n} ) } d\n#define OPEN {\n(e)");
    let find = |word: &str| (0..text.len()).find(|&token| text.at(token) == word).expect("it is there");
    assert_eq!(text.closing(1), Some(find("d") - 1));
    assert_eq!(text.closing(find("b") - 1), Some(find("d") - 2));
    assert_eq!(text.closing(find("e") - 1), Some(text.len() - 1));
    assert_eq!(text.opening(text.len() - 1), Some(find("e") - 1));
}

#[test]
fn template_arguments_are_closed_by_one_mark_or_half_of_two() {
    let text = Text::new("a<b<c>> d; e < f;");
    assert_eq!((text.angle_closing(1), text.angle_closing(3)), (Some(5), Some(5)));
    assert_eq!(text.angle_closing(9), None);
}
