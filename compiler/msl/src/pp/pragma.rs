//! `#pragma` and `_Pragma`: those the parser must see become tokens, all others are dropped.

use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use super::{emit, expand, include, pragma_diagnostic};
use crate::lexer::{Lines, Scanner, decode_string};
use crate::token::{ContractMode, LoopCount, LoopSetting, LoopTransform, MathMode, Name, Pragma, Punct};
use anymetal_diagnostics::{Diagnostic, Span};

pub(super) fn directive(pp: &mut Preprocessor<'_>, directive: PpToken) {
    let outer = std::mem::replace(&mut pp.in_pragma, true);
    let tokens = pp.rest_of_pragma();
    pp.in_pragma = outer;
    if tokens.first().is_some_and(|token| token.kind == PpKind::Ident && token.name == "once") {
        include::mark_once(pp, tokens[0].span);
        return;
    }
    let made = interpret(pp, &tokens, directive.span);
    pp.pending.extend(made);
}

/// `_Pragma("..")`, whose name was read from the expanded text.
pub(super) fn operator(pp: &mut Preprocessor<'_>, name: PpToken) {
    let open = expand::next_expanded(pp);
    let text = if open.is_punct(Punct::LParen) { expand::next_expanded(pp) } else { open };
    let close = if text.kind == PpKind::Str { expand::next_expanded(pp) } else { text };
    if !close.is_punct(Punct::RParen) || text.kind != PpKind::Str {
        pp.report(|| {
            Diagnostic::error("invalid-pragma", name.span, "`_Pragma` needs a string literal in parentheses")
        });
        return;
    }
    let tokens = tokens_of(&decode_string(text.name.as_str()).value, text.span);
    let made = interpret(pp, &tokens, name.span);
    for token in expand::expand_list(pp, &made) {
        emit::token(pp, token);
    }
}

/// The tokens that stand for a pragma in the token stream; none for those without a meaning here. Reports
/// floating-point pragmas in unknown forms, which are ignored.
fn interpret(pp: &mut Preprocessor<'_>, tokens: &[PpToken], span: Span) -> Vec<PpToken> {
    if pragma_diagnostic::obey(pp, tokens, span) {
        return Vec::new();
    }
    let mut made = Made { tokens: Vec::new(), ignored: Vec::new(), wrong: Vec::new(), span };
    made.interpret(tokens);
    for (span, message) in made.wrong {
        pp.report(|| Diagnostic::error("invalid-pragma", span, message));
    }
    for (span, message) in made.ignored {
        pp.report(|| Diagnostic::warning("unknown-pragma", span, message));
    }
    made.tokens
}

/// The tokens of a text that stands in a string literal; all of them are placed there.
fn tokens_of(text: &str, span: Span) -> Vec<PpToken> {
    let mut scanner = Scanner::new(text, 0);
    let mut tokens = Vec::new();
    loop {
        let raw = scanner.next(Lines::Stop);
        let kind = PpKind::from(raw.kind);
        if matches!(kind, PpKind::LineEnd | PpKind::End) {
            return tokens;
        }
        tokens.push(PpToken { space: raw.space, ..PpToken::made(kind, raw.name, span) });
    }
}

/// The tokens that stand for a pragma.
struct Made {
    tokens: Vec<PpToken>,
    /// What is wrong with the pragma, and where.
    ignored: Vec<(Span, String)>,
    /// The same of those that are errors.
    wrong: Vec<(Span, String)>,
    span: Span,
}

impl Made {
    fn interpret(&mut self, tokens: &[PpToken]) {
        let words: Vec<&str> = tokens.iter().take(2).map(word).collect();
        match words[..] {
            ["unroll", ..] => self.unroll("unroll", LoopTransform::Unroll, &tokens[1..]),
            ["unroll_and_jam", ..] => {
                self.unroll("unroll_and_jam", LoopTransform::UnrollAndJam, &tokens[1..]);
            }
            ["nounroll", ..] => self.pragma(Pragma::Loop(LoopTransform::Unroll, LoopSetting::Disable)),
            ["nounroll_and_jam", ..] => {
                self.pragma(Pragma::Loop(LoopTransform::UnrollAndJam, LoopSetting::Disable));
            }
            ["clang", "loop"] => self.loop_options(&tokens[2..]),
            ["METAL", "fp"] => self.fp_options(&tokens[2..]),
            ["clang", "fp"] => self.clang_fp_options(&tokens[2..]),
            ["STDC", ..] => self.standard(&tokens[1..]),
            ["unused", ..] => self.unused(&tokens[1..]),
            _ => {}
        }
    }

