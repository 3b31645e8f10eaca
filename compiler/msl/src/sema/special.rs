//! Special member functions: which function copies, moves or assigns an object, which classes have no
//! default constructor, and the use of functions that are deleted.
//!
//! Functions that a class does not declare are not declarations here: they are the copy of all parts, which
//! is deleted where a part cannot be copied (C++14 [class.copy]).
//!
//! Invariant: the parts of a class are examined once for each kind of copy, however often the class is a
//! member of others.

use super::checker::{Checker, FnDeclId};
use super::convert::Conversion;
use super::init::Memberwise;
use crate::ast::{FunctionBody, FunctionName, ItemKind};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, RecordId, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use std::rc::Rc;

/// Why a special member function is deleted, or why a function cannot be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    /// `= delete`
    Declared,
    /// The class declares a move constructor or move assignment.
    Moves,
    /// A const member.
    Const,
    /// A reference member.
    Reference,
    /// A member or base without the function, or with a deleted one.
    Part,
    /// A member of a union whose function is not trivial.
    Variant,
    /// All functions take other objects.
    NoneFits,
}

/// A special member function that is deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deletion {
    why: Why,
    /// The member; empty for a base.
    member: Name,
    /// The function's declaration, or the class's.
    span: Span,
}

/// The function that copies or assigns an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Copying {
    /// The copy of all parts.
    Parts,
    /// The same, declared as defaulted.
    Defaulted(FuncId),
    Declared(FuncId),
    Deleted(Deletion),
}

/// The object that a copy of all parts takes them from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Const,
    Mutable,
    Moved,
}

/// What a declared function does with an object of its class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Takes {
    Copy,
    Move,
}

impl<'a> Checker<'a> {
    /// Reports the use of a function that is deleted or not accessible, perhaps with an object.
    pub(super) fn check_usable(&mut self, func: FuncId, object: Option<&Expr>, span: Span) -> bool {
        if !self.is_deleted(func) {
            return self.check_function_access(func, object, span);
        }
        let inst = self.functions.inst(func);
        let message = format!("`{}` cannot be used: it is deleted", inst.name);
        let diagnostic = Diagnostic::error("deleted-function", span, message);
        let diagnostic = diagnostic.with_note(inst.span, "declared here");
        self.report(diagnostic);
        false
    }

    /// Whether the chosen function is deleted: a full specialisation may delete, or stand in for, a template.
    pub(super) fn is_deleted(&mut self, func: FuncId) -> bool {
        // Only a declaration says `= delete`.
        let Some(decl) = self.functions.inst(func).origin.decl() else { return false };
        let body = match self.function_specialisation(func, decl) {
            Some(special) => &special.ast.body,
            None => &self.functions.decl(decl).ast.body,
        };
        matches!(body, FunctionBody::Delete)
    }

    /// Reports the use of a special member function that is deleted.
    pub(super) fn report_deletion(&mut self, what: &str, ty: Ty, deletion: Deletion, span: Span) {
        let (shown, member) = (self.types.display(ty), deletion.member);
        let part = if member == Name::EMPTY {
            "a base or unnamed member".to_owned()
        } else {
            format!("member `{member}`")
        };
        let reason = match deletion.why {
            Why::Declared => "declared here".to_owned(),
            Why::Moves => "the class declares how objects are moved".to_owned(),
            Why::Const => format!("{part} is const"),
            Why::Reference => format!("{part} is a reference"),
            Why::Part => format!("{part} has none that can be used"),
            Why::Variant => format!("{part} of the union has one that is not trivial"),
            Why::NoneFits => "none that the class declares takes this object".to_owned(),
        };
        let verdict = if deletion.why == Why::NoneFits { "does not fit" } else { "is deleted" };
        let message = format!("the {what} of `{shown}` {verdict}");
        self.report(Diagnostic::error("deleted-function", span, message).with_note(deletion.span, reason));
    }

    /// Checks that the object may be copied, moved or assigned; reports if not.
    pub(super) fn check_copying(&mut self, how: Memberwise, from: &Expr) -> bool {
        match self.copying(how, from) {
            Copying::Deleted(deletion) => {
                let what = match how {
                    Memberwise::Construct => "copy constructor",
                    Memberwise::Assign => "copy assignment",
                };
                self.report_deletion(what, from.ty.ty, deletion, from.span);
                false
            }
            Copying::Defaulted(func) | Copying::Declared(func) => {
                self.check_function_access(func, None, from.span)
            }
            Copying::Parts => true,
        }
    }

