//! Hints to the caches.

use anymetal_ir::{PrefetchHint, Space, Value};

use super::Emitter;
use super::lane::Lane;
use crate::llvm::{Builder, IntPredicate, LANES, Opd, PTR};
use anymetal_simd::limits::MAX_SPAN;
use anymetal_simd::storage::Root;

/// Bytes of a cache line.
const LINE: i64 = 64;

impl Emitter<'_, '_> {
    /// Prefetches the lines of a SIMD-group's access, if they are contiguous.
    pub(super) fn prefetch(&mut self, pointer: Value, bytes: i64, access: PrefetchHint) {
        let root = self.plan.facts.storage.pointer(pointer).root;
        let space = self.plan.facts.function.pointer_space(pointer);
        if root == Root::Many || !matches!(space, Space::Device | Space::Constant) {
            return;
        }
        let place = self.place(root);
        // A prefetch is a hint: lanes that are anywhere go without.
        let Lane::Affine { bases, shape, .. } = self.lane(pointer, 0) else { return };
        let (low, high) = (shape.at(0), shape.at(LANES - 1));
        let stretch = high.wrapping_sub(low).wrapping_add(bytes);
        if bases.len() != 1 || !(bytes..=MAX_SPAN).contains(&stretch) {
            return;
        }
        let start = self.t.add(&bases[0], low);
        let start = self.t.offset(&place.base, &start);
        let kept = match root {
            Root::Argument(index) if matches!(access, PrefetchHint::Write | PrefetchHint::WriteL2) => {
                self.argument_kept(index)
            }
            _ => None,
        };
        let Some(kept) = kept else { return self.prefetch_lines(&start, stretch, access) };
        // What is stored with non-temporal stores need not be in them.
        let kept = self.t.icmp(IntPredicate::Ne, &kept, 0);
        let (prefetch, done) = (self.t.block(), self.t.block());
        self.t.branch_if(&kept, prefetch, done);
        self.t.label(prefetch);
        self.prefetch_lines(&start, stretch, access);
        self.t.label(done);
    }

    /// Prefetches the lines of `bytes` bytes.
    fn prefetch_lines(&mut self, start: &Opd, bytes: i64, access: PrefetchHint) {
        assert!(bytes > 0, "a prefetch covers at least one byte, not {bytes}");
        let access = match (access, self.shared.options.features.streams_in_second_level) {
            // A line that no other thread has may be written as it is.
            (PrefetchHint::WriteL2, _) | (PrefetchHint::StreamRead, true) => PrefetchHint::ReadL2,
            (access, _) => access,
        };
        for line in (0..bytes).step_by(LINE as usize) {
            let at = self.t.offset(start, line);
            prefetch_line(&mut self.t, &at, access);
        }
    }
}

/// Prefetches the line at an address.
fn prefetch_line(t: &mut Builder, at: &Opd, access: PrefetchHint) {
    t.expect(at, PTR);
    let write = i64::from(access == PrefetchHint::Write);
    // LLVM's `locality`: to the second level of caches, or to the first.
    let locality = if access == PrefetchHint::ReadL2 { 2 } else { 3 };
    let args = [at, &Opd::i32(write), &Opd::i32(locality), &Opd::i32(1)];
    t.call_void_declared("llvm.prefetch.p0", &args);
}
