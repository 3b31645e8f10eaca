//! Special member functions: which function copies, moves or assigns an object, which classes have no
//! default constructor, and the use of functions that are deleted.
//!
//! Functions that a class does not declare are not declarations here: they are the copy of all parts, which
//! is deleted where a part cannot be copied (C++14 [class.copy]).
//!
//! Invariant: the parts of a class are examined once for each kind of copy, however often the class is a
//! member of others.

use super::checker::Checker;
use super::convert::Conversion;
use super::diagnostics::Diagnostics;
use super::entities::FnDeclId;
use super::function::Functions;
use super::init::Memberwise;
use super::out_of_line::{self, Fit};
use super::record::Records;
use super::{access, convert, data_member, destructor, function, init, noexcept, record};
use crate::ast::{FunctionBody, FunctionName, ItemKind, MethodQualifiers};
use crate::hir::{Expr, ExprKind, FieldInfo, FuncId, QualTy, RecordId, Ty, TyKind, Types};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use rustc_hash::FxHashSet;
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
    /// Several functions take the object equally well.
    Ambiguous,
    /// The class is the type of a lambda (C++17 [expr.prim.lambda.closure.11]).
    Closure,
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
pub(super) enum Takes {
    Copy,
    Move,
}

/// Reports the use of a function that is deleted or not accessible, perhaps with an object.
pub(super) fn check_usable(cx: &mut Checker<'_>, func: FuncId, object: Option<&Expr>, span: Span) -> bool {
    if !is_deleted(cx, func) {
        noexcept::check_used(cx, func, span);
        return access::check_function(cx, func, object, span);
    }
    let inst = cx.functions.inst(func);
    let message = format!("`{}` cannot be used: it is deleted", inst.name);
    let diagnostic = Diagnostic::error("deleted-function", span, message);
    let diagnostic = diagnostic.with_note(inst.span, "declared here");
    cx.report(diagnostic);
    false
}

/// Whether the chosen function is deleted: a full specialisation may delete, or stand in for, a template.
pub(super) fn is_deleted(cx: &mut Checker<'_>, func: FuncId) -> bool {
    // Only a declaration says `= delete`.
    let Some(decl) = cx.functions.inst(func).origin.decl() else { return false };
    let special = function::specialisation(cx, func, decl).or_else(|| {
        let owner = cx.functions.decl(decl).owner?;
        out_of_line::definition(cx, func, decl, owner, Fit::Exact)
    });
    let body = special.map_or(&cx.functions.decl(decl).ast.body, |special| &special.ast.body);
    matches!(body, FunctionBody::Delete)
}

/// Reports the use of a special member function that is deleted.
pub(super) fn report_deletion(
    types: &Types,
    diagnostics: &mut Diagnostics,
    what: &str,
    ty: Ty,
    deletion: Deletion,
    span: Span,
) {
    let (shown, member) = (types.display(ty), deletion.member);
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
        Why::Ambiguous => "several that the class declares take this object".to_owned(),
        Why::Closure => "the class is the type of a lambda".to_owned(),
    };
    let verdict = match deletion.why {
        Why::NoneFits => "does not fit",
        Why::Ambiguous => "is ambiguous",
        _ => "is deleted",
    };
    let message = format!("the {what} of `{shown}` {verdict}");
    diagnostics.report(Diagnostic::error("deleted-function", span, message).with_note(deletion.span, reason));
}

/// Checks that the object may be copied, moved or assigned; reports if not.
pub(super) fn check_copying(cx: &mut Checker<'_>, how: Memberwise, from: &Expr) -> bool {
    match copying(cx, how, from) {
        Copying::Deleted(deletion) => {
            let what = match how {
                Memberwise::Construct => "copy constructor",
                Memberwise::Assign => "copy assignment",
            };
            report_deletion(&cx.types, &mut cx.diagnostics, what, from.ty.ty, deletion, from.span);
            false
        }
        Copying::Defaulted(func) | Copying::Declared(func) => {
            access::check_function(cx, func, None, from.span)
        }
        Copying::Parts => true,
    }
}