    /// The function that copies, or moves, an object or the elements of an array.
    pub(super) fn copying(&mut self, how: Memberwise, from: &Expr) -> Copying {
        let record = match *self.types.kind(from.ty.ty) {
            TyKind::Record(record) if self.types.record(record).is_complete => record,
            TyKind::Array(elem, _) => {
                let element = Expr { ty: from.ty.with_ty(elem), ..from.clone() };
                return match self.copying(how, &element) {
                    // Element by element.
                    Copying::Declared(func) => Copying::Defaulted(func),
                    other => other,
                };
            }
            _ => return Copying::Parts,
        };
        if self.records.get(record).ast.is_none() {
            // A closure: what it captures is copied where it is created.
            return Copying::Parts;
        }
        self.copying_of_class(how, record, from)
    }

    fn copying_of_class(&mut self, how: Memberwise, record: RecordId, from: &Expr) -> Copying {
        let declared = self.declared_copies(how, record);
        let (copies, moves) = (has(&declared, Takes::Copy), has(&declared, Takes::Move));
        let mut best: Option<(Conversion, Copying)> = None;
        let mut consider = |found: Option<Conversion>, copying: Copying| {
            if let Some(found) = found
                && best.is_none_or(|(known, _)| found < known)
            {
                best = Some((found, copying));
            }
        };
        for &(decl, takes) in &declared {
            let function = self.quietly(|s| s.instantiate_function(decl, Rc::from([]), from.span));
            let Some(func) = function.ok().flatten() else { continue };
            let param = self.functions.inst(func).params[0];
            let copying = match self.functions.decl(decl).ast.body {
                FunctionBody::Delete => Copying::Deleted(self.declared_deletion(func)),
                FunctionBody::Default => match self.parts_deletion(how, record, takes.source()) {
                    // C++14 [class.copy.11]: overload resolution ignores it.
                    Some(_) if takes == Takes::Move => continue,
                    Some(deletion) => Copying::Deleted(deletion),
                    None => Copying::Defaulted(func),
                },
                FunctionBody::Block(_) | FunctionBody::None => Copying::Declared(func),
            };
            let fits = self.conversion_of(from, param, false);
            consider(fits, copying);
        }
        let declares_moves = moves.or_else(|| self.other_moves(how, record));
        if copies.is_none() {
            let copying = match declares_moves {
                Some(decl) => {
                    let span = self.functions.decl(decl).ast.span;
                    Copying::Deleted(Deletion { why: Why::Moves, member: Name::EMPTY, span })
                }
                None => {
                    let source = self.copy_source(how, record);
                    self.parts_deletion(how, record, source).map_or(Copying::Parts, Copying::Deleted)
                }
            };
            let source = self.copy_source(how, record);
            let fits = self.binding_of(from, source);
            consider(fits, copying);
        }
        if copies.is_none() && declares_moves.is_none() && !self.declares_copies_or_destructor(how, record) {
            let fits = self.binding_of(from, Source::Moved);
            if fits.is_some() && self.parts_deletion(how, record, Source::Moved).is_none() {
                consider(fits, Copying::Parts);
            }
        }
        match best {
            Some((_, copying)) => copying,
            None => Copying::Deleted(self.deletion_of(record, Why::NoneFits, Name::EMPTY)),
        }
    }

    /// How an object binds to the parameter of an undeclared function, which takes objects of all spaces.
    fn binding_of(&mut self, from: &Expr, source: Source) -> Option<Conversion> {
        let to = QualTy { is_const: source == Source::Const, ..from.ty };
        let param = QualTy::plain(self.types.reference(to, source == Source::Moved));
        self.conversion_of(from, param, false)
    }

    /// The constructors or assignment operators of a class that take an object of it.
    fn declared_copies(&mut self, how: Memberwise, record: RecordId) -> Vec<(FnDeclId, Takes)> {
        let decls = match how {
            Memberwise::Construct => self.own_constructors(record),
            Memberwise::Assign => self.assignment_operators(record),
        };
        decls.into_iter().filter_map(|decl| Some((decl, self.takes_object(decl, record)?))).collect()
    }

