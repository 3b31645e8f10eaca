//! Functions that generated code shares, written once per module as they are needed.
//!
//! They are the slow paths: one lane after the other, with a check each. The fast paths are inline.
//! Slow paths are in hot loops, and a call there costs the registers around it: so noting a fault is
//! inline, and the version reports it at its end. The lane loops take vectors through memory.
//! (`no_caller_saved_registers` was tried on them: LLVM 22 then lost values around the calls.)

use std::fmt::Write as _;

use anymetal_abi::FAULT_SYMBOL;
use anymetal_abi::offsets::{LAUNCH_GRID_THREADS, LAUNCH_GROUP_SIZE, LAUNCH_GROUPS};

use super::cold_gather::{self, cold_gather};
use super::indexed_gather::{gather_indexed, scatter_indexed};
use super::loaded_pointers;
use super::unit_rows::{load_units, store_units};
use crate::llvm::LANES;
use anymetal_simd::target::CpuFeatures;

/// A shared function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Helper {
    /// Notes a fault in the threadgroup's record, if it is the first.
    Note,
    /// Reports a record to the device.
    Report,
    /// Loads one component lane by lane; the number is the component's bits.
    Load(u32),
    /// Stores one component lane by lane.
    Store(u32),
    /// Loads all lanes without any check: a gather.
    Gather(u32),
    /// The same where it seldom happens, with a check: a call, which saves much code.
    ColdGather(u32),
    /// Loads a scalar that takes several units of a private array: bits of a unit, bits of the scalar.
    LoadUnits(u32, u32),
    /// Stores such a scalar.
    StoreUnits(u32, u32),
    /// Loads all lanes by indices of 32 bits: bits, the index's scale, whether it is signed.
    GatherIndexed(u32, i64, bool),
    /// Stores lanes by such indices.
    ScatterIndexed(u32, i64, bool),
    /// Notes the lanes that are out of bounds.
    Check,
    /// Writes out offsets in equal steps.
    Places,
    /// Loads a matrix element by element; the number is an element's bits.
    LoadRows(u32),
    /// Stores a matrix element by element.
    StoreRows(u32),
    /// Copies a matrix of `float`s.
    CopyRows,
    /// The tagged pointer of eight bytes from memory.
    Pointer,
    /// The same in each lane.
    Pointers,
    /// The eight bytes in a buffer of a tagged pointer.
    Address,
    /// The same in each lane.
    Addresses,
}

impl Helper {
    /// What it calls.
    pub(super) fn needs(self) -> Option<Self> {
        match self {
            Self::Load(_) | Self::Store(_) | Self::Check | Self::LoadRows(_) | Self::StoreRows(_) => {
                Some(Self::Note)
            }
            Self::ColdGather(bits) => Some(Self::Gather(bits)),
            Self::Pointers => Some(Self::Pointer),
            Self::Addresses => Some(Self::Address),
            Self::GatherIndexed(..)
            | Self::ScatterIndexed(..)
            | Self::Note
            | Self::Report
            | Self::Gather(_)
            | Self::LoadUnits(..)
            | Self::StoreUnits(..)
            | Self::Places
            | Self::Pointer
            | Self::Address
            | Self::CopyRows => None,
        }
    }

    /// The name of a function that takes indices.
    pub(super) fn indexed_name(self) -> String {
        match self {
            Self::GatherIndexed(bits, scale, is_signed) => format!("am.gather.{bits}.by.{scale}.{is_signed}"),
            Self::ScatterIndexed(bits, scale, is_signed) => {
                format!("am.scatter.{bits}.by.{scale}.{is_signed}")
            }
            other => unreachable!("{other:?} takes no indices"),
        }
    }

