//! Where threadgroup variables may be declared: in kernels, mesh and object functions (MSL 4.4).

use crate::ast;
use crate::sema::checker::Checker;
use anymetal_diagnostics::Diagnostic;

/// Reports a threadgroup variable in a function that the host cannot launch.
///
/// It has code here all the same, because translations of other languages have such variables in function
/// templates: the diagnostic is an error that `-Wno-threadgroup-in-function` switches off.
pub(in crate::sema) fn check(cx: &mut Checker<'_>, variable: &ast::Variable) {
    // A lambda is in the function around it.
    let around = cx.functions.bodies_around(&cx.scopes);
    let in_kernel = around.into_iter().any(|func| cx.functions.is_entry_point(func));
    if in_kernel || cx.diagnostics.is_of_library(variable.span) {
        return;
    }
    let name = variable.declarator.name;
    let message = format!("threadgroup variable `{name}` is declared in a function that is not a kernel");
    let diagnostic = Diagnostic::warning("threadgroup-in-function", variable.span, message);
    cx.report(diagnostic.with_hint("declare it in the kernel, and pass a pointer or reference to it"));
}
