//! Functions that generated code shares, written once per module as they are needed.
//!
//! They are the slow paths: one lane after the other, with a check each. The fast paths are inline.

use std::fmt::Write as _;

/// A shared function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Helper {
    /// Reports a fault.
    Report,
    /// Loads one component lane by lane; the number is the component's bits.
    Load(u32),
    /// Stores one component lane by lane.
    Store(u32),
    /// Loads all lanes without any check: a gather.
    Gather(u32),
    /// Which lanes are in bounds, reporting the first that is not.
    Check,
}

impl Helper {
    /// What it calls.
    pub(super) fn needs(self) -> Option<Self> {
        match self {
            Self::Load(_) | Self::Store(_) | Self::Check => Some(Self::Report),
            Self::Report | Self::Gather(_) => None,
        }
    }

    /// Its definition.
    pub(super) fn text(self) -> String {
        match self {
            Self::Report => REPORT.to_owned(),
            Self::Load(bits) => lane_loop(&Parts {
                result: &format!("<32 x i{bits}>"),
                name: &format!("am.load.{bits}"),
                parameter: "",
                start: &format!(
                    "  %buffer = alloca [32 x i{bits}], align 64\n  store <32 x i{bits}> zeroinitializer, ptr %buffer, align 64\n"
                ),
                good: &format!(
                    "  %item = getelementptr i{bits}, ptr %buffer, i64 %lane64\n  %value = load i{bits}, ptr %place, align 1\n  store i{bits} %value, ptr %item, align 1\n"
                ),
                end: &format!(
                    "  %all = load <32 x i{bits}>, ptr %buffer, align 64\n  ret <32 x i{bits}> %all\n"
                ),
            }),
            Self::Store(bits) => lane_loop(&Parts {
                result: "void",
                name: &format!("am.store.{bits}"),
                parameter: &format!("<32 x i{bits}> %values, "),
                start: &format!(
                    "  %buffer = alloca [32 x i{bits}], align 64\n  store <32 x i{bits}> %values, ptr %buffer, align 64\n"
                ),
                good: &format!(
                    "  %item = getelementptr i{bits}, ptr %buffer, i64 %lane64\n  %value = load i{bits}, ptr %item, align 1\n  store i{bits} %value, ptr %place, align 1\n"
                ),
                end: "  ret void\n",
            }),
            Self::Check => lane_loop(&Parts {
                result: "i32",
                name: "am.check",
                parameter: "",
                start: "  %buffer = alloca i32, align 4\n  store i32 0, ptr %buffer, align 4\n",
                good: "  %old = load i32, ptr %buffer, align 4\n  %bit = shl i32 1, %lane\n  %new = or i32 %old, %bit\n  store i32 %new, ptr %buffer, align 4\n",
                end: "  %all = load i32, ptr %buffer, align 4\n  ret i32 %all\n",
            }),
            Self::Gather(bits) => gather(bits),
        }
    }
}

struct Parts<'a> {
    result: &'a str,
    name: &'a str,
    parameter: &'a str,
    start: &'a str,
    good: &'a str,
    end: &'a str,
}

/// A loop over the lanes of a mask; `good` runs for those in bounds with `%place`, `%lane`,
/// `%lane64`.
fn lane_loop(parts: &Parts<'_>) -> String {
    let Parts { result, name, parameter, start, good, end } = parts;
    format!(
        "define internal {result} @{name}({parameter}<32 x i64> %offsets, ptr %base, i64 %len, i64 %bytes, i64 %extra, \
i32 %mask, ptr %launch, i32 %site, i64 %linear, i32 %first) cold noinline nounwind {{
entry:
  %places = alloca [32 x i64], align 64
  store <32 x i64> %offsets, ptr %places, align 64
{start}  %fits = icmp uge i64 %len, %bytes
  %last = sub i64 %len, %bytes
  br label %loop
loop:
  %left = phi i32 [ %mask, %entry ], [ %next, %more ]
  %told = phi i1 [ false, %entry ], [ %told.next, %more ]
  %empty = icmp eq i32 %left, 0
  br i1 %empty, label %done, label %body
body:
  %lane = call i32 @llvm.cttz.i32(i32 %left, i1 false)
  %less = sub i32 %left, 1
  %next = and i32 %left, %less
  %lane64 = zext i32 %lane to i64
  %slot = getelementptr i64, ptr %places, i64 %lane64
  %offset = load i64, ptr %slot, align 8
  %below = icmp ule i64 %offset, %last
  %ok = and i1 %fits, %below
  br i1 %ok, label %good, label %bad
good:
  %inside = add i64 %offset, %extra
  %place = getelementptr i8, ptr %base, i64 %inside
{good}  br label %more
bad:
  br i1 %told, label %more, label %tell
tell:
  %thread = add i32 %first, %lane
  call void @am.report(ptr %launch, i32 %site, i64 %offset, i64 %len, i64 %linear, i32 %thread)
  br label %more
more:
  %told.next = phi i1 [ %told, %good ], [ true, %bad ], [ true, %tell ]
  br label %loop
done:
{end}}}
"
    )
}

/// Scalar loads and inserts beat the processors' gather instructions.
fn gather(bits: u32) -> String {
    let ty = format!("<32 x i{bits}>");
    let mut text = format!(
        "define internal {ty} @am.gather.{bits}(ptr %base, <32 x i64> %offsets) alwaysinline nounwind {{\n"
    );
    let mut vector = "poison".to_owned();
    for lane in 0..32 {
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "  %o{lane} = extractelement <32 x i64> %offsets, i64 {lane}
  %p{lane} = getelementptr i8, ptr %base, i64 %o{lane}
  %l{lane} = load i{bits}, ptr %p{lane}, align 1
  %v{lane} = insertelement {ty} {vector}, i{bits} %l{lane}, i64 {lane}
"
        );
        vector = format!("%v{lane}");
    }
    let _ = write!(text, "  ret {ty} {vector}\n}}\n");
    text
}

/// Turns the linear index by the real size of the threadgroup into the one by the full size, which
/// the fault function takes.
const REPORT: &str = "define internal void @am.report(ptr %launch, i32 %site, i64 %offset, i64 %len, i64 %linear, i32 %thread) cold noinline nounwind {
entry:
  %grid.p = getelementptr i8, ptr %launch, i64 48
  %grid = load <3 x i32>, ptr %grid.p, align 4
  %groups.p = getelementptr i8, ptr %launch, i64 60
  %groups = load <3 x i32>, ptr %groups.p, align 4
  %full.p = getelementptr i8, ptr %launch, i64 72
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
  call void @anymetal_fault(ptr %launch, i32 %site, i64 %offset, i64 %len, i64 %linear, i32 %index)
  ret void
}
";

/// What the helpers declare.
pub(super) const DECLARATIONS: [&str; 2] =
    ["declare i32 @llvm.cttz.i32(i32, i1)", "declare i32 @llvm.umin.i32(i32, i32)"];
