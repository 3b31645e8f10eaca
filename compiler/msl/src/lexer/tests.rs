//! The scanner's tokens, literals' values, and odd input.

use super::*;
use crate::token::{FloatSuffix, IntLiteral, TokenKind};

fn scan(text: &str) -> Vec<RawToken> {
    let mut scanner = Scanner::new(text, 0);
    let mut tokens = Vec::new();
    loop {
        let token = scanner.next(Lines::Cross);
        if token.kind == RawKind::End {
            return tokens;
        }
        tokens.push(token);
    }
}

fn spellings(text: &str) -> Vec<String> {
    let spell = |token: &RawToken| match token.kind {
        RawKind::Punct(punct) => punct.as_str().to_owned(),
        RawKind::Other(char) => format!("?{char}"),
        _ => token.name.as_str().to_owned(),
    };
    scan(text).iter().map(spell).collect()
}

#[test]
fn takes_the_longest_punctuator() {
    assert_eq!(
        spellings("a<<=b>>=c->d->*e...f::g[[h]]"),
        ["a", "<<=", "b", ">>=", "c", "->", "d", "->*", "e", "...", "f", "::", "g", "[", "[", "h", "]", "]"]
    );
    assert_eq!(
        spellings("x+++++y .. .5.x ##=#"),
        ["x", "++", "++", "+", "y", ".", ".", ".5.x", "##", "=", "#"]
    );
    assert_eq!(spellings("vec<::T>"), ["vec", "<", "::", "T", ">"]);
}

#[test]
fn joins_continued_lines_everywhere() {
    assert_eq!(
        spellings("ab\\\ncd \\\r\n e\\  \nf +\\\n= 1\\\n2 \"x\\\ny\""),
        ["abcd", "ef", "+=", "12", "\"xy\""]
    );
    assert_eq!(spellings("a // comment \\\n still comment\nb /\\\n* x *\\\n/ c"), ["a", "b", "c"]);
    assert_eq!(spellings("a\\\n b"), ["a", "b"]);
}

#[test]
fn knows_white_space_and_line_starts() {
    let tokens = scan("a b/**/c\n d(e");
    let flags: Vec<_> = tokens.iter().map(|token| (token.space, token.line_start)).collect();
    assert_eq!(
        flags,
        [(false, true), (true, false), (true, false), (true, true), (false, false), (false, false)]
    );
}