/// The function that copies, or moves, an object or the elements of an array.
pub(super) fn copying(cx: &mut Checker<'_>, how: Memberwise, from: &Expr) -> Copying {
    let record = match *cx.types.kind(from.ty.ty) {
        TyKind::Record(record) if cx.types.record(record).is_complete => record,
        TyKind::Array(elem, _) => {
            let element = Expr { ty: from.ty.with_ty(elem), ..from.clone() };
            return match copying(cx, how, &element) {
                // Element by element.
                Copying::Declared(func) => Copying::Defaulted(func),
                other => other,
            };
        }
        _ => return Copying::Parts,
    };
    if cx.records.get(record).ast.is_none() {
        if how == Memberwise::Assign && cx.records.get(record).lambda.is_some() {
            return Copying::Deleted(deletion_of(&cx.records, record, Why::Closure, Name::EMPTY));
        }
        // A closure: what it captures is copied where it is created.
        return Copying::Parts;
    }
    copying_of_class(cx, how, record, from)
}

fn copying_of_class(cx: &mut Checker<'_>, how: Memberwise, record: RecordId, from: &Expr) -> Copying {
    let declared = declared_copies(cx, how, record);
    let (copies, moves) = (has(&declared, Takes::Copy), has(&declared, Takes::Move));
    let mut best: Option<(Conversion, Copying, MethodQualifiers)> = None;
    let mut is_ambiguous = false;
    let mut consider = |found: Option<Conversion>, copying: Copying, method: MethodQualifiers| {
        let Some(found) = found else { return };
        match best {
            // Which of several for objects in several spaces is meant, the object decides.
            Some((known, _, other)) if found == known => is_ambiguous |= method == other,
            Some((known, ..)) if found > known => {}
            _ => {
                best = Some((found, copying, method));
                is_ambiguous = false;
            }
        }
    };
    let is_modelled = |cx: &Checker<'_>, decl| !cx.functions.decl(decl).ast.specifiers.names_unmodelled_space;
    let any_modelled = declared.iter().any(|&(decl, _)| is_modelled(cx, decl));
    for &(decl, takes) in &declared {
        if any_modelled && !is_modelled(cx, decl) {
            // No object is told to be in that space.
            continue;
        }
        let function = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), from.span));
        let Some(func) = function.ok().flatten() else { continue };
        let param = cx.functions.inst(func).params[0];
        let copying = match cx.functions.decl(decl).ast.body {
            FunctionBody::Delete => Copying::Deleted(declared_deletion(&cx.functions, func)),
            FunctionBody::Default => match parts_deletion(cx, how, record, takes.source()) {
                // C++14 [class.copy.11]: overload resolution ignores it.
                Some(_) if takes == Takes::Move => continue,
                Some(deletion) => Copying::Deleted(deletion),
                None => Copying::Defaulted(func),
            },
            FunctionBody::Block(_) | FunctionBody::None => Copying::Declared(func),
        };
        let fits = convert::conversion_of(cx, from, param, false);
        consider(fits, copying, cx.functions.decl(decl).ast.method);
    }
    let declares_moves = moves.or_else(|| other_moves(cx, how, record));
    if copies.is_none() {
        let copying = match declares_moves {
            Some(decl) => {
                let span = cx.functions.decl(decl).ast.span;
                Copying::Deleted(Deletion { why: Why::Moves, member: Name::EMPTY, span })
            }
            None => {
                let source = copy_source(cx, how, record);
                parts_deletion(cx, how, record, source).map_or(Copying::Parts, Copying::Deleted)
            }
        };
        let source = copy_source(cx, how, record);
        let fits = binding_of(cx, from, source);
        consider(fits, copying, MethodQualifiers::default());
    }
    if copies.is_none() && declares_moves.is_none() && !declares_copies_or_destructor(cx, how, record) {
        let fits = binding_of(cx, from, Source::Moved);
        if fits.is_some() && parts_deletion(cx, how, record, Source::Moved).is_none() {
            consider(fits, Copying::Parts, MethodQualifiers::default());
        }
    }
    match best {
        Some(_) if is_ambiguous => {
            Copying::Deleted(deletion_of(&cx.records, record, Why::Ambiguous, Name::EMPTY))
        }
        Some((_, copying, _)) => copying,
        None => Copying::Deleted(deletion_of(&cx.records, record, Why::NoneFits, Name::EMPTY)),
    }
}

/// How an object binds to the parameter of an undeclared function, which takes objects of all spaces.
fn binding_of(cx: &mut Checker<'_>, from: &Expr, source: Source) -> Option<Conversion> {
    let to = QualTy { is_const: source == Source::Const, is_volatile: false, ..from.ty };
    let param = QualTy::plain(cx.types.reference(to, source == Source::Moved));
    convert::conversion_of(cx, from, param, false)
}

