//! Loads of lanes that lie in any order within a short stretch.
//!
//! Partners in a butterfly, every second element, a row turned around: how the lanes lie only the run shows, but often
//! it is within two vectors. If a run-time test says so, those are loaded whole and permuted in registers, at a
//! quarter of what loads lane by lane cost. Invariant: the whole stretch is in bounds, and every active lane's place is
//! in it.

use super::adjacent::{Narrow, Side};
use super::lane::Width;
use super::memory::{Address, Item};
use super::{Emitter, Mask};
use crate::cpu::llvm_text::{LANES, MASK, Opd};

/// Elements of a stretch.
const REACH: usize = 2 * LANES;

/// Loads of 32 bits whose lanes were expected side by side, and are not: mostly for some that a limit holds back, at the
/// edge of a picture. So if all lie between the first and the last one's place, within as many elements as there are lanes,
/// those are loaded and permuted.
const RARE_GATHER: &str =
    "define internal <32 x i32> @am.rare_gather.32(ptr %base, <32 x i64> %offsets) #1 {
entry:
  %first = extractelement <32 x i64> %offsets, i64 0
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
  %outside = icmp ugt <32 x i64> %steps, %reaches
  %short = trunc <32 x i64> %steps to <32 x i32>
  %rest = and <32 x i32> %short, splat (i32 3)
  %between = icmp ne <32 x i32> %rest, zeroinitializer
  %far = or <32 x i1> %outside, %between
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
  ret <32 x i32> %picked
apart:
  %gathered = call <32 x i32> @am.gather.32(ptr %base, <32 x i64> %offsets)
  ret <32 x i32> %gathered
}
";

/// What that calls.
pub(super) const RARE_GATHER_DECLARATIONS: [&str; 4] = [
    "declare i64 @llvm.umin.i64(i64, i64)",
    "declare i64 @llvm.umax.i64(i64, i64)",
    "declare <32 x i32> @llvm.masked.load.v32i32.p0(ptr, i32, <32 x i1>, <32 x i32>)",
    "declare <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32>, <16 x i32>, <16 x i32>)",
];

/// Its text.
pub(super) fn rare_gather() -> String {
    let list = |from: usize, to: usize| {
        let items: Vec<String> = (from..to).map(|lane| format!("i32 {lane}")).collect();
        format!("<{}>", items.join(", "))
    };
    RARE_GATHER.replace("LOW", &list(0, 16)).replace("HIGH", &list(16, 32)).replace("BOTH", &list(0, 32))
}

/// Where the lanes lie if they are near each other.
#[derive(Debug)]
pub(super) struct Near {
    /// Whether they are, and where the stretch starts.
    pub(super) side: Side,
    /// Each lane's element of the stretch.
    picks: Opd,
}

impl Emitter<'_, '_> {
    /// Tests whether the lanes lie within two vectors from what the first lane's place is in. `None`: nothing loads
    /// such elements that way.
    pub(super) fn near(&mut self, address: &Address, item: Item) -> Option<Near> {
        let options = self.shared.options;
        if !options.features.avx512 || !matches!(item.bits(), 16 | 32) || item.count != 1 {
            return None;
        }
        let bytes = item.bytes();
        let narrow = self.narrow(address, bytes).filter(|narrow| narrow.scale() == bytes);
        let (fits, start, picks, same) = match narrow {
            Some(narrow) => self.near_indices(address, narrow),
            None => self.near_offsets(address, bytes),
        };
        let inside = self.exists(&address.place, &start, REACH as i64 * bytes);
        let is_so = self.t.and(&fits, &inside);
        let is_so = self.t.and(&same, &is_so);
        Some(Near { side: Side { is_so, start }, picks })
    }

    /// By indices of 32 bits: whether the stretch's do not wrap, its start, each lane's element, and whether all
    /// have one.
    fn near_indices(&mut self, address: &Address, narrow: Narrow) -> (Opd, Opd, Opd, Opd) {
        let indices = self.vector(narrow.index(), 0);
        let first = self.first_frozen("i32", &indices);
        let first = self.t.value(format_args!("and i32 {first}, {}", -(LANES as i64)));
        let fits = self.steps_fit(narrow, &first, REACH as i64);
        let start = self.narrow_start(address, narrow, &first);
        let splat = self.t.splat("i32", &first);
        let picks = self.t.value(format_args!("sub <32 x i32> {indices}, {splat}"));
        let beyond = self.t.value(format_args!("and <32 x i32> {picks}, splat (i32 {})", -(REACH as i64)));
        let same = self.all_zero("i32", &beyond);
        (fits, start, picks, same)
    }