    fn ignore(&mut self, token: Option<&PpToken>, message: impl Into<String>) {
        let span = token.map_or(self.span, |token| token.span);
        self.ignored.push((span, format!("{}: the pragma is ignored", message.into())));
    }

    /// The standard's pragmas, after `STDC`.
    fn standard(&mut self, tokens: &[PpToken]) {
        match (tokens.first().map(word), tokens.get(1).map(word)) {
            (Some("FP_CONTRACT"), Some("ON")) => self.pragma(Pragma::Contract(ContractMode::On)),
            (Some("FP_CONTRACT"), Some("OFF")) => self.pragma(Pragma::Contract(ContractMode::Off)),
            (Some("FP_CONTRACT"), Some("DEFAULT")) => self.pragma(Pragma::Contract(ContractMode::default())),
            (Some("FP_CONTRACT"), _) => {
                self.ignore(tokens.get(1), "expected `ON`, `OFF` or `DEFAULT` after `FP_CONTRACT`");
            }
            // They have one setting here, the default.
            (Some("FENV_ACCESS" | "FENV_ROUND" | "CX_LIMITED_RANGE"), _) => {}
            _ => self.ignore(tokens.first(), "unknown pragma of the C standard"),
        }
    }

    /// `(a, b)` after `unused`.
    fn unused(&mut self, tokens: &[PpToken]) {
        let [open, names @ .., close] = tokens else {
            return self.ignore(tokens.first(), "expected `(` and names after `unused`");
        };
        if !open.is_punct(Punct::LParen) || !close.is_punct(Punct::RParen) {
            return self.ignore(Some(open), "expected names in parentheses after `unused`");
        }
        for name in names.split(|token| token.is_punct(Punct::Comma)) {
            match name {
                [name] if name.kind == PpKind::Ident => self.pragma(Pragma::Unused(name.name)),
                _ => return self.ignore(name.first(), "expected the name of a variable in `unused`"),
            }
        }
    }

    /// One or more `option(argument)`.
    fn fp_options(&mut self, tokens: &[PpToken]) {
        if tokens.is_empty() {
            self.ignore(None, "expected `math_mode(…)` or `contract(…)` after `fp`");
        }
        let mut rest = tokens;
        while let Some((name, after)) = rest.split_first() {
            let length = balanced_length(after);
            let pragma = match (word(name), operand_word(&after[..length])) {
                ("math_mode", "safe") => Some(Pragma::MathMode(MathMode::Safe)),
                ("math_mode", "relaxed") => Some(Pragma::MathMode(MathMode::Relaxed)),
                ("math_mode", "fast") => Some(Pragma::MathMode(MathMode::Fast)),
                ("contract", "off") => Some(Pragma::Contract(ContractMode::Off)),
                ("contract", "on") => Some(Pragma::Contract(ContractMode::On)),
                ("contract", "fast") => Some(Pragma::Contract(ContractMode::Fast)),
                _ => None,
            };
            match (pragma, word(name)) {
                (Some(pragma), _) => self.pragma(pragma),
                (None, "math_mode") => {
                    self.ignore(
                        after.first(),
                        "expected `(safe)`, `(relaxed)` or `(fast)` after `math_mode`",
                    );
                }
                (None, "contract") => {
                    self.ignore(after.first(), "expected `(off)`, `(on)` or `(fast)` after `contract`");
                }
                (None, _) => self.ignore(Some(name), "expected `math_mode(…)` or `contract(…)` after `fp`"),
            }
            if pragma.is_none() {
                return;
            }
            rest = &after[length..];
        }
    }

