//! Loops over threadgroups: the entry splits the device's range into runs, a version executes the
//! threadgroups of one run, one after the other.
//!
//! A run is what one version can do without asking for the size of each threadgroup: the whole range where
//! the threadgroups divide the grid, otherwise the full ones of a row. What does not change from one
//! threadgroup to the next (limits of buffers, constants, the frame) is then set up once per run.
//!
//! Invariant: the stop flag is read before each threadgroup: of a run's first one by the entry, of the others
//! where the one before ends, so that all of a version's loop is known to execute, and what does not change
//! may leave it.

use std::fmt::Write as _;

use anymetal_abi::offsets::{LAUNCH_GRID_THREADS, LAUNCH_GROUP_SIZE, LAUNCH_GROUPS, LAUNCH_STOP};

use super::Emitter;
use crate::cpu::options::CpuOptions;
use crate::llvm::{Binary, BlockName, Builder, I32, I64, IntPredicate, Opd};
use anymetal_analysis::divergence::Geometry;

/// The loop of a version over a run. Its blocks are, in this order: `head`, the body, `exit`.
pub(super) struct GroupLoop {
    /// The run: the first threadgroup's number, the last one's plus one, the first one's position.
    begin: Opd,
    end: Opd,
    start: [Opd; 3],
    /// The threadgroup at hand.
    pub(super) linear: Opd,
    pub(super) position: [Opd; 3],
    /// The threadgroup after it.
    next_linear: Opd,
    next_position: [Opd; 3],
    /// Where a threadgroup begins.
    pub(super) head: BlockName,
    /// Where its body goes when done.
    pub(super) exit: BlockName,
    /// The end of what follows `exit`, which goes back to `head`.
    latch: BlockName,
    done: BlockName,
}

impl GroupLoop {
    /// Names everything.
    pub(super) fn new(t: &mut Builder) -> Self {
        let three = |t: &mut Builder| std::array::from_fn(|_| t.register(I32));
        Self {
            begin: t.register(I64),
            end: t.register(I64),
            start: three(t),
            linear: t.register(I64),
            position: three(t),
            next_linear: t.register(I64),
            next_position: three(t),
            head: t.block(),
            exit: t.block(),
            latch: t.block(),
            done: t.block(),
        }
    }

    /// The version's parameters for the run.
    pub(super) fn parameters(&self) -> String {
        let [x, y, z] = &self.start;
        format!("i64 {}, i64 {}, i32 {x}, i32 {y}, i32 {z}", self.begin, self.end)
    }
}

impl Emitter<'_, '_> {
    /// Begins a threadgroup.
    pub(super) fn begin_group(&mut self, groups: &GroupLoop) {
        self.t.label(groups.head);
        let mut phi = |of: &Opd, first: &Opd, next: &Opd| {
            self.t.define(of, |t| t.phi_after_entry(first, (next, groups.latch)));
        };
        phi(&groups.linear, &groups.begin, &groups.next_linear);
        for axis in 0..3 {
            phi(&groups.position[axis], &groups.start[axis], &groups.next_position[axis]);
        }
        self.t.mark_start();
    }

    /// Goes on to the next threadgroup of the run, which follows along x, then y, then z, unless the device
    /// wants the kernel to stop.
    pub(super) fn next_group(&mut self, groups: &GroupLoop) {
        let counts = [0, 1].map(|axis| self.launch_field(LAUNCH_GROUPS, axis));
        self.t.label(groups.latch);
        let stop = self.stop_flag();
        let t = &mut self.t;
        t.define(&groups.next_linear, |t| t.binary_with(Binary::Add, "nuw ", &groups.linear, 1));
        let mut carry = Opd::i32(1);
        for axis in 0..2 {
            let more = t.add(&groups.position[axis], &carry);
            let ends = t.icmp(IntPredicate::Eq, &more, &counts[axis]);
            t.define(&groups.next_position[axis], |t| t.select_always(&ends, &Opd::i32(0), &more));
            carry = t.zext(&ends, I32);
        }
        t.define(&groups.next_position[2], |t| t.binary(Binary::Add, &groups.position[2], &carry));
        let more = t.icmp(IntPredicate::ULt, &groups.next_linear, &groups.end);
        let go_on = t.icmp(IntPredicate::Eq, &stop, 0);
        let again = t.and(&more, &go_on);
        t.branch_if(&again, groups.head, groups.done);
        t.label(groups.done);
        t.ret_void();
    }
}