    /// The same by offsets, which do not wrap where they are in bounds.
    fn near_offsets(&mut self, address: &Address, bytes: i64) -> (Opd, Opd, Opd, Opd) {
        let offsets = self.offsets_with_extra(address);
        let first = self.first_frozen("i64", &offsets);
        let start = self.t.value(format_args!("and i64 {first}, {}", !((LANES as i64 - 1) * bytes)));
        let splat = self.t.splat("i64", &start);
        let behind = self.t.value(format_args!("sub <32 x i64> {offsets}, {splat}"));
        // Neither beyond the stretch nor between its elements.
        let others = !((REACH as i64 - 1) * bytes);
        let beyond = self.t.value(format_args!("and <32 x i64> {behind}, splat (i64 {others})"));
        let same = self.all_zero("i64", &beyond);
        let short = self.t.value(format_args!("trunc <32 x i64> {behind} to <32 x i32>"));
        let shift = bytes.ilog2();
        let picks = self.t.value(format_args!("lshr <32 x i32> {short}, splat (i32 {shift})"));
        (Opd::bool(true), start, picks, same)
    }

    /// Whether the active lanes' elements are zero.
    fn all_zero(&mut self, element: &str, vector: &Opd) -> Opd {
        let mut zero = self.t.value(format_args!("icmp eq <32 x {element}> {vector}, zeroinitializer"));
        if let Mask::Some(mask) = self.mask.clone() {
            zero = self.t.select(MASK, &mask, MASK, &zero, &Opd::text("splat (i1 true)"));
        }
        let bits = self.mask_bits(&Mask::Some(zero));
        self.t.icmp("eq", "i32", &bits, &Opd::Int(-1))
    }

    /// Loads the stretch, and gives each lane its element.
    pub(super) fn load_near(&mut self, address: &Address, near: &Near, item: Item) -> Opd {
        let (bits, metadata) = (item.bits(), self.metadata(&address.place));
        // Of 16 bits two registers hold the stretch, of 32 bits four.
        let lanes = 512 / bits as usize;
        let at = self.t.offset(&address.place.base, &near.side.start);
        let registers: Vec<Opd> = (0..REACH / lanes)
            .map(|n| {
                let at = self.t.offset(&at, &Opd::Int(64 * n as i64));
                self.t.value(format_args!("load <{lanes} x i{bits}>, ptr {at}, align 1{metadata}"))
            })
            .collect();
        let raw = match registers.as_slice() {
            [low, high] => {
                let picks = self.t.value(format_args!("trunc <32 x i32> {} to <32 x i16>", near.picks));
                self.pick_of_two("i16", (low, high), &picks)
            }
            registers => self.pick_of_four(registers, &near.picks),
        };
        let memory = item.memory_type();
        let raw = super::cast::reinterpret(&mut self.t, Width::All, &format!("i{bits}"), memory, &raw);
        self.from_memory(Width::All, item, raw)
    }

    fn pick_of_four(&mut self, registers: &[Opd], picks: &Opd) -> Opd {
        const HALF: usize = LANES / 2;
        let parts = (0..2)
            .map(|half| {
                let lanes: Vec<_> = (HALF * half..HALF * (half + 1)).map(Some).collect();
                let picks = self.t.shuffle("i32", LANES, picks, &Opd::text("poison"), &lanes);
                let low = self.pick_of_two("i32", (&registers[0], &registers[1]), &picks);
                let high = self.pick_of_two("i32", (&registers[2], &registers[3]), &picks);
                let first = self.t.value(format_args!("icmp ult <16 x i32> {picks}, splat (i32 {LANES})"));
                self.t.select("<16 x i1>", &first, "<16 x i32>", &low, &high)
            })
            .collect();
        self.t.concat("i32", HALF, parts)
    }

    /// Elements of two registers; picks are taken modulo what those hold.
    pub(super) fn pick_of_two(&mut self, element: &str, (low, high): (&Opd, &Opd), picks: &Opd) -> Opd {
        let (lanes, name) = if element == "i16" { (32, "hi") } else { (16, "d") };
        let ty = format!("<{lanes} x {element}>");
        let function = format!("@llvm.x86.avx512.vpermi2var.{name}.512");
        self.t.declare(format!("declare {ty} {function}({ty}, {ty}, {ty})"));
        self.t.value(format_args!("call {ty} {function}({ty} {low}, {ty} {picks}, {ty} {high})"))
    }
}