    /// The same of clang's pragma, which has more options; what is wrong is an error.
    fn clang_fp_options(&mut self, tokens: &[PpToken]) {
        let known = CLANG_FP_OPTIONS.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join(", ");
        if tokens.is_empty() {
            self.refuse(None, format!("missing option after `fp`; expected one of {known}"));
        }
        let mut rest = tokens;
        while let Some((name, after)) = rest.split_first() {
            let option = word(name);
            let Some(&(_, values)) = CLANG_FP_OPTIONS.iter().find(|(known, _)| *known == option) else {
                return self.refuse(Some(name), format!("invalid option; expected one of {known}"));
            };
            if !after.first().is_some_and(|next| next.is_punct(Punct::LParen)) {
                return self.refuse(Some(name), format!("expected `(` after `{option}`"));
            }
            let length = balanced_length(after);
            let operand = &after[..length];
            if !is_closed(operand) {
                return self
                    .refuse(operand.last(), format!("expected `)` to end the argument of `{option}`"));
            }
            let value = operand_word(operand);
            if !values.contains(&value) {
                let message = format!("the argument of `{option}` is one of {}", values.join(", "));
                return self.refuse(operand.get(1), message);
            }
            match (option, value) {
                ("contract", "off") => self.pragma(Pragma::Contract(ContractMode::Off)),
                ("contract", "on") => self.pragma(Pragma::Contract(ContractMode::On)),
                ("contract", _) => self.pragma(Pragma::Contract(ContractMode::Fast)),
                ("math_mode", "safe") => self.pragma(Pragma::MathMode(MathMode::Safe)),
                ("math_mode", "relaxed") => self.pragma(Pragma::MathMode(MathMode::Relaxed)),
                ("math_mode", _) => self.pragma(Pragma::MathMode(MathMode::Fast)),
                // They allow what is not done here.
                _ => {}
            }
            rest = &after[length..];
        }
    }

    fn pragma(&mut self, pragma: Pragma) {
        self.tokens.push(PpToken::made(PpKind::Pragma(pragma), Name::EMPTY, self.span));
    }

    /// `unroll`, `unroll 4`, `unroll(4)`, after the word.
    fn unroll(&mut self, name: &str, transform: LoopTransform, count: &[PpToken]) {
        if count.is_empty() {
            self.pragma(Pragma::Loop(transform, LoopSetting::Enable));
        } else if self.is_operand(name, count) {
            self.count(LoopCount { transform, may_be_zero: transform == LoopTransform::Unroll }, count);
        }
    }

    fn count(&mut self, count: LoopCount, expression: &[PpToken]) {
        self.pragma(Pragma::LoopCountBegin(count));
        self.tokens.extend_from_slice(expression);
        self.pragma(Pragma::End);
    }

    fn refuse(&mut self, token: Option<&PpToken>, message: String) {
        self.wrong.push((token.map_or(self.span, |token| token.span), message));
    }

    /// Whether the tokens after an option are an argument in parentheses, or one without.
    fn is_operand(&mut self, option: &str, operand: &[PpToken]) -> bool {
        let problem = match operand {
            [open, close] if open.is_punct(Punct::LParen) && close.is_punct(Punct::RParen) => {
                format!("`{option}` needs an argument")
            }
            [open, ..] if open.is_punct(Punct::LParen) && !is_closed(operand) => {
                format!("expected `)` to end the argument of `{option}`")
            }
            _ => return true,
        };
        self.refuse(operand.last(), problem);
        false
    }

    /// One or more `option(argument)` about a loop.
    fn loop_options(&mut self, tokens: &[PpToken]) {
        if tokens.is_empty() {
            self.refuse(None, format!("expected an option after `loop`: {}", option_names()));
        }
        let mut rest = tokens;
        while let Some((name, after)) = rest.split_first() {
            let option = word(name);
            let Some(&(_, transform, values)) = LOOP_OPTIONS.iter().find(|(known, ..)| *known == option)
            else {
                // After an option there may be more text, which clang ignores with a warning.
                if rest.len() == tokens.len() || name.kind == PpKind::Ident {
                    self.refuse(Some(name), format!("unknown option of a loop; known: {}", option_names()));
                }
                return;
            };
            if !after.first().is_some_and(|next| next.is_punct(Punct::LParen)) {
                self.refuse(Some(name), format!("expected `(` after `{option}`"));
                return;
            }
            let length = balanced_length(after);
            let operand = &after[..length];
            if !self.is_operand(option, operand) {
                return;
            }
            // After the argument there may be more text, which clang ignores with a warning.
            let argument = first_argument(operand);
            if values.is_empty() {
                // `vectorize_width(scalable)` has no number.
                if !matches!(operand_word(&argument), "fixed" | "scalable") {
                    self.count(LoopCount { transform, may_be_zero: false }, &argument);
                }
            } else if let Some(&(_, setting)) = LOOP_SETTINGS
                .iter()
                .find(|(word, _)| values.contains(word) && *word == operand_word(&argument))
            {
                self.pragma(Pragma::Loop(transform, setting));
            } else {
                let message = format!("the argument of `{option}` is one of {}", values.join(", "));
                self.refuse(operand.get(1), message);
                return;
            }
            rest = &after[length..];
        }
    }
}

