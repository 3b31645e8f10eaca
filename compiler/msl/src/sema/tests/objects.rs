//! The objects of a check, without a checker.

use crate::hir::{FuncId, QualTy, RecordId, Ty};
use crate::sema::diagnostics::{Deferred, Diagnostics};
use crate::sema::entities::{LocalDecl, TArg};
use crate::sema::limits::Limits;
use crate::sema::scopes::{Hit, ScopeKind, Scopes};
use crate::sema::table::Layer;
use crate::token::Name;
use anymetal_diagnostics::{Sink, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[test]
fn errors_of_what_is_checked_once_are_reported_at_the_next_use() {
    let mut diagnostics = Diagnostics::default();
    let body = Deferred::Body(FuncId(0));
    let outer = diagnostics.begin_quiet();
    let around = diagnostics.begin_once();
    diagnostics.error("unknown-name", Span::NONE, "unknown");
    diagnostics.finish_once(body, around);
    assert!(!diagnostics.has_deferred(body), "reporting is suppressed");
    assert_eq!(diagnostics.end_quiet(outer).expect_err("an error was found").len(), 1);
    assert_eq!(diagnostics.error_count(), 0);
    assert!(diagnostics.has_deferred(body));
    diagnostics.report_deferred(body);
    diagnostics.report_deferred(body);
    let ids: Vec<_> = diagnostics.take().into_diagnostics().into_iter().map(|found| found.id).collect();
    assert_eq!(ids, ["unknown-name"]);
}

#[test]
fn a_limit_that_is_hit_while_reporting_is_suppressed_is_reported_once() {
    let mut diagnostics = Diagnostics::default();
    let mut limits = Limits::default();
    let outer = diagnostics.begin_quiet();
    let mut levels = 0;
    while limits.enter(Span::NONE, &mut diagnostics) {
        levels += 1;
    }
    assert!(!limits.enter(Span::NONE, &mut diagnostics));
    assert!(diagnostics.gave_up());
    assert!(diagnostics.end_quiet(outer).is_err(), "the caller sees that its attempt failed");
    assert_eq!(diagnostics.error_count(), 0);
    diagnostics.finish();
    diagnostics.finish();
    let ids: Vec<_> = diagnostics.take().into_diagnostics().into_iter().map(|found| found.id).collect();
    assert_eq!(ids, ["too-deep"]);
    (0..levels).for_each(|_| limits.leave());
    assert!(limits.try_enter());
}

#[test]
fn a_lookup_stops_at_each_scope_that_may_know_the_name() {
    let table = Layer::build(None, Vec::new(), &mut Sink::new());
    let mut scopes = Scopes::new(&table);
    let (x, pack) = (Name::new("x"), Name::new("pack"));
    let global = scopes.current();
    let ints = TArg::Pack(Rc::from([TArg::Type(QualTy::plain(Ty::INT)), TArg::Type(QualTy::plain(Ty::INT))]));
    let template = scopes.add(global, ScopeKind::Template(Rc::from([(pack, ints)])));
    let block = scopes.add(template, ScopeKind::Block(FxHashMap::default()));
    scopes.enter(block);
    assert!(scopes.declare(x, LocalDecl::Type(QualTy::plain(Ty::INT))).is_none());
    assert!(scopes.declare(x, LocalDecl::Type(QualTy::plain(Ty::INT))).is_some());
    let class = scopes.add(block, ScopeKind::Record(RecordId(7)));
    scopes.enter(class);
    assert!(scopes.declare(x, LocalDecl::Type(QualTy::plain(Ty::INT))).is_none(), "a class is not a block");

    let mut walk = scopes.walk();
    assert!(matches!(scopes.next(&mut walk, x), Some(Hit::Record(RecordId(7)))));
    assert!(matches!(scopes.next(&mut walk, x), Some(Hit::Local(LocalDecl::Type(_)))));
    assert!(matches!(scopes.next(&mut walk, x), Some(Hit::Namespaces(_))));
    assert!(scopes.next(&mut walk, x).is_none());

    let mut walk = scopes.walk();
    assert!(matches!(scopes.next(&mut walk, pack), Some(Hit::Record(_))));
    assert!(matches!(scopes.next(&mut walk, pack), Some(Hit::Argument(TArg::Pack(_)))));
    assert_eq!(scopes.pack_length(pack), Some(2));
    assert_eq!(scopes.pack_length(x), None);
    assert_eq!((scopes.record(class), scopes.record(block)), (Some(RecordId(7)), None));
}

#[test]
fn overload_resolution_tries_a_bounded_number_of_functions() {
    let (mut limits, mut diagnostics) = (Limits::default(), Diagnostics::default());
    for _ in 0..2_000_000 {
        limits.count_candidate(Span::NONE, &mut diagnostics);
    }
    assert!(!diagnostics.gave_up());
    limits.count_candidate(Span::NONE, &mut diagnostics);
    assert!(diagnostics.gave_up());
    let ids: Vec<&str> = diagnostics.take().into_diagnostics().iter().map(|found| found.id).collect();
    assert_eq!(ids, ["overload-limit"]);
}
