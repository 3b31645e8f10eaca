//! Out-of-line fallback gather: for assumed affine forms that do not hold, and strided lanes of which some
//! are off.
//!
//! A kernel has many and they seldom run, so bounds check, masked lanes and loads are one call. Lanes
//! within a short stretch are permuted, as in `permute_gather`.

use super::allocation::UNCHECKED_BEFORE;
use super::lane::Lane;
use super::memory::{Address, Item, MemoryType};
use super::out_of_line::Helper;
use super::{Emitter, Mask};
use crate::llvm::{self, I32, IntPredicate, Opd};
use anymetal_simd::target::CpuFeatures;

/// Gives the lanes of `%on` that are not below the limit and, if there are none, what all lanes load. Those
/// that are off load from the start: some lane is on and in bounds, so that exists.
const COLD_GATHER: &str =
    "define internal { i32, <32 x iBITS> } @am.rare_gather.BITS(ptr %base, <32 x i64> %lanes, \
i64 %extra, i64 %before, i64 %limit, i32 %on) #1 {
entry:
  %extra.0 = insertelement <32 x i64> poison, i64 %extra, i64 0
  %extras = shufflevector <32 x i64> %extra.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %places = add <32 x i64> %lanes, %extras
  %limit.0 = insertelement <32 x i64> poison, i64 %limit, i64 0
  %limits = shufflevector <32 x i64> %limit.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %before.0 = insertelement <32 x i64> poison, i64 %before, i64 0
  %befores = shufflevector <32 x i64> %before.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %from.first = add <32 x i64> %places, %befores
  %outside = icmp uge <32 x i64> %from.first, %limits
  %outside.bits = bitcast <32 x i1> %outside to i32
  %bad = and i32 %outside.bits, %on
  %none = insertvalue { i32, <32 x iBITS> } zeroinitializer, i32 %bad, 0
  %fits = icmp eq i32 %bad, 0
  br i1 %fits, label %inside, label %outsiders
outsiders:
  ret { i32, <32 x iBITS> } %none
inside:
  %mask = bitcast i32 %on to <32 x i1>
  %offsets = select <32 x i1> %mask, <32 x i64> %places, <32 x i64> zeroinitializer
NEAR  %gathered = call <32 x iBITS> @am.gather.BITS(ptr %base, <32 x i64> %offsets)
  %with.gathered = insertvalue { i32, <32 x iBITS> } %none, <32 x iBITS> %gathered, 1
  ret { i32, <32 x iBITS> } %with.gathered
}
";

/// Loads of 32 bits whose lanes were expected side by side are not so mostly for some that a limit holds
/// back, at the edge of a picture. So if all lie between the first and the last one's place, within as many
/// elements as there are lanes, those are loaded and permuted.
const PERMUTE: &str = "  %first = extractelement <32 x i64> %offsets, i64 0
  %last = extractelement <32 x i64> %offsets, i64 31
  %low = call i64 @llvm.umin.i64(i64 %first, i64 %last)
  %high = call i64 @llvm.umax.i64(i64 %first, i64 %last)
  %reach = sub i64 %high, %low
  %is.short = icmp ule i64 %reach, 124
  %low.0 = insertelement <32 x i64> poison, i64 %low, i64 0
  %lows = shufflevector <32 x i64> %low.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %steps = sub <32 x i64> %offsets, %lows
  %reach.0 = insertelement <32 x i64> poison, i64 %reach, i64 0
  %reaches = shufflevector <32 x i64> %reach.0, <32 x i64> poison, <32 x i32> zeroinitializer
  %beside = icmp ugt <32 x i64> %steps, %reaches
  %short = trunc <32 x i64> %steps to <32 x i32>
  %rest = and <32 x i32> %short, splat (i32 3)
  %between = icmp ne <32 x i32> %rest, zeroinitializer
  %far = or <32 x i1> %beside, %between
  %far.bits = bitcast <32 x i1> %far to i32
  %is.together = icmp eq i32 %far.bits, 0
  %is.near = and i1 %is.short, %is.together
  br i1 %is.near, label %near, label %apart