    /// Declarations of intrinsics that it calls, beside [`DECLARATIONS`].
    pub(super) fn declarations(self, features: &CpuFeatures) -> &'static [&'static str] {
        match self {
            Self::ColdGather(bits) => cold_gather::declarations(bits, features),
            _ => &[],
        }
    }

    /// Its definition.
    pub(super) fn text(self, features: &CpuFeatures) -> String {
        match self {
            Self::Note => NOTE.to_owned(),
            Self::Report => report(),
            Self::Load(bits) => lane_loop(
                &format!("am.load.{bits}"),
                &format!(
                    "  %item = getelementptr i{bits}, ptr %buffer, i64 %lane64\n  %value = load i{bits}, ptr %place, align 1\n  store i{bits} %value, ptr %item, align 1\n"
                ),
            ),
            Self::Store(bits) => lane_loop(
                &format!("am.store.{bits}"),
                &format!(
                    "  %item = getelementptr i{bits}, ptr %buffer, i64 %lane64\n  %value = load i{bits}, ptr %item, align 1\n  store i{bits} %value, ptr %place, align 1\n"
                ),
            ),
            Self::Check => lane_loop("am.check", ""),
            Self::Gather(bits @ (32 | 64)) if features.fast_gather => fast_gather(bits),
            Self::Gather(bits) => gather(bits),
            Self::ColdGather(bits) => cold_gather(bits, features),
            Self::LoadUnits(unit, bits) => load_units(unit, bits),
            Self::StoreUnits(unit, bits) => store_units(unit, bits),
            Self::GatherIndexed(bits, scale, is_signed) => {
                gather_indexed(&self.indexed_name(), bits, scale, is_signed)
            }
            Self::ScatterIndexed(bits, scale, is_signed) => {
                scatter_indexed(&self.indexed_name(), bits, scale, is_signed)
            }
            Self::Places => PLACES.to_owned(),
            Self::LoadRows(bits) => rows_loop(bits, true),
            Self::StoreRows(bits) => rows_loop(bits, false),
            Self::CopyRows => COPY_ROWS.to_owned(),
            Self::Pointer => loaded_pointers::pointer(),
            Self::Pointers => loaded_pointers::pointers(),
            Self::Address => loaded_pointers::address(),
            Self::Addresses => loaded_pointers::addresses(),
        }
    }
}

/// A loop over the lanes of a mask; `good` runs for those in bounds with `%place` and `%lane64`, the
/// others are noted in the record. Bounds are `-before` and `len`.
fn lane_loop(name: &str, good: &str) -> String {
    format!(
        "define internal void @{name}(ptr %buffer, ptr %places, ptr %base, i64 %len, i64 %before, i64 %bytes, \
i64 %extra, i32 %mask, ptr %record, i32 %site, i32 %first) #1 {{
entry:
  %all = add i64 %len, %before
  %fits = icmp uge i64 %all, %bytes
  %last = sub i64 %all, %bytes
  br label %loop
loop: ; lanes <= 32
  %left = phi i32 [ %mask, %entry ], [ %next, %more ]
  %empty = icmp eq i32 %left, 0
  br i1 %empty, label %done, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %less = sub i32 %left, 1
  %next = and i32 %left, %less
  %lane64 = zext i32 %lane to i64
  %slot = getelementptr i64, ptr %places, i64 %lane64
  %offset = load i64, ptr %slot, align 8
  %from.first = add i64 %offset, %before
  %below = icmp ule i64 %from.first, %last
  %ok = and i1 %fits, %below
  br i1 %ok, label %good, label %bad
good:
  %inside = add i64 %offset, %extra
  %place = getelementptr i8, ptr %base, i64 %inside
{good}  br label %more
bad:
  %thread = add i32 %first, %lane
  call void @am.note(ptr %record, i32 %site, i64 %offset, i64 %len, i32 %thread, ptr %base)
  br label %more
more:
  br label %loop
done:
  ret void
}}
"
    )
}

/// A loop over the 64 elements of a matrix in Metal's layout, first the lanes' first ones: `down` and
/// `right` are the bytes from row to row and column to column, in memory and in the buffer. Elements of
/// lanes that are off load as zeros.
fn rows_loop(bits: u32, is_load: bool) -> String {
    assert!(matches!(bits, 16 | 32), "matrix elements do not have {bits} bits");
    let (name, good, clear) = match is_load {
        true => (
            "load",
            format!(
                "  %value = load i{bits}, ptr %place, align 1\n  store i{bits} %value, ptr %item, align 1\n"
            ),
            format!("  store i{bits} 0, ptr %item, align 1\n"),
        ),
        false => (
            "store",
            format!(
                "  %value = load i{bits}, ptr %item, align 1\n  store i{bits} %value, ptr %place, align 1\n"
            ),
            String::new(),
        ),
    };
    let size = bits / 8;
    format!(
        "define internal void @am.rows.{name}.{bits}(ptr %buffer, i64 %own.down, i64 %own.right, ptr %base, \
i64 %len, i64 %before, i64 %start, i64 %down, i64 %right, i32 %mask, ptr %record, i32 %site.0, i32 %site.1, \
i32 %first) #1 {{
entry:
  %all = add i64 %len, %before
  %fits = icmp uge i64 %all, {size}
  %last = sub i64 %all, {size}
  br label %loop
loop: ; lanes <= 64
  %element = phi i32 [ 0, %entry ], [ %next, %more ]
  %lane = and i32 %element, 31
  %second = lshr i32 %element, 5
  %row.high = lshr i32 %lane, 2
  %row.4 = and i32 %row.high, 4
  %row.low = lshr i32 %lane, 1
  %row.3 = and i32 %row.low, 3
  %row32 = or i32 %row.4, %row.3
  %column.high = lshr i32 %lane, 1
  %column.4 = and i32 %column.high, 4
  %column.1 = and i32 %lane, 1
  %column.2 = shl i32 %column.1, 1
  %column.6 = or i32 %column.4, %column.2
  %column32 = or i32 %column.6, %second
  %row = zext i32 %row32 to i64
  %column = zext i32 %column32 to i64
  %own.y = mul i64 %row, %own.down
  %own.x = mul i64 %column, %own.right
  %own = add i64 %own.y, %own.x
  %item = getelementptr i8, ptr %buffer, i64 %own
{clear}  %bit = lshr i32 %mask, %lane
  %bit.1 = and i32 %bit, 1
  %on = icmp ne i32 %bit.1, 0
  br i1 %on, label %check, label %more
check:
  %y = mul i64 %row, %down
  %x = mul i64 %column, %right
  %inside = add i64 %y, %x
  %offset = add i64 %start, %inside
  %from.first = add i64 %offset, %before
  %below = icmp ule i64 %from.first, %last
  %ok = and i1 %fits, %below
  br i1 %ok, label %good, label %bad
good:
  %place = getelementptr i8, ptr %base, i64 %offset
{good}  br label %more
bad:
  %is.second = icmp ne i32 %second, 0
  %site = select i1 %is.second, i32 %site.1, i32 %site.0
  %thread = add i32 %first, %lane
  call void @am.note(ptr %record, i32 %site, i64 %offset, i64 %len, i32 %thread, ptr %base)
  br label %more
more:
  %next = add i32 %element, 1
  %again = icmp ult i32 %next, 64
  br i1 %again, label %loop, label %done
done:
  ret void
}}
"
    )
}

