//! Near gather: loads at positions that were computed as floats, as of a picture that is warped or scaled.
//!
//! Neighbouring lanes then read places that are near each other but not side by side, at distances that only
//! the run shows. On processors with AVX2 alone eight lanes are permuted out of the eight elements that
//! begin at the first of them, if a run-time test shows that all are among these: a third of what loads lane
//! by lane take. `permute_gather` does the same with wider registers, for any index. Invariant: each group's
//! stretch is in bounds and contains every active lane's element.

use anymetal_ir::{BinOp, CastOp, Op, Value};
use anymetal_opt::Feature;

use super::lane::Width;
use super::memory::{Address, Item};
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, Opd};

/// Lanes that are permuted together, and elements of their stretch.
const GROUP: usize = 8;
/// How far an index is followed to a conversion.
const DEPTH: u32 = 6;

/// Where the lanes are if they are near each other.
#[derive(Debug)]
pub(super) struct NearGather {
    /// Whether they are.
    pub(super) is_so: Opd,
    /// The offset of each group's stretch.
    starts: Vec<Opd>,
    /// Each lane's element of its group's stretch.
    picks: Opd,
}

impl Emitter<'_, '_> {
    /// Tests whether each group's lanes are within a stretch. `None`: nothing suggests it, or nothing loads
    /// such elements that way.
    pub(super) fn near_gather(&mut self, address: &Address, item: Item) -> Option<NearGather> {
        let features = &self.shared.options.features;
        let is_on = self.has(Feature::NearGather) && features.avx2 && !features.avx512;
        if !is_on || !matches!(item.bits(), 8 | 16 | 32) || item.count != 1 {
            return None;
        }
        let bytes = item.bytes();
        let narrow = self.narrow(address, bytes).filter(|narrow| narrow.scale() == bytes)?;
        if !self.is_from_float(narrow.index(), DEPTH) {
            return None;
        }
        let mut indices = self.vector(narrow.index(), 0);
        if let Mask::Some(_) = self.mask {
            indices = self.t.value(format_args!("freeze <32 x i32> {indices}"));
        }
        let poison = Opd::text("poison");
        let first_lanes: Vec<_> = (0..LANES).map(|lane| Some(lane / GROUP * GROUP)).collect();
        let firsts = self.t.shuffle("i32", LANES, &indices, &poison, &first_lanes);
        let picks = self.t.value(format_args!("sub <32 x i32> {indices}, {firsts}"));
        let beyond = self.t.value(format_args!("and <32 x i32> {picks}, splat (i32 {})", -(GROUP as i64)));
        let mut is_so = self.all_zero("i32", &beyond);
        let mut starts = Vec::new();
        for lane in (0..LANES).step_by(GROUP) {
            let first = self.t.value(format_args!("extractelement <32 x i32> {indices}, i64 {lane}"));
            let fits = self.steps_fit(narrow, &first, GROUP as i64 - 1);
            let start = self.narrow_start(address, narrow, &first);
            let exists = self.exists(&address.place, &start, GROUP as i64 * bytes);
            let is_loadable = self.t.and(&fits, &exists);
            is_so = self.t.and(&is_so, &is_loadable);
            starts.push(start);
        }
        Some(NearGather { is_so, starts, picks })
    }

    /// Whether an index is a float, limited and moved at most.
    fn is_from_float(&self, value: Value, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            // Deeper sums are rare, and the general gather is right for them.
            return false;
        };
        match self.facts.function.def(value) {
            Some(Op::Cast(CastOp::FToS | CastOp::FToU, _)) => true,
            Some(&(Op::Cast(_, a) | Op::Extract(a, _))) => self.is_from_float(a, depth),
            Some(&Op::Binary(op, a, b)) => {
                let moves = matches!(
                    op,
                    BinOp::Add | BinOp::Sub | BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax
                );
                moves && (self.is_from_float(a, depth) || self.is_from_float(b, depth))
            }
            Some(&Op::Select(_, a, b)) => self.is_from_float(a, depth) || self.is_from_float(b, depth),
            _ => false,
        }
    }

    /// Loads the stretches, and gives each lane its element.
    pub(super) fn load_near_gather(&mut self, address: &Address, near: &NearGather, item: Item) -> Opd {
        assert_eq!(near.starts.len() * GROUP, LANES, "each group of lanes has a stretch");
        assert!(item.bits() <= 32, "elements of {} bits do not fit a register of eight", item.bits());
        let (bits, metadata) = (item.bits(), self.metadata(&address.place));
        let function = "@llvm.x86.avx2.permd";
        self.t.declare(format!("declare <8 x i32> {function}(<8 x i32>, <8 x i32>)"));
        let mut parts = Vec::new();
        for (group, start) in near.starts.iter().enumerate() {
            let at = self.t.offset(&address.place.base, start);
            let mut stretch = self.t.value(format_args!("load <8 x i{bits}>, ptr {at}, align 1{metadata}"));
            if bits < 32 {
                stretch = self.t.value(format_args!("zext <8 x i{bits}> {stretch} to <8 x i32>"));
            }
            let lanes: Vec<_> = (GROUP * group..GROUP * (group + 1)).map(Some).collect();
            let picks = self.t.shuffle("i32", LANES, &near.picks, &Opd::text("poison"), &lanes);
            parts
                .push(self.t.value(format_args!(
                    "call <8 x i32> {function}(<8 x i32> {stretch}, <8 x i32> {picks})"
                )));
        }
        let mut raw = self.t.concat("i32", GROUP, parts);
        if bits < 32 {
            raw = self.t.value(format_args!("trunc <32 x i32> {raw} to <32 x i{bits}>"));
        }
        let memory = item.memory_type();
        let raw = super::cast::reinterpret(&mut self.t, Width::All, &format!("i{bits}"), memory, &raw);
        self.from_memory(Width::All, item, raw)
    }
}