/// The constructors or assignment operators of a class that take an object of it.
fn declared_copies(cx: &mut Checker<'_>, how: Memberwise, record: RecordId) -> Vec<(FnDeclId, Takes)> {
    let decls = match how {
        Memberwise::Construct => init::own_constructors(&cx.records, &cx.functions, record),
        Memberwise::Assign => record::assignment_operators(cx, record),
    };
    decls.into_iter().filter_map(|decl| Some((decl, takes_object(cx, decl, record)?))).collect()
}

/// What a constructor or assignment operator that is not a template does with an object of the class.
pub(super) fn takes_object(cx: &mut Checker<'_>, decl: FnDeclId, record: RecordId) -> Option<Takes> {
    let data = cx.functions.decl(decl);
    let is_constructor = matches!(data.ast.name, FunctionName::Constructor(_));
    let (first, others) = data.ast.params.split_first()?;
    let takes_one = others.iter().all(|param| param.default.is_some());
    if data.template.is_some() || !takes_one || super::overload::is_pack(first) {
        return None;
    }
    let function = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), Span::NONE));
    let param = cx.functions.inst(function.ok().flatten()?).params[0];
    let (object, takes) = match *cx.types.kind(param.ty) {
        TyKind::Reference { to, rvalue: true } => (to, Takes::Move),
        TyKind::Reference { to, rvalue: false } => (to, Takes::Copy),
        // A constructor that takes an object by value copies none (C++14 [class.copy.6]).
        _ if is_constructor => return None,
        _ => (param, Takes::Copy),
    };
    (cx.types.as_record(object.ty) == Some(record)).then_some(takes)
}

/// Whether a constructor or assignment operator that is not defaulted takes an object of the class.
pub(super) fn copies_objects_of(cx: &mut Checker<'_>, decl: FnDeclId, record: RecordId) -> bool {
    let has_code = matches!(cx.functions.decl(decl).ast.body, FunctionBody::Block(_) | FunctionBody::None);
    has_code && takes_object(cx, decl, record).is_some()
}

/// Whether a special member function that is declared without a body is deleted if it is defaulted.
pub(super) fn would_be_deleted(cx: &mut Checker<'_>, decl: FnDeclId, record: RecordId) -> bool {
    let is_constructor = matches!(cx.functions.decl(decl).ast.name, FunctionName::Constructor(_));
    let how = if is_constructor { Memberwise::Construct } else { Memberwise::Assign };
    match takes_object(cx, decl, record) {
        Some(takes) => parts_deletion(cx, how, record, takes.source()).is_some(),
        None => {
            let is_default = is_constructor && cx.functions.decl(decl).ast.params.is_empty();
            is_default && init::is_default_deleted(cx, record, cx.functions.decl(decl).ast.span)
        }
    }
}

/// Whether a constructor is a default, copy or move constructor: these are not inherited.
pub(super) fn is_special_constructor(cx: &mut Checker<'_>, decl: FnDeclId, record: RecordId) -> bool {
    cx.functions.decl(decl).ast.params.is_empty() || takes_object(cx, decl, record).is_some()
}

/// The move constructor for assignments, the move assignment for constructors.
fn other_moves(cx: &mut Checker<'_>, how: Memberwise, record: RecordId) -> Option<FnDeclId> {
    let others = declared_copies(cx, other(how), record);
    has(&others, Takes::Move)
}

/// Whether the class declares something that leaves it without undeclared moves.
fn declares_copies_or_destructor(cx: &mut Checker<'_>, how: Memberwise, record: RecordId) -> bool {
    let members = cx.records.get(record).ast.and_then(|ast| ast.members.as_ref());
    let has_destructor = members.into_iter().flatten().any(|item| {
            matches!(&item.kind, ItemKind::Function(function) if matches!(function.name, FunctionName::Destructor))
        });
    has_destructor || has(&declared_copies(cx, other(how), record), Takes::Copy).is_some()
}

fn declared_deletion(functions: &Functions<'_>, func: FuncId) -> Deletion {
    Deletion { why: Why::Declared, member: Name::EMPTY, span: functions.inst(func).span }
}

fn deletion_of(records: &Records<'_>, record: RecordId, why: Why, member: Name) -> Deletion {
    let ast = records.get(record).ast;
    let fields = ast.and_then(|ast| ast.members.as_ref()).into_iter().flatten();
    let mut field = fields.filter_map(|item| match &item.kind {
        ItemKind::Field(field) if member != Name::EMPTY && field.name == Some(member) => Some(field.span),
        _ => None,
    });
    let span = field.next_back().or(ast.map(|ast| ast.span)).unwrap_or(Span::NONE);
    Deletion { why, member, span }
}