/// Where the processor's own gather is the fastest.
fn fast_gather(bits: u32) -> String {
    assert!(matches!(bits, 32 | 64), "gather instructions do not support {bits}-bit elements");
    let ty = format!("<32 x i{bits}>");
    format!(
        "declare {ty} @llvm.masked.gather.v32i{bits}.v32p0(<32 x ptr>, i32, <32 x i1>, {ty})
define internal {ty} @am.gather.{bits}(ptr %base, <32 x i64> %offsets) alwaysinline nounwind {{
  %places = getelementptr i8, ptr %base, <32 x i64> %offsets
  %all = call {ty} @llvm.masked.gather.v32i{bits}.v32p0(<32 x ptr> %places, i32 1, <32 x i1> splat (i1 true), {ty} poison)
  ret {ty} %all
}}
"
    )
}

/// Elsewhere loads and inserts lane by lane beat the processors' gather instructions.
fn gather(bits: u32) -> String {
    let offset = |lane| format!("  %o{lane} = extractelement <32 x i64> %offsets, i64 {lane}\n");
    gather_by_lanes(&format!("am.gather.{bits}"), bits, "<32 x i64> %offsets", offset)
}

/// Loads and inserts lane by lane; `offset` gives the lines that compute a lane's `%o` from the places.
pub(super) fn gather_by_lanes(
    name: &str,
    bits: u32,
    places: &str,
    offset: impl Fn(usize) -> String,
) -> String {
    assert!(matches!(bits, 8 | 16 | 32 | 64), "elements do not have {bits} bits");
    let ty = format!("<32 x i{bits}>");
    let mut text = format!("define internal {ty} @{name}(ptr %base, {places}) alwaysinline nounwind {{\n");
    let mut vector = "poison".to_owned();
    for lane in 0..LANES {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "{}  %p{lane} = getelementptr i8, ptr %base, i64 %o{lane}
  %l{lane} = load i{bits}, ptr %p{lane}, align 1
  %v{lane} = insertelement {ty} {vector}, i{bits} %l{lane}, i64 {lane}
",
            offset(lane)
        );
        vector = format!("%v{lane}");
    }
    let _ = write!(text, "  ret {ty} {vector}\n}}\n");
    text
}

/// The record: set, site, offset, length, thread, base.
const NOTE: &str =
    "define internal void @am.note(ptr %record, i32 %site, i64 %offset, i64 %len, i32 %thread, ptr %base) alwaysinline nounwind {
entry:
  %set = load i32, ptr %record, align 8
  %first = icmp eq i32 %set, 0
  br i1 %first, label %write, label %done
write:
  store i32 1, ptr %record, align 8
  %site.p = getelementptr i8, ptr %record, i64 4
  store i32 %site, ptr %site.p, align 4
  %offset.p = getelementptr i8, ptr %record, i64 8
  store i64 %offset, ptr %offset.p, align 8
  %len.p = getelementptr i8, ptr %record, i64 16
  store i64 %len, ptr %len.p, align 8
  %thread.p = getelementptr i8, ptr %record, i64 24
  store i32 %thread, ptr %thread.p, align 8
  %base.p = getelementptr i8, ptr %record, i64 32
  store ptr %base, ptr %base.p, align 8
  br label %done
