//! The state of one check, as the objects that `sema` lists.
//!
//! One [`Checker`] serves one entry point (or one "check everything"), and is thrown away after. It
//! borrows the symbol tables and syntax trees, which are immutable and shared, so that several checks
//! may run at once. A temporary change of the state (`nested`) takes a closure and restores the state.

mod nested;

use super::arena::{Arena, MadeSyntax};
use super::collect::ProgramData;
use super::diagnostics::Diagnostics;
use super::dispatch::Linking;
use super::entities::{LocalDecl, Placeholders};
use super::enumeration::Enums;
use super::fn_context::{FnContext, LocalConstants};
use super::function::Functions;
use super::limits::Limits;
use super::lookup::Lookups;
use super::names::KnownNames;
use super::record::Records;
use super::scopes::Scopes;
use super::table::Layer;
use super::template_template::Templates;
use super::values::Values;
use super::variable::Globals;
use crate::ast;
use crate::hir::{self, QualTy, Types};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// See the module's documentation.
pub(super) struct Checker<'a> {
    pub(super) table: &'a Layer,
    pub(super) types: Types,
    pub(super) diagnostics: Diagnostics,
    pub(super) limits: Limits,
    pub(super) scopes: Scopes<'a>,
    pub(super) lookups: Lookups<'a>,
    pub(super) records: Records<'a>,
    pub(super) enums: Enums<'a>,
    pub(super) templates: Templates<'a>,
    pub(super) globals: Globals<'a>,
    pub(super) functions: Functions<'a>,
    pub(super) data: ProgramData,
    pub(super) linking: Linking<'a>,
    /// The function whose body is being checked.
    pub(super) function: FnContext,
    pub(super) local_constants: LocalConstants,
    pub(super) placeholders: Placeholders,
    pub(super) made: MadeSyntax<'a>,
    pub(super) names: KnownNames,
    /// Whether code that nothing uses is checked.
    pub(super) checks_everything: bool,
}

impl<'a> Checker<'a> {
    pub(super) fn new(table: &'a Layer, arena: &'a Arena, links: super::Links<'a>) -> Self {
        Self {
            table,
            types: Types::new(),
            diagnostics: Diagnostics::new(links.warnings.clone()),
            limits: Limits::default(),
            scopes: Scopes::new(table),
            lookups: Lookups::default(),
            records: Records::default(),
            enums: Enums::default(),
            templates: Templates::default(),
            globals: Globals::default(),
            functions: Functions::default(),
            data: ProgramData::default(),
            linking: Linking::new(links),
            function: FnContext::outside(0),
            local_constants: LocalConstants::default(),
            placeholders: Placeholders::default(),
            made: MadeSyntax::new(arena),
            names: KnownNames::new(),
            checks_everything: false,
        }
    }

    /// Declares a name in the innermost block scope.
    pub(super) fn declare_local(&mut self, name: Name, decl: LocalDecl, span: Span) {
        let known = if name == Name::EMPTY { None } else { self.scopes.declare(name, decl) };
        let Some(known) = known else {
            // The first of its name in the block, or without one.
            return;
        };
        let diagnostic = Diagnostic::error("redefinition", span, format!("redefinition of `{name}`"));
        self.report(match known {
            LocalDecl::Variable { local, function, .. } if function == self.function.serial => {
                diagnostic.with_note(self.function.locals[local.0 as usize].span, "declared here before")
            }
            _ => diagnostic,
        });
    }

    /// Reports an error with the instantiation trace.
    pub(super) fn error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics.error(id, span, message);
    }

    /// The number of elements in the expansion of a type; reports a type without a pack.
    pub(super) fn expansion_of_type(&mut self, ty: &ast::Type) -> usize {
        let length = self.scopes.pack_length_of_type(ty);
        length.unwrap_or_else(|| self.refuse_expansion(ty.span))
    }

    /// The number of elements in the expansion of an expression; reports an expression without a pack.
    pub(super) fn expansion_of_expr(&mut self, expr: &ast::Expr) -> usize {
        let length = self.scopes.pack_length_of_expr(expr);
        length.unwrap_or_else(|| self.refuse_expansion(expr.span))
    }

    fn refuse_expansion(&mut self, span: Span) -> usize {
        self.error("not-a-pack", span, "`...` needs a parameter pack before it");
        0
    }

    /// Reports a diagnostic; the instantiation trace is added.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.report(diagnostic);
    }

    /// Reports what Metal has and we do not run. A check of everything makes no code, and accepts it.
    pub(super) fn unsupported(&mut self, span: Span, message: impl Into<String>) {
        if !self.checks_everything {
            self.error("unsupported-feature", span, message);
        }
    }

    /// Poison: the result of an expression that is in error.
    pub(super) fn poison(&mut self, span: Span) -> hir::Expr {
        self.diagnostics.poison(span)
    }

    /// Creates typed values from operands of the current function.
    pub(super) fn values(&mut self) -> Values<'_> {
        let Self { types, data, function, local_constants, .. } = self;
        Values { types, data, function, local_constants }
    }

    /// Whether a type is in error, or depends on template arguments that are not known.
    pub(super) fn is_dependent(&self, ty: hir::Ty) -> bool {
        let shows_it = || self.types.display(ty).contains(super::diagnostics::DEPENDENT);
        ty.is_error() || (self.diagnostics.in_template() && shows_it())
    }

    /// A type for messages.
    pub(super) fn show(&self, ty: QualTy) -> String {
        self.types.display_qual(ty)
    }
}

/// The space an address-space word names.
pub(super) fn space_of(space: ast::AddressSpace) -> anymetal_ir::Space {
    match space {
        ast::AddressSpace::Device => anymetal_ir::Space::Device,
        ast::AddressSpace::Constant => anymetal_ir::Space::Constant,
        ast::AddressSpace::Threadgroup => anymetal_ir::Space::Threadgroup,
        ast::AddressSpace::Thread => anymetal_ir::Space::Thread,
    }
}