/// Which objects the undeclared copy of a class takes: mutable ones if a part's copy takes no others.
pub(super) fn copy_source(cx: &mut Checker<'_>, how: Memberwise, record: RecordId) -> Source {
    let only_mutable = parts_deletion(cx, how, record, Source::Const).is_some()
        && parts_deletion(cx, how, record, Source::Mutable).is_none();
    if only_mutable { Source::Mutable } else { Source::Const }
}

/// Why the parts of a class cannot be copied one by one.
fn parts_deletion(
    cx: &mut Checker<'_>,
    how: Memberwise,
    record: RecordId,
    source: Source,
) -> Option<Deletion> {
    let at = source as usize + 3 * (how as usize);
    if let Some(known) = cx.records.get(record).special.parts_deletion[at] {
        return known;
    }
    let found = find_parts_deletion(cx, how, record, source);
    cx.records.get_mut(record).special.parts_deletion[at] = Some(found);
    found
}

fn find_parts_deletion(
    cx: &mut Checker<'_>,
    how: Memberwise,
    record: RecordId,
    source: Source,
) -> Option<Deletion> {
    let info = cx.types.record(record);
    let is_union = info.is_union;
    let mut parts: Vec<(Name, QualTy, bool)> =
        info.fields.iter().map(|field| (field.name, field.ty, field.is_reference)).collect();
    // Empty bases are no members.
    let empty = cx.records.get(record).bases.iter().filter(|(_, field)| field.is_none());
    parts.extend(empty.map(|&(base, _)| (Name::EMPTY, QualTy::plain(cx.records.get(base).ty), false)));
    parts.into_iter().find_map(|(name, ty, is_reference)| {
        let why = if is_reference {
            let is_copied = how == Memberwise::Construct && source != Source::Moved;
            let is_refused = how == Memberwise::Assign
                || (is_copied && data_member::is_rvalue_reference(cx, record, name));
            is_refused.then_some(Why::Reference)
        } else if how == Memberwise::Assign && ty.is_const {
            Some(Why::Const)
        } else if is_union && init::copies_by_code(cx, how, ty.ty) {
            Some(Why::Variant)
        } else {
            is_part_deleted(cx, how, (record, name), ty, source).then_some(Why::Part)
        };
        why.map(|why| deletion_of(&cx.records, record, why, name))
    })
}

fn is_part_deleted(
    cx: &mut Checker<'_>,
    how: Memberwise,
    (class, member): (RecordId, Name),
    ty: QualTy,
    source: Source,
) -> bool {
    let of_base = member == Name::EMPTY;
    if how == Memberwise::Construct && !destructor::is_usable_in(cx, class, ty.ty, of_base) {
        return true;
    }
    let is_const =
        ty.is_const || (source == Source::Const && !data_member::is_mutable(&cx.records, class, member));
    let from = QualTy { is_const, space: Space::Thread, ..ty };
    let place = Expr::place(ExprKind::Undef, from, Span::NONE);
    let place = if source == Source::Moved { cx.values().as_xvalue(place) } else { place };
    match copying(cx, how, &place) {
        Copying::Deleted(_) => true,
        Copying::Defaulted(func) | Copying::Declared(func) => {
            !access::is_accessible_in(cx, class, func, of_base)
        }
        Copying::Parts => false,
    }
}

// --- default constructors

/// Why the default constructor that a class does not declare, or declares as defaulted, is deleted.
pub(super) fn default_deletion(
    types: &Types,
    records: &Records<'_>,
    functions: &Functions<'_>,
    record: RecordId,
) -> Option<Deletion> {
    let info = types.record(record);
    if info.is_union {
        // C++14 [class.ctor.5]
        let inits = &records.get(record).field_inits;
        let is_const = |field: &FieldInfo| field.ty.is_const && field.name != Name::EMPTY;
        let all_const = !info.fields.is_empty() && info.fields.iter().all(is_const);
        let is_deleted = all_const && inits.iter().all(Option::is_none);
        return is_deleted.then(|| deletion_of(records, record, Why::Const, info.fields[0].name));
    }
    let fields = info.fields.clone();
    let inits = records.get(record).field_inits.clone();
    let uninitialised = fields.into_iter().zip(inits).filter(|(_, init)| init.is_none());
    uninitialised.into_iter().find_map(|(field, _)| {
        let why = if field.is_reference {
            Why::Reference
        } else if field.ty.is_const && !may_be_const_without_value(types, records, functions, field.ty.ty) {
            Why::Const
        } else {
            return None;
        };
        Some(deletion_of(records, record, why, field.name))
    })
}