done:
  ret void
}
";

const COPY_ROWS: &str =
    "define internal void @am.rows.copy(ptr %to, i64 %to.step, ptr %from, i64 %from.step) #1 {
entry:
  br label %loop
loop: ; lanes <= 8
  %row = phi i64 [ 0, %entry ], [ %next, %loop ]
  %to.bytes = mul i64 %row, %to.step
  %to.row = getelementptr i8, ptr %to, i64 %to.bytes
  %from.bytes = mul i64 %row, %from.step
  %from.row = getelementptr i8, ptr %from, i64 %from.bytes
  %values = load <8 x float>, ptr %from.row, align 1
  store <8 x float> %values, ptr %to.row, align 1
  %next = add i64 %row, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
";

const PLACES: &str = "define internal void @am.places(ptr %places, i64 %start, i64 %step) #1 {
entry:
  br label %loop
loop: ; lanes <= 32
  %lane = phi i64 [ 0, %entry ], [ %next, %loop ]
  %offset = phi i64 [ %start, %entry ], [ %further, %loop ]
  %slot = getelementptr i64, ptr %places, i64 %lane
  store i64 %offset, ptr %slot, align 8
  %next = add i64 %lane, 1
  %further = add i64 %offset, %step
  %more = icmp ult i64 %next, 32
  br i1 %more, label %loop, label %done
done:
  ret void
}
";

/// Bytes of a record.
pub(super) const RECORD_BYTES: u32 = 40;
/// Where the thread stands in it.
pub(super) const RECORD_THREAD: i64 = 24;

/// Turns the linear index by the real size of the threadgroup into the one by the full size, which
/// the fault function takes.
fn report() -> String {
    format!(
        "define internal void @am.report(ptr %launch, ptr %record, i64 %linear) cold noinline nounwind {{
entry:
  %site.p = getelementptr i8, ptr %record, i64 4
  %site = load i32, ptr %site.p, align 4
  %offset.p = getelementptr i8, ptr %record, i64 8
  %offset = load i64, ptr %offset.p, align 8
  %len.p = getelementptr i8, ptr %record, i64 16
  %len = load i64, ptr %len.p, align 8
  %thread.p = getelementptr i8, ptr %record, i64 24
  %thread = load i32, ptr %thread.p, align 8
  %base.p = getelementptr i8, ptr %record, i64 32
  %base = load i64, ptr %base.p, align 8
  %grid.p = getelementptr i8, ptr %launch, i64 {LAUNCH_GRID_THREADS}
  %grid = load <3 x i32>, ptr %grid.p, align 4
  %groups.p = getelementptr i8, ptr %launch, i64 {LAUNCH_GROUPS}
  %groups = load <3 x i32>, ptr %groups.p, align 4
  %full.p = getelementptr i8, ptr %launch, i64 {LAUNCH_GROUP_SIZE}
  %full = load <3 x i32>, ptr %full.p, align 4
  %nx = extractelement <3 x i32> %groups, i64 0
  %ny = extractelement <3 x i32> %groups, i64 1
  %nx64 = zext i32 %nx to i64
  %ny64 = zext i32 %ny to i64
  %gx = urem i64 %linear, %nx64
  %rest = udiv i64 %linear, %nx64
  %gy = urem i64 %rest, %ny64
  %gx32 = trunc i64 %gx to i32
  %gy32 = trunc i64 %gy to i32
  %fx = extractelement <3 x i32> %full, i64 0
  %fy = extractelement <3 x i32> %full, i64 1
  %x.start = mul i32 %gx32, %fx
  %y.start = mul i32 %gy32, %fy
  %grid.x = extractelement <3 x i32> %grid, i64 0
  %grid.y = extractelement <3 x i32> %grid, i64 1
  %x.rest = sub i32 %grid.x, %x.start
  %y.rest = sub i32 %grid.y, %y.start
  %sx = call i32 @llvm.umin.i32(i32 %x.rest, i32 %fx)
  %sy = call i32 @llvm.umin.i32(i32 %y.rest, i32 %fy)
  %tx = urem i32 %thread, %sx
  %row = udiv i32 %thread, %sx
  %ty = urem i32 %row, %sy
  %tz = udiv i32 %row, %sy
  %plane = mul i32 %tz, %fy
  %rows = add i32 %plane, %ty
  %before = mul i32 %rows, %fx
  %index = add i32 %before, %tx
  call void @{FAULT_SYMBOL}(ptr %launch, i32 %site, i64 %offset, i64 %len, i64 %linear, i32 %index, i64 %base)
  ret void
}}
"
    )
}

/// What the helpers declare.
pub(super) const DECLARATIONS: [&str; 2] =
    ["declare i32 @llvm.cttz.i32(i32, i1)", "declare i32 @llvm.umin.i32(i32, i32)"];
