//! Accesses lane by lane under the mask, with a check and a report each: calls of shared functions, which
//! take the lanes' offsets and values through memory of the version.

use super::{Address, Item, MemoryType};
use crate::cpu::emit::Emitter;
use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::out_of_line::{Helper, RECORD_BYTES};
use crate::llvm::{self, I8, I32, I64, LANES, Opd};

/// Memory of the version for its slow paths.
#[derive(Clone, Debug)]
pub(in crate::cpu::emit) struct SlowBuffers {
    /// The lanes' offsets.
    pub(in crate::cpu::emit) offsets: Opd,
    /// The lanes' values.
    pub(in crate::cpu::emit) values: Opd,
    /// The first fault.
    pub(in crate::cpu::emit) record: Opd,
}

/// The lanes' offsets as a slow path takes them.
#[derive(Clone, Debug)]
pub(in crate::cpu::emit) enum SlowOffsets {
    /// A vector.
    All(Opd),
    /// The first lane's, and how far the others are apart.
    Steps {
        /// The first lane's.
        start: Opd,
        /// From lane to lane.
        step: i64,
    },
}

impl Emitter<'_, '_> {
    /// The offsets of all lanes for a slow path. Vectors of them cost LLVM much time for code that hardly
    /// ever runs, so equal steps are written out at run time.
    fn slow_offsets(&mut self, address: &Address) -> SlowOffsets {
        if let Lane::Affine { bases, shape, .. } = &address.offset
            && let ([base], false) = (bases.as_slice(), shape.is_assumed())
        {
            let step = shape.at(1).wrapping_sub(shape.at(0));
            let at = |lane: usize| shape.at(0).wrapping_add(step.wrapping_mul(lane as i64));
            if (0..LANES).all(|lane| shape.at(lane) == at(lane)) {
                let start = self.t.add(base, shape.at(0).wrapping_add(address.extra));
                return SlowOffsets::Steps { start, step };
            }
        }
        SlowOffsets::All(self.offsets_with_extra(address))
    }

    /// Lane by lane under the mask, with checks and reports.
    pub(in crate::cpu::emit) fn load_slowly(&mut self, address: &Address, item: Item) -> Vec<Opd> {
        let offsets = self.slow_offsets(address);
        let bits = item.bits();
        self.need(Helper::Load(bits));
        let ty = llvm::Type::int(bits).lanes();
        (0..item.count)
            .map(|k| {
                let element = i64::from(item.scalar.size()) * k as i64;
                let values = self.slow_buffers().values;
                self.t.store(&Opd::zero(ty), &values, 64);
                self.call_slow(&format!("am.load.{bits}"), address, &offsets, item.bytes(), element);
                let raw = self.t.load(ty, &values, 64);
                let raw = self.t.reinterpret(&raw, item.memory_type());
                self.from_memory(item, raw)
            })
            .collect()
    }

    pub(in crate::cpu::emit) fn store_slowly(&mut self, address: &Address, item: Item, values: &[Opd]) {
        let offsets = self.slow_offsets(address);
        let bits = item.bits();
        self.need(Helper::Store(bits));
        for (k, value) in values.iter().enumerate() {
            let element = i64::from(item.scalar.size()) * k as i64;
            let int = llvm::Type::int(bits);
            let raw = self.t.reinterpret(value, int);
            let buffer = self.slow_buffers().values;
            self.t.store(&raw, &buffer, 64);
            self.call_slow(&format!("am.store.{bits}"), address, &offsets, item.bytes(), element);
        }
    }

    /// Calls a lane-by-lane helper on what is in the buffer.
    pub(in crate::cpu::emit) fn call_slow(
        &mut self,
        helper: &str,
        address: &Address,
        offsets: &SlowOffsets,
        bytes: i64,
        element: i64,
    ) {
        let len = if self.shared.options.checks { address.place.len.clone() } else { Opd::i64(i64::MAX) };
        let before = self.before(&address.place);
        let mask = self.position.mask.clone();
        let mask = self.mask_bits(&mask);
        let slow = self.slow_buffers();
        match offsets {
            SlowOffsets::All(offsets) => self.t.store(offsets, &slow.offsets, 64),
            SlowOffsets::Steps { start, step } => {
                self.need(Helper::Places);
                self.t.call_void("am.places", &[&slow.offsets, start, &Opd::i64(*step)]);
            }
        }
        self.t.call_void(
            helper,
            &[
                &slow.values,
                &slow.offsets,
                &address.place.base,
                &len,
                &before,
                &Opd::int(I64, bytes),
                &Opd::int(I64, element),
                &mask,
                &slow.record,
                &Opd::i32(address.site.into()),
                &self.position.first,
            ],
        );
    }

    /// The memory through which slow paths pass vectors, and the fault record.
    pub(in crate::cpu::emit) fn slow_buffers(&mut self) -> SlowBuffers {
        if let Some(slow) = &self.registers.slow {
            return slow.clone();
        }
        let offsets = self.t.alloca_array(32, I64, 64);
        let values = self.t.alloca_array(32, I64, 64);
        let record = self.t.alloca_array(u64::from(RECORD_BYTES), I8, 8);
        self.t.in_entry(|t| t.store(&Opd::int(I32, 0), &record, 8));
        let slow = SlowBuffers { offsets, values, record };
        self.registers.slow = Some(slow.clone());
        slow
    }

    /// Makes sure that a helper is in the module.
    pub(in crate::cpu::emit) fn need(&mut self, helper: Helper) {
        self.shared.helpers.insert(helper);
        if let Some(other) = helper.needs() {
            self.shared.helpers.insert(other);
        }
    }
}
