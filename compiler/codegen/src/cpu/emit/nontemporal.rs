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
use crate::cpu::llvm_text::Opd;
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
        let mut threads = Opd::Int(1);
        for axis in 0..3 {
            let field = LAUNCH_GRID_THREADS + 4 * axis;
            let at = t.entry_value(format_args!("getelementptr i8, ptr {launch}, i64 {field}"));
            let size = t.entry_value(format_args!("load i32, ptr {at}, align 4, !invariant.load !1"));
            let size = t.entry_value(format_args!("zext i32 {size} to i64"));
            threads = t.entry_value(format_args!("mul i64 {threads}, {size}"));
        }
        assert!(thread_bytes > 0, "each thread stores to an argument that may be non-temporal");
        let enough = MIN_WRITTEN_BYTES / thread_bytes;
        let short = t.entry_value(format_args!("icmp ult i64 {len}, {MIN_BUFFER_BYTES}"));
        let little = t.entry_value(format_args!("icmp ult i64 {threads}, {enough}"));
        let kept = t.entry_value(format_args!("or i1 {short}, {little}"));
        let flag = t.entry_value(format_args!("zext i1 {kept} to i64"));
        self.registers.nontemporal_flags.insert(index, flag.clone());
        Some(flag)
    }

    /// Stores a vector of `bytes` bytes: with non-temporal stores if `kept` is zero and it covers whole
    /// lines.
    pub(super) fn store_nontemporal(
        &mut self,
        kept: &Opd,
        store: &str,
        at: &Opd,
        bytes: i64,
        metadata: &str,
    ) {
        self.t.expect(kept, "i64");
        assert!(bytes > 0, "a store of {bytes} bytes");
        if bytes % LINE != 0 {
            self.t.line(format_args!("{store}, ptr {at}, align 1{metadata}"));
            return;
        }
        let place = self.t.value(format_args!("ptrtoint ptr {at} to i64"));
        let low = self.t.value(format_args!("and i64 {place}, {}", LINE - 1));
        let kept = self.t.value(format_args!("or i64 {low}, {kept}"));
        let past = self.t.icmp("eq", "i64", &kept, &Opd::Int(0));
        let (past_block, through, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&past, past_block, through);
        self.t.label(past_block);
        self.t.line(format_args!("{store}, ptr {at}, align {LINE}, !nontemporal !14{metadata}"));
        self.t.branch(done);
        self.t.label(through);
        self.t.line(format_args!("{store}, ptr {at}, align 1{metadata}"));
        self.t.label(done);
    }
}