near:
  %picks = lshr <32 x i32> %short, splat (i32 2)
  %reach.32 = trunc i64 %reach to i32
  %beyond = lshr i32 %reach.32, 2
  %shift = sub i32 31, %beyond
  %there.bits = lshr i32 -1, %shift
  %there = bitcast i32 %there.bits to <32 x i1>
  %place = getelementptr i8, ptr %base, i64 %low
  %all = call <32 x i32> @llvm.masked.load.v32i32.p0(ptr %place, i32 1, <32 x i1> %there, <32 x i32> zeroinitializer)
  %all.0 = shufflevector <32 x i32> %all, <32 x i32> poison, <16 x i32> LOW
  %all.1 = shufflevector <32 x i32> %all, <32 x i32> poison, <16 x i32> HIGH
  %picks.0 = shufflevector <32 x i32> %picks, <32 x i32> poison, <16 x i32> LOW
  %picks.1 = shufflevector <32 x i32> %picks, <32 x i32> poison, <16 x i32> HIGH
  %picked.0 = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %all.0, <16 x i32> %picks.0, <16 x i32> %all.1)
  %picked.1 = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %all.0, <16 x i32> %picks.1, <16 x i32> %all.1)
  %picked = shufflevector <16 x i32> %picked.0, <16 x i32> %picked.1, <32 x i32> BOTH
  %with.picked = insertvalue { i32, <32 x iBITS> } %none, <32 x iBITS> %picked, 1
  ret { i32, <32 x iBITS> } %with.picked
apart:
";

/// What that calls.
const PERMUTE_DECLARATIONS: [&str; 4] = [
    "declare i64 @llvm.umin.i64(i64, i64)",
    "declare i64 @llvm.umax.i64(i64, i64)",
    "declare <32 x i32> @llvm.masked.load.v32i32.p0(ptr, i32, <32 x i1>, <32 x i32>)",
    "declare <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32>, <16 x i32>, <16 x i32>)",
];

fn permutes(bits: u32, features: &CpuFeatures) -> bool {
    bits == 32 && features.avx512
}

/// The text of [`Helper::ColdGather`].
pub(super) fn cold_gather(bits: u32, features: &CpuFeatures) -> String {
    assert!(matches!(bits, 8 | 16 | 32 | 64), "elements do not have {bits} bits");
    let list = |from: usize, to: usize| {
        let items: Vec<String> = (from..to).map(|lane| format!("i32 {lane}")).collect();
        format!("<{}>", items.join(", "))
    };
    let permute = if permutes(bits, features) { PERMUTE } else { "" };
    COLD_GATHER
        .replace("NEAR", permute)
        .replace("LOW", &list(0, 16))
        .replace("HIGH", &list(16, 32))
        .replace("BOTH", &list(0, 32))
        .replace("BITS", &bits.to_string())
}

/// What it calls, beside other helpers.
pub(super) fn declarations(bits: u32, features: &CpuFeatures) -> &'static [&'static str] {
    if permutes(bits, features) { &PERMUTE_DECLARATIONS } else { &[] }
}

impl Emitter<'_, '_> {
    /// As a gather, for where lanes side by side have a path of their own.
    pub(super) fn load_cold_gather(&mut self, address: &Address, item: Item) -> Vec<Lane> {
        assert!(item.count > 0, "an item has at least one element");
        let bits = item.bits();
        self.need(Helper::ColdGather(bits));
        let offsets = self.offsets(address);
        let is_certain = !self.shared.options.checks || self.is_in_bounds(address, item.bytes());
        // Where lanes may be before the start they go the slow path: what those that are off would load might
        // not be there.
        let (before, limit) = match is_certain {
            true => (Opd::i64(UNCHECKED_BEFORE), Opd::i64(-1)),
            false => (Opd::i64(0), self.limit(&address.place, item.bytes())),
        };
        let on = match self.position.mask.clone() {
            Mask::All => Opd::i32(-1),
            mask => self.mask_bits(&mask),
        };
        let ty = llvm::Type::int(bits).lanes();
        let (mut bad, mut loaded) = (Opd::i32(0), Vec::new());
        for k in 0..item.count {
            let base = self.t.offset(&address.place.base, i64::from(item.scalar.size()) * k as i64);
            let (own, raw) = self.t.call_pair(
                (I32, ty),
                format!("am.rare_gather.{bits}"),
                &[&base, &offsets, &Opd::i64(address.extra), &before, &limit, &on],
            );
            bad = own;
            let raw = self.t.reinterpret(&raw, item.memory_type());
            loaded.push(self.from_memory(item, raw));
        }
        if is_certain {
            return loaded.into_iter().map(Lane::Varying).collect();
        }
        let from = self.t.current();
        let (slow, join) = (self.t.block(), self.t.block());
        let ok = self.t.icmp(IntPredicate::Eq, &bad, 0);
        self.t.branch_likely(&ok, join, slow);
        self.or_slowly(address, item, (&loaded, from), (slow, join))
    }
}