    /// What a constructor or assignment operator that is not a template does with an object of the class.
    fn takes_object(&mut self, decl: FnDeclId, record: RecordId) -> Option<Takes> {
        let data = self.functions.decl(decl);
        let (first, others) = data.ast.params.split_first()?;
        let takes_one = others.iter().all(|param| param.default.is_some());
        if data.template.is_some() || !takes_one || super::overload::is_pack(first) {
            return None;
        }
        let function = self.quietly(|s| s.instantiate_function(decl, Rc::from([]), Span::NONE));
        let param = self.functions.inst(function.ok().flatten()?).params[0];
        let (object, takes) = match *self.types.kind(param.ty) {
            TyKind::Reference { to, rvalue: true } => (to, Takes::Move),
            TyKind::Reference { to, rvalue: false } => (to, Takes::Copy),
            _ => (param, Takes::Copy),
        };
        (self.types.as_record(object.ty) == Some(record)).then_some(takes)
    }

    /// Whether a constructor or assignment operator that is not defaulted takes an object of the class.
    pub(super) fn copies_objects_of(&mut self, decl: FnDeclId, record: RecordId) -> bool {
        let has_code =
            matches!(self.functions.decl(decl).ast.body, FunctionBody::Block(_) | FunctionBody::None);
        has_code && self.takes_object(decl, record).is_some()
    }

    /// Whether a constructor is a default, copy or move constructor: these are not inherited.
    pub(super) fn is_special_constructor(&mut self, decl: FnDeclId, record: RecordId) -> bool {
        self.functions.decl(decl).ast.params.is_empty() || self.takes_object(decl, record).is_some()
    }

    /// The move constructor for assignments, the move assignment for constructors.
    fn other_moves(&mut self, how: Memberwise, record: RecordId) -> Option<FnDeclId> {
        let others = self.declared_copies(other(how), record);
        has(&others, Takes::Move)
    }

    /// Whether the class declares something that leaves it without undeclared moves.
    fn declares_copies_or_destructor(&mut self, how: Memberwise, record: RecordId) -> bool {
        let members = self.records.get(record).ast.and_then(|ast| ast.members.as_ref());
        let has_destructor = members.into_iter().flatten().any(|item| {
            matches!(&item.kind, ItemKind::Function(function) if matches!(function.name, FunctionName::Destructor))
        });
        has_destructor || has(&self.declared_copies(other(how), record), Takes::Copy).is_some()
    }

    fn declared_deletion(&self, func: FuncId) -> Deletion {
        Deletion { why: Why::Declared, member: Name::EMPTY, span: self.functions.inst(func).span }
    }

    fn deletion_of(&self, record: RecordId, why: Why, member: Name) -> Deletion {
        let ast = self.records.get(record).ast;
        let fields = ast.and_then(|ast| ast.members.as_ref()).into_iter().flatten();
        let mut field = fields.filter_map(|item| match &item.kind {
            ItemKind::Field(field) if member != Name::EMPTY && field.name == Some(member) => Some(field.span),
            _ => None,
        });
        let span = field.next_back().or(ast.map(|ast| ast.span)).unwrap_or(Span::NONE);
        Deletion { why, member, span }
    }

    /// Which objects the undeclared copy of a class takes: mutable ones if a part's copy takes no others.
    pub(super) fn copy_source(&mut self, how: Memberwise, record: RecordId) -> Source {
        let only_mutable = self.parts_deletion(how, record, Source::Const).is_some()
            && self.parts_deletion(how, record, Source::Mutable).is_none();
        if only_mutable { Source::Mutable } else { Source::Const }
    }

    /// Why the parts of a class cannot be copied one by one.
    fn parts_deletion(&mut self, how: Memberwise, record: RecordId, source: Source) -> Option<Deletion> {
        let at = source as usize + 3 * (how as usize);
        if let Some(known) = self.records.get(record).parts_deletion[at] {
            return known;
        }
        let found = self.find_parts_deletion(how, record, source);
        self.records.get_mut(record).parts_deletion[at] = Some(found);
        found
    }