#[test]
fn reads_literals_with_prefixes() {
    assert_eq!(
        spellings(r#"u8"a\"b" 'c' L'\'' R"(a"\)b)" uR"x()" )x" f"s""#),
        [r#"u8"a\"b""#, "'c'", r"L'\''", r#"R"(a"\)b)""#, r#"uR"x()" )x""#, "f", "\"s\""]
    );
    assert_eq!(
        spellings("1'000 0x1p-3 1e+5 0b1 3.f x'a'"),
        ["1'000", "0x1p-3", "1e+5", "0b1", "3.f", "x", "'a'"]
    );
}

#[test]
fn reports_what_never_ends() {
    let problems = |text: &str| scan(text).iter().filter_map(|token| token.problem).collect::<Vec<_>>();
    assert_eq!(problems("\"abc\nx"), [Problem::OpenLiteral]);
    assert_eq!(problems("'"), [Problem::OpenLiteral]);
    assert_eq!(problems("R\"(abc\n"), [Problem::OpenRawString]);
    let mut scanner = Scanner::new("a /* b", 0);
    scanner.next(Lines::Cross);
    assert_eq!(scanner.next(Lines::Cross).problem, Some(Problem::CommentBefore(2)));
}

#[test]
fn accepts_unicode_identifiers_and_passes_on_strays() {
    assert_eq!(spellings("größe @ $x \\ 日本 €"), ["größe", "?@", "?$", "x", "?\\", "日本", "?€"]);
}

fn int(text: &str) -> IntLiteral {
    match parse_number(text) {
        Ok(TokenKind::Int(literal)) => literal,
        other => panic!("{text}: {other:?}"),
    }
}

fn float(text: &str) -> (f64, FloatSuffix) {
    match parse_number(text) {
        Ok(TokenKind::Float(literal)) => (literal.value, literal.suffix),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn converts_integers() {
    assert_eq!(int("1'000'000").value, 1_000_000);
    assert_eq!(int("0xFFu"), IntLiteral { value: 255, unsigned: true, long: false, decimal: false });
    assert_eq!(int("0b1010").value, 10);
    assert_eq!(int("0777").value, 511);
    assert_eq!(int("0").value, 0);
    assert_eq!(
        int("18446744073709551615ULL"),
        IntLiteral { value: u64::MAX, unsigned: true, long: true, decimal: true }
    );
    for wrong in
        ["18446744073709551616", "08", "0b2", "1x", "0x", "0b", "1f", "1ulul", "0xg", "1.2.3", "1e", "1e+"]
    {
        assert!(parse_number(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn converts_floats() {
    assert_eq!(float("1.5"), (1.5, FloatSuffix::None));
    assert_eq!(float("1.f"), (1.0, FloatSuffix::Float));
    assert_eq!(float(".5h"), (0.5, FloatSuffix::Half));
    assert_eq!(float("-5.0h".trim_start_matches('-')), (5.0, FloatSuffix::Half));
    assert_eq!(float("1e3bf"), (1000.0, FloatSuffix::Bfloat));
    assert_eq!(float("2.0L"), (2.0, FloatSuffix::Long));
    assert_eq!(float("08.5"), (8.5, FloatSuffix::None));
    assert_eq!(float("0x1.8p1f"), (3.0, FloatSuffix::Float));
    assert_eq!(float("0x.8p0"), (0.5, FloatSuffix::None));
    assert_eq!(float("0x1.fffffep127f").0, f64::from(f32::MAX));
    assert_eq!(float("0x1p-149f").0, f64::from(f32::from_bits(1)));
    assert_eq!(float("0.1").0, f64::from(0.1f32));
    assert!(float("0x1p99999999999999999999").0.is_infinite());
    assert_eq!(float("0x1p-99999999999999999999").0, 0.0);
    for wrong in ["0x1.8", "0x1p", "1.0q", "0x.p1", "0x1.2.3p1", "1.0fh"] {
        assert!(parse_number(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn decodes_escapes() {
    assert_eq!(decode_string(r#""a\n\t\x41\101\u00e4\"\\""#).value, "a\n\tAA\u{e4}\"\\");
    assert_eq!(decode_string(r#"R"x(a\n"b)x""#).value, r#"a\n"b"#);
    assert_eq!(decode_string(r#""\q""#).problems.len(), 1);
    assert_eq!(decode_string("\"open").value, "open");
    assert_eq!(decode_char("'A'").value, 65);
    assert_eq!(decode_char(r"'\0'").value, 0);
    assert_eq!(decode_char("'ab'").value, 0x6162);
    assert_eq!(decode_char("''").problems.len(), 1);
}

#[test]
fn identifiers_outside_of_ascii() {
    assert_eq!(spellings(r"\u00FC a\U000000FCb x\u{FC}"), ["ü", "aüb", "xü"]);
    assert_eq!(spellings("a\\u00\\\nFC"), ["aü"]);
    assert_eq!(spellings("aǶ x̀ a\u{3000}b ∂₂"), ["aǶ", "x̀", "a", "b", "∂₂"]);
    let problems = |text: &str| scan(text).iter().filter_map(|token| token.problem).collect::<Vec<_>>();
    assert_eq!(problems("a❌b"), [Problem::RefusedInIdentifier('❌', 1)]);
    assert_eq!(problems(r"a\u0024"), [Problem::BasicName('$')]);
    assert_eq!(problems(r"\uD800"), [Problem::SurrogateName]);
    // Without enough digits it is a backslash and a word.
    assert_eq!(spellings(r"\u12g \u{} \u0300"), ["?\\", "u12g", "?\\", "u", "{", "}", "?\u{300}"]);
}

#[test]
fn ends_on_any_text_from_any_position() {
    let texts = [
        "\\",
        "\\\n",
        "R\"",
        "R\"((((((((((((((((((((",
        "'\\",
        "\"\\\n\\",
        "/*",
        "/\\\n/",
        "0x'",
        "u8",
        ".\\\n",
        "é\\\né",
        "\0#\u{feff}x",
        "\\u{",
        "a\\u00",
        "\\U\\\n",
    ];
    for text in texts {
        for position in (0..=text.len()).filter(|&position| text.is_char_boundary(position)) {
            for lines in [Lines::Cross, Lines::Stop] {
                let mut scanner = Scanner::new(text, position);
                let mut count = 0;
                while !matches!(scanner.next(lines).kind, RawKind::End | RawKind::LineEnd) {
                    count += 1;
                    assert!(count < 100, "{text:?} does not end");
                }
            }
        }
    }
}
