//! Declarations inside of blocks, variables apart: types, aliases, `using`, assertions.

use crate::ast::{self, ItemKind};
use crate::hir::{QualTy, Stmt, Ty};
use crate::sema::checker::{Checker, LocalDecl};
use crate::sema::lookup::Found;
use crate::sema::path;
use crate::sema::table::{Tag, tag_of};
use anymetal_diagnostics::{Diagnostic, Span};

impl<'a> Checker<'a> {
    pub(super) fn local_item(&mut self, item: &'a ast::Item, out: &mut Vec<Stmt>) {
        let span = item.span;
        match &item.kind {
            ItemKind::Alias(alias) => {
                self.declare_block_tag(&alias.ty);
                let ty = self.resolve_type(&alias.ty);
                // A tag of the same name as the alias is the same type.
                self.scopes.declare(alias.name, LocalDecl::Type(ty));
            }
            ItemKind::Record(record) => {
                let ty = self.declare_block_record(record);
                self.complete_type(ty, span);
            }
            ItemKind::Enum(enumeration) => self.declare_block_enum(enumeration),
            ItemKind::StaticAssert(cond, message) => self.static_assert(cond, *message, span),
            ItemKind::Variable(variable) => self.local_variable(variable, out),
            ItemKind::Bindings(bindings) => self.local_bindings(bindings, out),
            ItemKind::UsingNamespace(path) => self.block_using_namespace(path, span),
            ItemKind::UsingDeclaration(using) => self.block_using(&using.path),
            ItemKind::Function(_) => {
                let message = "functions cannot be declared inside of functions";
                let hint = "declare it outside of this function, or use a lambda";
                self.report(Diagnostic::error("local-function", span, message).with_hint(hint));
            }
            _ => {}
        }
    }

    /// Declares the record or enumeration written inside a type, and its enumerators.
    pub(in crate::sema) fn declare_block_tag(&mut self, ty: &'a ast::Type) {
        match tag_of(ty) {
            Some(Tag::Record(record)) if record.name.is_some() => {
                self.declare_block_record(record);
            }
            Some(Tag::Enum(enumeration)) => self.declare_block_enum(enumeration),
            _ => {}
        }
    }

    fn declare_block_record(&mut self, record: &'a ast::Record) -> Ty {
        let ty = self.plain_record(record, self.scopes.current());
        if let Some(name) = record.name {
            self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), record.span);
        }
        ty
    }

    fn declare_block_enum(&mut self, enumeration: &'a ast::Enum) {
        let scope = self.scopes.current();
        let ty = self.enum_ty(enumeration, scope);
        if let Some(name) = enumeration.name {
            self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), enumeration.span);
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            if let Found::Enumerator(ty, value) = self.enumerator(enumeration, scope, n as u32) {
                self.declare_local(enumerator.name, LocalDecl::Enumerator(ty, value), enumerator.span);
            }
        }
    }

    /// Names of the namespace become visible in the block.
    fn block_using_namespace(&mut self, path: &'a ast::Path, span: Span) {
        let from = self.scopes.enclosing_namespace(self.scopes.current());
        match self.table.find_namespace(from, path) {
            Some(ns) => self.scopes.add_directive(ns),
            None => self.report(path::unknown_namespace(path, span)),
        }
    }

    fn block_using(&mut self, path: &'a ast::Path) {
        match self.resolve_path(path) {
            Ok(target) => {
                if let Some(last) = path.segments.last() {
                    self.scopes.add_using(last.name, target.found);
                }
            }
            Err(miss) => self.report_miss(miss, "name"),
        }
    }
}