    fn find_parts_deletion(&mut self, how: Memberwise, record: RecordId, source: Source) -> Option<Deletion> {
        let info = self.types.record(record);
        let is_union = info.is_union;
        let mut parts: Vec<(Name, QualTy, bool)> =
            info.fields.iter().map(|field| (field.name, field.ty, field.is_reference)).collect();
        // Empty bases are no members.
        let empty = self.records.get(record).bases.iter().filter(|(_, field)| field.is_none());
        parts.extend(empty.map(|&(base, _)| (Name::EMPTY, QualTy::plain(self.records.get(base).ty), false)));
        parts.into_iter().find_map(|(name, ty, is_reference)| {
            let why = if is_reference {
                (how == Memberwise::Assign).then_some(Why::Reference)
            } else if how == Memberwise::Assign && ty.is_const {
                Some(Why::Const)
            } else if is_union && self.copies_by_code(how, ty.ty) {
                Some(Why::Variant)
            } else {
                self.is_part_deleted(how, record, ty, source).then_some(Why::Part)
            };
            why.map(|why| self.deletion_of(record, why, name))
        })
    }

    fn is_part_deleted(&mut self, how: Memberwise, class: RecordId, ty: QualTy, source: Source) -> bool {
        let from = QualTy { is_const: ty.is_const || source == Source::Const, space: Space::Thread, ..ty };
        let place = Expr::place(ExprKind::Undef, from, Span::NONE);
        let place = if source == Source::Moved { self.values().as_xvalue(place) } else { place };
        match self.copying(how, &place) {
            Copying::Deleted(_) => true,
            Copying::Defaulted(func) | Copying::Declared(func) => !self.is_accessible_in(class, func),
            Copying::Parts => false,
        }
    }

    // --- default constructors

    /// Why the default constructor that a class does not declare, or declares as defaulted, is deleted.
    pub(super) fn default_deletion(&mut self, record: RecordId) -> Option<Deletion> {
        let info = self.types.record(record);
        if info.is_union {
            return None;
        }
        let fields = info.fields.clone();
        let inits = self.records.get(record).field_inits.clone();
        let uninitialised = fields.into_iter().zip(inits).filter(|(_, init)| init.is_none());
        uninitialised.into_iter().find_map(|(field, _)| {
            let why = if field.is_reference {
                Why::Reference
            } else if field.ty.is_const && !self.may_be_const_without_value(field.ty.ty) {
                Why::Const
            } else {
                return None;
            };
            Some(self.deletion_of(record, why, field.name))
        })
    }

    /// Whether `const T x;` has a value: the class's default constructor sets all members
    /// (C++14 [dcl.init.7], with the change of CWG issue 253).
    pub(super) fn may_be_const_without_value(&mut self, ty: Ty) -> bool {
        match *self.types.kind(ty) {
            TyKind::Array(elem, _) => self.may_be_const_without_value(elem),
            TyKind::Record(record) => {
                if !self.types.record(record).is_complete || self.has_default_constructor_with_code(record) {
                    return true;
                }
                let fields = self.types.record(record).fields.clone();
                let inits = self.records.get(record).field_inits.clone();
                if self.types.record(record).is_union {
                    return fields.is_empty() || inits.iter().any(Option::is_some);
                }
                fields
                    .into_iter()
                    .zip(inits)
                    .all(|(field, init)| init.is_some() || self.may_be_const_without_value(field.ty.ty))
            }
            TyKind::Error => true,
            _ => false,
        }
    }

    fn has_default_constructor_with_code(&self, record: RecordId) -> bool {
        self.own_constructors(record).into_iter().any(|decl| {
            let ast = self.functions.decl(decl).ast;
            !matches!(ast.body, FunctionBody::Default | FunctionBody::Delete)
                && ast.params.iter().all(|param| param.default.is_some() || super::overload::is_pack(param))
        })
    }

    pub(super) fn default_constructor_deletion(&self, func: FuncId) -> Deletion {
        self.declared_deletion(func)
    }

    pub(super) fn part_deletion(&self, record: RecordId, member: Name) -> Deletion {
        self.deletion_of(record, Why::Part, member)
    }

    pub(super) fn variant_deletion(&self, record: RecordId, member: Name) -> Deletion {
        self.deletion_of(record, Why::Variant, member)
    }
}

impl Takes {
    fn source(self) -> Source {
        match self {
            Self::Copy => Source::Const,
            Self::Move => Source::Moved,
        }
    }
}

fn other(how: Memberwise) -> Memberwise {
    match how {
        Memberwise::Construct => Memberwise::Assign,
        Memberwise::Assign => Memberwise::Construct,
    }
}

fn has(declared: &[(FnDeclId, Takes)], wanted: Takes) -> Option<FnDeclId> {
    declared.iter().find(|(_, takes)| *takes == wanted).map(|&(decl, _)| decl)
}