/// The options of `#pragma clang loop`, and the words that each takes; none where it takes a number.
const LOOP_OPTIONS: &[(&str, LoopTransform, &[&str])] = &[
    ("vectorize", LoopTransform::Vectorize, &["enable", "assume_safety", "disable"]),
    ("vectorize_width", LoopTransform::Vectorize, &[]),
    ("vectorize_predicate", LoopTransform::VectorizePredicate, &["enable", "disable"]),
    ("interleave", LoopTransform::Interleave, &["enable", "assume_safety", "disable"]),
    ("interleave_count", LoopTransform::Interleave, &[]),
    ("unroll", LoopTransform::Unroll, &["enable", "full", "disable"]),
    ("unroll_count", LoopTransform::Unroll, &[]),
    ("pipeline", LoopTransform::Pipeline, &["disable"]),
    ("pipeline_initiation_interval", LoopTransform::Pipeline, &[]),
    ("distribute", LoopTransform::Distribute, &["enable", "disable"]),
];

/// The options of `#pragma clang fp` and their arguments, and Metal's own.
const CLANG_FP_OPTIONS: &[(&str, &[&str])] = &[
    ("contract", &["fast", "on", "off"]),
    ("reassociate", &["on", "off"]),
    ("reciprocal", &["on", "off"]),
    ("exceptions", &["ignore", "maytrap", "strict"]),
    ("eval_method", &["source", "double", "extended"]),
    ("math_mode", &["safe", "relaxed", "fast"]),
];

const LOOP_SETTINGS: &[(&str, LoopSetting)] = &[
    ("enable", LoopSetting::Enable),
    ("assume_safety", LoopSetting::AssumeSafety),
    ("full", LoopSetting::Full),
    ("disable", LoopSetting::Disable),
];

/// The first argument of a list in parentheses, in parentheses.
fn first_argument(operand: &[PpToken]) -> Vec<PpToken> {
    let mut depth = 0usize;
    let end = operand.iter().position(|token| {
        match token.kind {
            PpKind::Punct(Punct::LParen) => depth += 1,
            PpKind::Punct(Punct::RParen) => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 1 && token.is_punct(Punct::Comma)
    });
    match (end, operand.last()) {
        (Some(end), Some(close)) => [&operand[..end], std::slice::from_ref(close)].concat(),
        _ => operand.to_vec(),
    }
}

fn option_names() -> String {
    LOOP_OPTIONS.iter().map(|(name, ..)| *name).collect::<Vec<&str>>().join(", ")
}

/// Whether the parenthesis at the start is closed by the last token.
fn is_closed(tokens: &[PpToken]) -> bool {
    let depth = |open: usize, token: &PpToken| match token.kind {
        PpKind::Punct(Punct::LParen) => open + 1,
        PpKind::Punct(Punct::RParen) => open.saturating_sub(1),
        _ => open,
    };
    tokens.iter().fold(0, depth) == 0
}

/// The word, if it is one.
pub(super) fn word(token: &PpToken) -> &'static str {
    if token.kind == PpKind::Ident { token.name.as_str() } else { "" }
}

/// The length of the parenthesised tokens at the start, parentheses included; all when never closed.
fn balanced_length(tokens: &[PpToken]) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            PpKind::Punct(Punct::LParen) => depth += 1,
            PpKind::Punct(Punct::RParen) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// The single word in parentheses.
fn operand_word(operand: &[PpToken]) -> &'static str {
    match operand {
        [_, word, _] if word.kind == PpKind::Ident => word.name.as_str(),
        _ => "",
    }
}
