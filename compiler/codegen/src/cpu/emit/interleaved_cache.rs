//! Cache of loaded vectors in their interleaved form, as in memory, beside one vector per component.
//!
//! A program that only moves such vectors splits each where it loads and interleaves it where it stores.
//! LLVM does not see that the two cancel, so the loaded form is kept and stored.

use anymetal_opt::Feature;

use super::Emitter;
use super::memory::Item;
use crate::llvm::{self, LANES, Opd};
use anymetal_simd::access::Run;

/// A loaded vector: its components, and the runs of memory that they were picked from.
#[derive(Clone, Debug)]
pub(super) struct InterleavedVector {
    components: Vec<Opd>,
    item: Item,
    whole: Vec<Opd>,
}

impl Emitter<'_, '_> {
    /// Notes the runs, as they are in memory, that components were picked from: a store that puts these
    /// together again takes them.
    pub(super) fn cache_interleaved(&mut self, components: &[Opd], item: Item, whole: &[Opd]) {
        let may_keep = self.has(Feature::InterleavedCache) && !whole.is_empty();
        if let (Some(Opd::Reg(_, first)), true) = (components.first(), may_keep) {
            assert!(LANES.is_multiple_of(whole.len()), "{} runs do not divide the lanes evenly", whole.len());
            let kept = InterleavedVector { components: components.to_vec(), item, whole: whole.to_vec() };
            self.known.interleaved.insert(*first, kept);
        }
    }

    /// The same lanes of all components as in a run that was loaded, in the order of memory.
    pub(super) fn cached_interleaved(&mut self, values: &[Opd], item: Item, run: &Run) -> Option<Opd> {
        let Some(Opd::Reg(_, first)) = values.first() else {
            // Constants are not loaded.
            return None;
        };
        let InterleavedVector { components, item: loaded, whole } = self.known.interleaved.get(first)?;
        if components != values || *loaded != item {
            return None;
        }
        let whole = whole.clone();
        let (have, want) = (LANES / whole.len() * item.count, run.lanes * item.count);
        let first = run.lane * item.count;
        assert!(run.lane + run.lanes <= LANES, "a run ends with the last lane");
        if want > have {
            let parts = whole[first / have..(first + want) / have].to_vec();
            return Some(self.t.concat(parts));
        }
        let part = &whole[first / have];
        if want == have {
            return Some(part.clone());
        }
        assert!(first % have + want <= have, "a shorter run is contained in one loaded run");
        let picks: Vec<_> = (first % have..first % have + want).map(Some).collect();
        Some(self.t.pick(part, &picks))
    }

    /// The run's lanes of all components, as they are in memory.
    pub(super) fn interleaved(&mut self, element: llvm::Type, values: &[Opd], run: &Run) -> Opd {
        assert!(!values.is_empty(), "a vector has components");
        if let Some(whole) = self.store_by_quarters(element, values, run) {
            return whole;
        }
        let mut parts: Vec<Opd> = values.iter().map(|value| self.lanes_of(value, run)).collect();
        let count = parts.len();
        if count == 1 {
            return parts.remove(0);
        }
        let n = run.lanes;
        parts.resize(count.next_power_of_two(), Opd::poison(parts[0].ty()));
        let whole = self.t.concat(parts);
        let picks: Vec<_> = (0..n * count).map(|i| Some(i % count * n + i / count)).collect();
        self.t.pick(&whole, &picks)
    }
}
