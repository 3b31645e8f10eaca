//! Stores that go past the caches.
//!
//! A plain store of a whole line first reads the line. What a dispatch only writes, and writes more of than
//! caches keep until somebody reads it, need not come in: such stores are non-temporal, two bytes moved for
//! what is three otherwise. The plan lists the stores that may be; a flag decides when the code runs.
//! Invariant: the entry ends with a fence, since these stores are not ordered with others.
//!
//! The thresholds are measured: see `docs/decisions/0009-non-temporal-stores.md`.

use anymetal_abi::offsets::LAUNCH_GRID_THREADS;
use anymetal_ir::Space;

use super::Emitter;
use super::memory::Address;
use crate::llvm::{Binary, I32, I64, IntPredicate, MemFlags, Opd};
use anymetal_simd::storage::Root;

/// Buffers shorter than this are written through the caches.
const MIN_BUFFER_BYTES: i64 = 32 << 20;
/// So are those of which all threads together write less than this with one store each.
const MIN_WRITTEN_BYTES: i64 = 8 << 20;
/// Bytes of a line, the least that such a store is good for.
const LINE: i64 = 64;

impl Emitter<'_, '_> {
    /// For a store that may be non-temporal, whether it does not: nonzero at run time.
    pub(super) fn kept_in_caches(&mut self, address: &Address) -> Option<Opd> {
        let Root::Argument(index) = address.place.root else {
            // Threadgroup memory stays in caches.
            return None;
        };
        let may_pass = self.plan.nontemporal.pointers.contains(&address.value?);
        if may_pass { self.argument_kept(index) } else { None }
    }

    /// The same for the stores to an argument.
    pub(super) fn argument_kept(&mut self, index: usize) -> Option<Opd> {
        let &thread_bytes = self.plan.nontemporal.bytes.get(&index)?;
        let features = &self.shared.options.features;
        if !(features.avx512 || features.avx2) || self.shared.kernel.args[index].space != Space::Device {
            return None;
        }
        self.shared.fences = true;
        if let Some(flag) = self.registers.nontemporal_flags.get(&index) {
            return Some(flag.clone());
        }
        let len = self.place(Root::Argument(index)).len;
        let launch = self.group.launch.clone();
        let t = &mut self.t;
        let mut threads = Opd::i64(1);
        for axis in 0..3 {
            let field = LAUNCH_GRID_THREADS + 4 * axis;
            let at = t.in_entry(|t| t.field(&launch, field));
            let size = t.in_entry(|t| t.load(I32, &at, MemFlags::with(4, ", !invariant.load !1")));
            let size = t.in_entry(|t| t.zext(&size, I64));
            threads = t.in_entry(|t| t.binary(Binary::Mul, &threads, &size));
        }
        assert!(thread_bytes > 0, "each thread stores to an argument that may be non-temporal");
        let enough = MIN_WRITTEN_BYTES / thread_bytes;
        let short = t.in_entry(|t| t.icmp(IntPredicate::ULt, &len, MIN_BUFFER_BYTES));
        let little = t.in_entry(|t| t.icmp(IntPredicate::ULt, &threads, enough));
        let kept = t.in_entry(|t| t.or(&short, &little));
        let flag = t.in_entry(|t| t.zext(&kept, I64));
        self.registers.nontemporal_flags.insert(index, flag.clone());
        Some(flag)
    }

    /// Stores a vector of `bytes` bytes: with non-temporal stores if `kept` is zero and it covers whole
    /// lines.
    pub(super) fn store_nontemporal(
        &mut self,
        kept: &Opd,
        value: &Opd,
        at: &Opd,
        bytes: i64,
        metadata: &'static str,
    ) {
        self.t.expect(kept, I64);
        assert!(bytes > 0, "a store of {bytes} bytes");
        if bytes % LINE != 0 {
            self.t.store(value, at, MemFlags::with(1, metadata));
            return;
        }
        let place = self.t.address_of(at);
        let low = self.t.and(&place, LINE - 1);
        let kept = self.t.or(&low, kept);
        let past = self.t.icmp(IntPredicate::Eq, &kept, 0);
        let (past_block, through, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&past, past_block, through);
        self.t.label(past_block);
        self.t.store(value, at, MemFlags::with(LINE as u32, metadata).nontemporal());
        self.t.branch(done);
        self.t.label(through);
        self.t.store(value, at, MemFlags::with(1, metadata));
        self.t.label(done);
    }
}