/// Whether `const T x;` has a value: the class's default constructor sets all members
/// (C++14 [dcl.init.7], with the change of CWG issue 253).
pub(super) fn may_be_const_without_value(
    types: &Types,
    records: &Records<'_>,
    functions: &Functions<'_>,
    ty: Ty,
) -> bool {
    match *types.kind(ty) {
        TyKind::Array(elem, _) => may_be_const_without_value(types, records, functions, elem),
        TyKind::Record(record) => {
            if !types.record(record).is_complete
                || has_default_constructor_with_code(records, functions, record)
            {
                return true;
            }
            let fields = types.record(record).fields.clone();
            let inits = records.get(record).field_inits.clone();
            if types.record(record).is_union {
                return fields.is_empty() || inits.iter().any(Option::is_some);
            }
            fields.into_iter().zip(inits).all(|(field, init)| {
                init.is_some() || may_be_const_without_value(types, records, functions, field.ty.ty)
            })
        }
        TyKind::Error => true,
        _ => false,
    }
}

fn has_default_constructor_with_code(
    records: &Records<'_>,
    functions: &Functions<'_>,
    record: RecordId,
) -> bool {
    init::own_constructors(records, functions, record).into_iter().any(|decl| {
        let ast = functions.decl(decl).ast;
        !matches!(ast.body, FunctionBody::Default | FunctionBody::Delete)
            && ast.params.iter().all(|param| param.default.is_some() || super::overload::is_pack(param))
    })
}

/// Which special member functions are to be trivial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Triviality {
    /// Copies, moves and the destructor.
    Copies,
    /// And the default constructor.
    All,
}

/// Whether no code runs where objects of a type are copied and destroyed, perhaps also where they are created
/// (C++14 [class.6]).
pub(super) fn is_trivial(cx: &mut Checker<'_>, ty: Ty, what: Triviality, span: Span) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![ty];
    while let Some(ty) = rest.pop() {
        let record = match *cx.types.kind(ty) {
            TyKind::Array(element, _) => {
                rest.push(element);
                continue;
            }
            TyKind::Record(record) => record,
            _ => continue,
        };
        if !seen.insert(record) {
            continue;
        }
        if !record::complete(cx, record, span) || has_code(cx, record, what) {
            return false;
        }
        rest.extend(cx.types.record(record).fields.iter().map(|field| field.ty.ty));
        // Bases without members are no fields.
        let bases: Vec<RecordId> = cx.records.get(record).bases.iter().map(|&(base, _)| base).collect();
        rest.extend(bases.into_iter().map(|base| cx.records.get(base).ty));
    }
    true
}

/// Whether a class itself, without its parts, has special member functions that are not trivial.
fn has_code(cx: &mut Checker<'_>, record: RecordId, what: Triviality) -> bool {
    let is_written = |body: &FunctionBody| matches!(body, FunctionBody::Block(_) | FunctionBody::None);
    let members = cx.records.get(record).ast.and_then(|ast| ast.members.as_ref());
    let has_destructor = members.into_iter().flatten().any(|item| {
        matches!(&item.kind, ItemKind::Function(function)
            if matches!(function.name, FunctionName::Destructor) && is_written(&function.body))
    });
    let copies = [Memberwise::Construct, Memberwise::Assign].into_iter().any(|how| {
        let declared = declared_copies(cx, how, record);
        declared.iter().any(|&(decl, _)| is_written(&cx.functions.decl(decl).ast.body))
    });
    let creates = || {
        has_default_constructor_with_code(&cx.records, &cx.functions, record)
            || cx.records.get(record).field_inits.iter().any(Option::is_some)
    };
    has_destructor || copies || (what == Triviality::All && creates())
}

pub(super) fn default_constructor_deletion(functions: &Functions<'_>, func: FuncId) -> Deletion {
    declared_deletion(functions, func)
}

pub(super) fn part_deletion(records: &Records<'_>, record: RecordId, member: Name) -> Deletion {
    deletion_of(records, record, Why::Part, member)
}

pub(super) fn variant_deletion(records: &Records<'_>, record: RecordId, member: Name) -> Deletion {
    deletion_of(records, record, Why::Variant, member)
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