/// The entry: splits its range of threadgroups into runs and picks a version for each.
pub(super) fn entry_text(options: &CpuOptions, versions: &[Geometry], fences: bool) -> String {
    assert!((1..=2).contains(&versions.len()), "the entry chooses between two versions at most");
    let symbol = &options.symbol;
    // Non-temporal stores are ordered with nothing else.
    let fence = if fences { "  call void @llvm.x86.sse.sfence()\n" } else { "" };
    let loads = launch_loads();
    let (sizes, choice, [one, two]) = (sizes(), choice(versions), calls(versions));
    format!(
        "define void @{symbol}(ptr %launch, ptr %worker, i64 %begin, i64 %end) #0 {{
entry:
{loads}  %nx = zext i32 %groups.x to i64
  %ny = zext i32 %groups.y to i64
  %even.xy = and i1 %even.x, %even.y
  %even = and i1 %even.xy, %even.z
  %ragged.x = xor i1 %even.x, true
  %ragged = zext i1 %ragged.x to i32
  %stop.field = getelementptr i8, ptr %launch, i64 {LAUNCH_STOP}
  %stop.p = load ptr, ptr %stop.field, align 8
  %row.full = sub i32 %groups.x, %ragged
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %first, label %exit
first:
  %x.64 = urem i64 %begin, %nx
  %row = udiv i64 %begin, %nx
  %y.64 = urem i64 %row, %ny
  %z.64 = udiv i64 %row, %ny
  %x.first = trunc i64 %x.64 to i32
  %y.first = trunc i64 %y.64 to i32
  %z.first = trunc i64 %z.64 to i32
  br label %loop
loop:
  %g = phi i64 [ %begin, %first ], [ %g.next, %next ]
  %x32 = phi i32 [ %x.first, %first ], [ %x.next, %next ]
  %y32 = phi i32 [ %y.first, %first ], [ %y.next, %next ]
  %z32 = phi i32 [ %z.first, %first ], [ %z.next, %next ]
  %stop = load volatile i32, ptr %stop.p, align 4 ; poll
  %halt = icmp ne i32 %stop, 0
  br i1 %halt, label %exit, label %go, !prof !11
go:
{sizes}  %left = sub i64 %end, %g
  %row.left = sub i32 %row.full, %x32
  %row.some = call i32 @llvm.umax.i32(i32 %row.left, i32 1)
  %row.run = zext i32 %row.some to i64
  %row.fits = call i64 @llvm.umin.i64(i64 %row.run, i64 %left)
  %run = select i1 %even, i64 %left, i64 %row.fits
  %g.next = add nuw i64 %g, %run
{choice}  br i1 %first.version, label %one, label %two
one:
  {one}
  br label %next
two:
  {two}
  br label %next
next:
  %run.32 = trunc i64 %run to i32
  %x.more = add i32 %x32, %run.32
  %x.ends = icmp eq i32 %x.more, %groups.x
  %x.next = select i1 %x.ends, i32 0, i32 %x.more
  %x.carry = zext i1 %x.ends to i32
  %y.more = add i32 %y32, %x.carry
  %y.ends = icmp eq i32 %y.more, %groups.y
  %y.next = select i1 %y.ends, i32 0, i32 %y.more
  %y.carry = zext i1 %y.ends to i32
  %z.next = add i32 %z32, %y.carry
  %more = icmp ult i64 %g.next, %end
  br i1 %more, label %loop, label %exit
exit:
{fence}  ret void
}}
!11 = !{{!\"branch_weights\", i32 1, i32 2000}}
"
    )
}

/// The grid's sizes, in threads and threadgroups, and whether the threadgroups divide it along each axis.
fn launch_loads() -> String {
    let mut text = String::new();
    for (name, field) in
        [("grid", LAUNCH_GRID_THREADS), ("groups", LAUNCH_GROUPS), ("full", LAUNCH_GROUP_SIZE)]
    {
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            let offset = field + 4 * axis as i64;
            // Writing to a String cannot fail.
            let _ = write!(
                text,
                "  %{name}.{letter}.p = getelementptr i8, ptr %launch, i64 {offset}
  %{name}.{letter} = load i32, ptr %{name}.{letter}.p, align 4
"
            );
        }
    }
    for letter in ["x", "y", "z"] {
        let _ = write!(
            text,
            "  %covered.{letter} = mul i32 %groups.{letter}, %full.{letter}
  %even.{letter} = icmp eq i32 %covered.{letter}, %grid.{letter}
"
        );
    }
    text
}

/// The size of the threadgroup at hand: less than the full one at the grid's edges.
fn sizes() -> String {
    let mut text = String::new();
    for letter in ["x", "y", "z"] {
        let _ = write!(
            text,
            "  %start.{letter} = mul i32 %{letter}32, %full.{letter}
  %rest.{letter} = sub i32 %grid.{letter}, %start.{letter}
  %s{letter} = call i32 @llvm.umin.i32(i32 %rest.{letter}, i32 %full.{letter})
"
        );
    }
    text
}

/// Whether the first version is for threadgroups of the size at hand.
fn choice(versions: &[Geometry]) -> String {
    match versions {
        [Geometry::Full(size) | Geometry::YMajor(size), ..] => format!(
            "  %fits.x = icmp eq i32 %sx, {}
  %fits.y = icmp eq i32 %sy, {}
  %fits.z = icmp eq i32 %sz, {}
  %fits.xy = and i1 %fits.x, %fits.y
  %first.version = and i1 %fits.xy, %fits.z
",
            size[0], size[1], size[2]
        ),
        [_, _] => "  %fits.y = icmp eq i32 %sy, 1
  %fits.z = icmp eq i32 %sz, 1
  %first.version = and i1 %fits.y, %fits.z
"
        .to_owned(),
        _ => "  %first.version = icmp eq i32 0, 0\n".to_owned(),
    }
}

/// The calls for the two outcomes of the choice.
fn calls(versions: &[Geometry]) -> [String; 2] {
    let call = |index: usize| {
        format!(
            "call void @am.version.{index}(ptr %launch, ptr %worker, i64 %g, i64 %g.next, i32 %x32, i32 %y32, \
i32 %z32, i32 %sx, i32 %sy, i32 %sz)"
        )
    };
    let second = match versions {
        [_, _] => call(1),
        [Geometry::Full(_) | Geometry::YMajor(_)] => String::new(),
        _ => call(0),
    };
    [call(0), second]
}

/// What the entry calls.
pub(super) const ENTRY_DECLARATIONS: [&str; 3] = [
    "declare i32 @llvm.umin.i32(i32, i32)",
    "declare i32 @llvm.umax.i32(i32, i32)",
    "declare i64 @llvm.umin.i64(i64, i64)",
];
