//! Redundant check elimination: bounds checks whose outcome is available from a dominating one.
//!
//! A program loads an element and then stores to it, perhaps under a condition: the pointer needs one
//! check.
//!
//! Invariant: an available check was computed in code that dominates the position, when at least the lanes
//! active now were active. So each block, and each path that only some lanes or some SIMD-groups take,
//! drops what it added at its end.

use std::collections::BTreeMap;

use anymetal_ir::Value;

use super::Emitter;
use super::memory::Address;
use crate::llvm::{I1, Opd};

/// What was tested.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Test {
    /// All lanes are in bounds, on or off; without checks, those that are on.
    AllInBounds,
    /// Without checks: all lanes are in bounds, on or off.
    AllLoadable,
    /// The active lanes are in bounds.
    ActiveInBounds,
    /// The active lanes are contiguous, the others would continue them, and all that is in bounds.
    Contiguous,
    /// No test, but the first lane's offset where [`Self::Contiguous`] holds.
    FirstOffset,
    /// The lanes are in rows, as a matrix in Metal's layout. The numbers of its key say how the value
    /// becomes bytes, and the units from column to column.
    InRows,
    /// No test, but the units from row to row where [`Self::InRows`] holds.
    RowStep,
}

/// The pointer, the bytes added to it, the bytes accessed, and the test.
pub(super) type Key = (Value, i64, i64, Test);

/// The outcomes, as `i1`.
#[derive(Debug, Default)]
pub(super) struct AvailableChecks {
    known: BTreeMap<Key, Opd>,
    /// What each change replaced.
    undo: Vec<(Key, Option<Opd>)>,
}

impl AvailableChecks {
    fn insert(&mut self, key: Key, outcome: Opd) {
        let before = self.known.insert(key, outcome);
        self.undo.push((key, before));
    }

    fn back_to(&mut self, length: usize) {
        assert!(self.undo.len() >= length, "available checks are undone in reverse order");
        while self.undo.len() > length
            && let Some((key, before)) = self.undo.pop()
        {
            match before {
                Some(outcome) => self.known.insert(key, outcome),
                None => self.known.remove(&key),
            };
        }
    }

    /// From here on the outcome is known.
    fn holds(&mut self, outcome: &Opd) {
        let is_it = |entry: (&Key, &Opd)| (entry.1 == outcome).then_some(*entry.0);
        let keys: Vec<Key> = self.known.iter().filter_map(is_it).collect();
        for key in keys {
            self.insert(key, Opd::bool(true));
        }
    }
}

impl Emitter<'_, '_> {
    /// Emits code that does not dominate what follows it.
    pub(super) fn aside<R>(&mut self, emit: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.known.available_checks.undo.len();
        let result = emit(self);
        self.known.available_checks.back_to(length);
        result
    }

    /// Emits code in which values are not what they were before: where pointers step through memory, or in
    /// another SIMD-group.
    pub(super) fn with_no_available_checks<R>(&mut self, emit: impl FnOnce(&mut Self) -> R) -> R {
        let kept = std::mem::take(&mut self.known.available_checks);
        let result = emit(self);
        self.known.available_checks = kept;
        result
    }

    /// The outcome of a test of the bytes at an address: that of the first time, or a new one.
    pub(super) fn test_once(
        &mut self,
        address: &Address,
        bytes: i64,
        test: Test,
        compute: impl FnOnce(&mut Self) -> Opd,
    ) -> Opd {
        if let Some(known) = self.known_test(address, bytes, test) {
            return known;
        }
        let outcome = compute(self);
        self.note_test(address, bytes, test, &outcome);
        outcome
    }

    pub(super) fn known_test(&self, address: &Address, bytes: i64, test: Test) -> Option<Opd> {
        self.known_of((address.value?, address.extra, bytes, test))
    }

    pub(super) fn known_of(&self, key: Key) -> Option<Opd> {
        self.known.available_checks.known.get(&key).cloned()
    }

    /// Notes an outcome that holds from here on, without code that tests it.
    pub(super) fn note_test(&mut self, address: &Address, bytes: i64, test: Test, outcome: &Opd) {
        if let Some(pointer) = address.value {
            self.note_of((pointer, address.extra, bytes, test), outcome);
        }
    }

    pub(super) fn note_of(&mut self, key: Key, outcome: &Opd) {
        if !matches!(key.3, Test::FirstOffset | Test::RowStep) {
            self.t.expect(outcome, I1);
        }
        self.known.available_checks.insert(key, outcome.clone());
    }

    /// Only where the test held goes on here.
    pub(super) fn test_holds(&mut self, outcome: &Opd) {
        self.known.available_checks.holds(outcome);
    }
}
