//! `asm` after a declarator and at file scope.
//!
//! Metal's compiler takes the name that a function has in the linker: `float f(float) __asm("name");`.
//! Programs name instructions of Apple's intermediate language this way, which exist on Apple's GPUs only.

use super::Parser;
use crate::token::{Punct, TokenKind};
use anymetal_diagnostics::Diagnostic;

/// The label of a function or variable, at `asm`. Only names of the intermediate language have a meaning: no
/// other file is linked by name.
pub(super) fn label(p: &mut Parser<'_>) {
    let start = p.span();
    p.advance();
    p.expect(Punct::LParen, "after `asm`");
    if let TokenKind::Str(name) = p.peek() {
        p.advance();
        if name.as_str().starts_with("air.") {
            let message = format!("`{name}` is an instruction of Apple's intermediate language");
            let hint = "call the function of the Metal library that does the same, such as `simd_sum` or \
                        `simdgroup_load`; instead of an asynchronous copy, copy in a loop before a barrier";
            p.report(Diagnostic::error("unsupported-feature", p.since(start), message).with_hint(hint));
        }
    } else {
        let found = p.peek();
        p.error("expected-token", p.span(), format!("expected a string literal in `asm`, found {found}"));
    }
    p.expect(Punct::RParen, "to end `asm`");
}

/// `asm("…");` between declarations.
pub(super) fn at_file_scope(p: &mut Parser<'_>) {
    p.error("unsupported-feature", p.span(), "MSL has no `asm`");
    p.skip_statement();
}
