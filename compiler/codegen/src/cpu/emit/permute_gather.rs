//! Permute gather: loads of lanes in any order within a short stretch.
//!
//! Butterflies, every second element, a reversed row: the lanes' order is known at run time only, but often
//! all are within two vectors. If a run-time test shows that, the vectors are loaded whole and permuted in
//! registers, at a quarter of the cost of loads lane by lane. Invariant: the whole stretch is in bounds and
//! contains every active lane's element.

use anymetal_opt::Feature;

use super::contiguity_check::{Narrow, Side};
use super::memory::{Address, Item, MemoryType};
use super::{Emitter, Mask};
use crate::llvm::{self, I16, I32, IntPredicate, LANES, MemFlags, Opd};

/// Elements of a stretch.
const REACH: usize = 2 * LANES;

/// Where the lanes lie if they are near each other.
#[derive(Debug)]
pub(super) struct PermuteGather {
    /// Whether they are, and where the stretch starts.
    pub(super) side: Side,
    /// Each lane's element of the stretch.
    picks: Opd,
}

impl Emitter<'_, '_> {
    /// Tests whether the lanes lie within two vectors from what the first lane's place is in. `None`: nothing
    /// loads such elements that way.
    pub(super) fn permute_gather(&mut self, address: &Address, item: Item) -> Option<PermuteGather> {
        let options = self.shared.options;
        let is_on = self.has(Feature::PermuteGather) && options.features.avx512;
        if !is_on || !matches!(item.bits(), 16 | 32) || item.count != 1 {
            return None;
        }
        let bytes = item.bytes();
        let narrow = self.narrow(address, bytes).filter(|narrow| narrow.scale() == bytes);
        let (fits, start, picks, same) = match narrow {
            Some(narrow) => self.permute_indices(address, narrow),
            None => self.permute_offsets(address, bytes),
        };
        let inside = self.exists(&address.place, &start, REACH as i64 * bytes);
        let is_so = self.t.and(&fits, &inside);
        let is_so = self.t.and(&same, &is_so);
        Some(PermuteGather { side: Side { is_so, start }, picks })
    }

    /// By indices of 32 bits: whether the stretch's do not wrap, its start, each lane's element, and whether
    /// all have one.
    fn permute_indices(&mut self, address: &Address, narrow: Narrow) -> (Opd, Opd, Opd, Opd) {
        let indices = self.vector(narrow.index(), 0);
        let first = self.first_frozen(&indices);
        let first = self.t.and(&first, -(LANES as i64));
        let fits = self.steps_fit(narrow, &first, REACH as i64);
        let start = self.narrow_start(address, narrow, &first);
        let (picks, same) = self.behind(&indices, &first, -(REACH as i64));
        (fits, start, picks, same)
    }

    /// The same by offsets, which do not wrap where they are in bounds.
    fn permute_offsets(&mut self, address: &Address, bytes: i64) -> (Opd, Opd, Opd, Opd) {
        assert!(bytes.count_ones() == 1, "element sizes are powers of two, not {bytes}");
        let offsets = self.offsets_with_extra(address);
        let first = self.first_frozen(&offsets);
        let start = self.t.and(&first, !((LANES as i64 - 1) * bytes));
        // Neither beyond the stretch nor between its elements.
        let others = !((REACH as i64 - 1) * bytes);
        let (behind, same) = self.behind(&offsets, &start, others);
        let short = self.t.trunc(&behind, I32.lanes());
        let shift = bytes.ilog2();
        let picks = self.t.lshr(&short, i64::from(shift));
        (Opd::bool(true), start, picks, same)
    }

    /// How far the lanes lie after a start, and whether none of these bits is set in that of an active one.
    fn behind(&mut self, lanes: &Opd, start: &Opd, others: i64) -> (Opd, Opd) {
        let splat = self.t.splat(start);
        let behind = self.t.sub(lanes, &splat);
        let set = self.t.and(&behind, others);
        let none = self.all_zero(&set);
        (behind, none)
    }

    /// Whether the active lanes' elements are zero.
    pub(super) fn all_zero(&mut self, vector: &Opd) -> Opd {
        let mut zero = self.t.icmp(IntPredicate::Eq, vector, 0);
        if let Mask::Some(mask) = self.position.mask.clone() {
            zero = self.t.select(&mask, &zero, &Opd::bool(true).splat(LANES));
        }
        let bits = self.mask_bits(&Mask::Some(zero));
        self.t.icmp(IntPredicate::Eq, &bits, -1)
    }

    /// Loads the stretch, and gives each lane its element.
    pub(super) fn load_permute_gather(
        &mut self,
        address: &Address,
        permute_gather: &PermuteGather,
        item: Item,
    ) -> Opd {
        let (bits, metadata) = (item.bits(), self.metadata(&address.place));
        // Of 16 bits two registers hold the stretch, of 32 bits four.
        let lanes = 512 / bits as usize;
        let at = self.t.offset(&address.place.base, &permute_gather.side.start);
        let registers: Vec<Opd> = (0..REACH / lanes)
            .map(|n| {
                let at = self.t.offset(&at, 64 * n as i64);
                self.t.load(llvm::Type::int(bits).vector(lanes), &at, MemFlags::with(1, metadata))
            })
            .collect();
        assert!(matches!(registers.len(), 2 | 4), "a stretch is in two or four registers");
        let raw = match registers.as_slice() {
            [low, high] => {
                let picks = self.t.trunc(&permute_gather.picks, I16.lanes());
                self.pick_of_two(I16, (low, high), &picks)
            }
            registers => self.pick_of_four(registers, &permute_gather.picks),
        };
        let memory = item.memory_type();
        let raw = self.t.reinterpret(&raw, memory);
        self.from_memory(item, raw)
    }

    fn pick_of_four(&mut self, registers: &[Opd], picks: &Opd) -> Opd {
        const HALF: usize = LANES / 2;
        let parts = (0..2)
            .map(|half| {
                let lanes: Vec<_> = (HALF * half..HALF * (half + 1)).map(Some).collect();
                let picks = self.t.pick(picks, &lanes);
                let low = self.pick_of_two(I32, (&registers[0], &registers[1]), &picks);
                let high = self.pick_of_two(I32, (&registers[2], &registers[3]), &picks);
                let first = self.t.icmp(IntPredicate::ULt, &picks, LANES as i64);
                self.t.select(&first, &low, &high)
            })
            .collect();
        self.t.concat(parts)
    }

    /// Elements of two registers; picks are taken modulo what those hold.
    pub(super) fn pick_of_two(&mut self, element: llvm::Type, (low, high): (&Opd, &Opd), picks: &Opd) -> Opd {
        assert!(matches!(element, I16 | I32), "registers are not permuted by elements of type {element}");
        let (lanes, name) = if element == I16 { (32, "hi") } else { (16, "d") };
        let function = format!("llvm.x86.avx512.vpermi2var.{name}.512");
        self.t.call_declared(element.vector(lanes), &function, &[low, picks, high])
    }
}
