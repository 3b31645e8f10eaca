//! The module around the versions of a kernel: the entry with its loop over threadgroups, constant
//! data, shared helpers, declarations, metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;

use anymetal_ir::{Kernel, Module, Op, Query};

use super::group::Plan;
use super::matrix::{Matrices, Uses};
use super::out_of_line::{DECLARATIONS, Helper, RECORD_THREAD};
use super::streams::Streams;
use super::{Emitter, GroupValues, Mask, Shared};
use crate::cpu::launch_abi::{
    FAULT_DECLARATION, LAUNCH_GRID_THREADS, LAUNCH_GROUP_SIZE, LAUNCH_GROUPS, LAUNCH_STOP, WORKER_SCRATCH,
    WORKER_THREADGROUP_MEMORY,
};
use crate::cpu::llvm_text::{Opd, Text};
use crate::cpu::math::{Library, caller_attributes};
use crate::cpu::options::{CodegenError, CpuCode, CpuOptions};
use crate::cpu::shape::flow::{Facts, Flow};
use crate::cpu::shape::queries::Geometry;
use crate::cpu::turned::turns;
use crate::cpu::windows::Windows;

/// The most threadgroup memory that static variables may take.
const MAX_THREADGROUP_BYTES: u64 = 1 << 20;

/// Scopes tell LLVM that device buffers, threadgroup memory and frames are different memory.
const METADATA: &str = "!0 = !{!\"branch_weights\", i32 2000, i32 1}
!1 = !{}
!2 = distinct !{!2, !\"memory\"}
!4 = !{!8}
!5 = !{!9}
!6 = !{!10}
!7 = !{!8, !9}
!8 = distinct !{!8, !2, !\"device\"}
!9 = distinct !{!9, !2, !\"threadgroup\"}
!10 = distinct !{!10, !2, !\"frame\"}
!12 = distinct !{!12, !13}
!13 = !{!\"llvm.loop.unroll.disable\"}
!14 = !{i32 1}
";

/// Writes the module. `facts` gives those for a geometry, and the number of the function they are of.
pub(in crate::cpu) fn generate_module<'a>(
    module: &Module,
    kernel: &Kernel,
    options: &CpuOptions,
    facts: impl Fn(Geometry) -> (u32, Facts<'a>),
) -> Result<CpuCode, CodegenError> {
    let mut shared = Shared::new(module, kernel, options)?;
    let versions = versions(module, kernel, options);
    let mut functions = String::new();
    let mut outcomes = Vec::new();
    for (index, &geometry) in versions.iter().enumerate() {
        let (number, facts) = facts(geometry);
        shared.function_number = number;
        let flow = Flow::new(facts);
        shared.scratch_bytes = super::private::scratch_places(&facts.storage.arrays).1;
        functions.push_str(&version(&mut shared, facts, &flow, index));
        outcomes.push((shared.scratch_bytes, shared.frame_bytes));
    }
    let entry = entry_text(options, &versions, shared.fences);
    let scratch_bytes = outcomes.iter().map(|outcome| outcome.0).max().unwrap_or(0);
    let frame_bytes = outcomes.iter().map(|outcome| outcome.1).max().unwrap_or(0);
    Ok(CpuCode {
        llvm_ir: shared.assemble(&entry, &functions),
        symbol: options.symbol.clone(),
        threadgroup_static_bytes: shared.threadgroup_bytes,
        scratch_bytes,
        scratch_bytes_per_simdgroup: frame_bytes,
        fault_sites: shared.sites,
    })
}

/// The versions worth having: one for whole threadgroups of the promised size, one for the rest.
fn versions(module: &Module, kernel: &Kernel, options: &CpuOptions) -> Vec<Geometry> {
    let function = module.function(kernel.function);
    let positions = function.insts.iter().any(|inst| {
        matches!(inst.op, Op::Query(Query::ThreadPositionInGrid(_) | Query::ThreadPositionInThreadgroup(_)))
    });
    match options.group_size {
        Some(size) => {
            let whole = if turns(function, size) { Geometry::Turned(size) } else { Geometry::Full(size) };
            if options.whole_threadgroups_only {
                return vec![whole];
            }
            let rest =
                if size[1] == 1 && size[2] == 1 || !positions { Geometry::Line } else { Geometry::Any };
            vec![whole, rest]
        }
        None if positions => vec![Geometry::Line, Geometry::Any],
        None => vec![Geometry::Line],
    }
}

impl<'a> Shared<'a> {
    fn new(module: &'a Module, kernel: &'a Kernel, options: &'a CpuOptions) -> Result<Self, CodegenError> {
        let mut offsets = Vec::new();
        let mut end: u64 = 0;
        let too_much = |bytes| CodegenError::TooMuchMemory { bytes, limit: MAX_THREADGROUP_BYTES };
        for var in &module.threadgroup_vars {
            let align = u64::from(var.align.max(16)).min(256);
            let start = end.next_multiple_of(align);
            offsets.push(start);
            end = start.checked_add(var.size).ok_or(too_much(u64::MAX))?;
            if end > MAX_THREADGROUP_BYTES {
                return Err(too_much(end));
            }
        }
        Ok(Self {
            module,
            kernel,
            options,
            library: Library::new(),
            sites: Vec::new(),
            site_numbers: BTreeMap::new(),
            function_number: 0,
            helpers: BTreeSet::new(),
            products: BTreeMap::new(),
            panels: Vec::new(),
            declares: BTreeSet::new(),
            fences: false,
            threadgroup_offsets: offsets,
            threadgroup_bytes: end,
            scratch_bytes: 0,
            frame_bytes: 0,
        })
    }

    fn assemble(&mut self, entry: &str, functions: &str) -> String {
        let mut text = String::new();
        for (index, global) in self.module.globals.iter().enumerate() {
            let mut bytes = String::new();
            for byte in &global.bytes {
                // Writing to a String cannot fail.
                let _ = write!(bytes, "\\{byte:02X}");
            }
            let (length, align) = (global.bytes.len(), global.align.max(16));
            let _ = writeln!(
                text,
                "@am.global.{index} = internal unnamed_addr constant [{length} x i8] c\"{bytes}\", align {align}"
            );
        }
        // What loads out of bounds read instead.
        text.push_str("@am.zeros = internal unnamed_addr constant [64 x i8] zeroinitializer, align 64\n");
        text.push_str(entry);
        text.push_str(functions);
        for helper in &self.helpers {
            text.push_str(&helper.text(&self.options.features));
        }
        for product in self.products.values() {
            text.push_str(product);
        }
        text.push_str(&self.library.definitions());
        let mut declares = std::mem::take(&mut self.declares);
        declares.extend(self.library.declares().map(str::to_owned));
        if !self.helpers.is_empty() {
            declares.extend(DECLARATIONS.map(str::to_owned));
        }
        for helper in &self.helpers {
            declares.extend(helper.declarations(&self.options.features).iter().map(|&line| line.to_owned()));
        }
        declares.insert("declare i32 @llvm.umin.i32(i32, i32)".to_owned());
        if self.fences {
            declares.insert("declare void @llvm.x86.sse.sfence()".to_owned());
        }
        if self.helpers.contains(&Helper::Report) {
            declares.insert(FAULT_DECLARATION.to_owned());
        }
        // The same function may be declared with other spellings by the two sources.
        let mut names = BTreeSet::new();
        for declare in declares {
            let name = declare.split('@').nth(1).and_then(|rest| rest.split('(').next()).unwrap_or("");
            if names.insert(name.to_owned()) {
                text.push_str(&declare);
                text.push('\n');
            }
        }
        let estimates = caller_attributes(&self.options.features);
        let _ =
            writeln!(text, "attributes #0 = {{ nounwind uwtable \"frame-pointer\"=\"none\" {estimates}}}");
        text.push_str("attributes #1 = { cold noinline nounwind }\n");
        text.push_str(METADATA);
        text
    }
}

/// One version of the kernel, for one threadgroup.
fn version(shared: &mut Shared<'_>, facts: Facts<'_>, flow: &Flow, index: usize) -> String {
    let mut t = Text::new(index as u32 * 10_000_000);
    let launch = t.register();
    let worker = t.register();
    let linear = t.register();
    let position: [Opd; 3] = std::array::from_fn(|_| t.register());
    let size: [Opd; 3] = std::array::from_fn(|_| t.register());
    let header = format!(
        "define internal void @am.version.{index}(ptr {launch}, ptr {worker}, i64 {linear}, i32 {}, i32 {}, i32 {}, \
i32 {}, i32 {}, i32 {}) #0",
        position[0], position[1], position[2], size[0], size[1], size[2]
    );
    let mut pointer = |field: i64| {
        let at = t.entry_value(format_args!("getelementptr i8, ptr {worker}, i64 {field}"));
        t.entry_value(format_args!("load ptr, ptr {at}, align 8, !invariant.load !1"))
    };
    let (threadgroup_memory, scratch) = (pointer(WORKER_THREADGROUP_MEMORY), pointer(WORKER_SCRATCH));
    let size = match facts.geometry.size() {
        Some(size) => size.map(|size| Opd::Int(i64::from(size))),
        None => size,
    };
    let (exit, first) = (t.block(), t.block());
    let plan = Plan::new(facts, flow);
    let matrices = Matrices::new(Uses::new(facts, flow, &plan));
    let function = facts.function;
    let mut emitter = Emitter {
        facts,
        flow,
        shared,
        t,
        values: vec![None; function.values.len()],
        defined_in: vec![0; function.values.len()],
        turn: 0,
        turns: 0,
        mask: Mask::All,
        group: GroupValues {
            launch,
            threadgroup_memory,
            scratch,
            linear,
            position,
            size,
            threads: Opd::Int(0),
            simdgroups: Opd::Int(0),
        },
        simdgroup: Opd::Int(0),
        first: Opd::Int(0),
        cell_slots: BTreeMap::new(),
        array_slots: BTreeMap::new(),
        bases: BTreeMap::new(),
        limits: BTreeMap::new(),
        capped_limits: BTreeMap::new(),
        pointer_table: None,
        contexts: Vec::new(),
        exit,
        copies_left: 1,
        plan,
        layout: super::frame::Layout::default(),
        stop: None,
        frame: Opd::text("null"),
        region_slot: None,
        bail: None,
        group_labels: Vec::new(),
        tested: Default::default(),
        mask_tests: BTreeMap::new(),
        slow: None,
        matrices,
        bundled: BTreeSet::new(),
        windows: Rc::new(Windows::new(function, flow)),
        open_windows: BTreeSet::new(),
        may_open_windows: true,
        spans: Default::default(),
        together: BTreeMap::new(),
        tile_loops: Vec::new(),
        streams: Streams::new(facts),
        stream_flags: BTreeMap::new(),
        lane_loads: (first, 0),
    };
    emitter.shared.frame_bytes = emitter.lay_out_frame();
    emitter.t.label(first);
    emitter.count_threads();
    if emitter.is_edge() {
        emitter.copies_left = 0;
        emitter.may_open_windows = false;
    }
    emitter.body();
    emitter.t.label(exit);
    emitter.report_faults();
    emitter.t.terminator("ret void");
    emitter.shared.declares.extend(emitter.t.take_declares());
    emitter.t.finish(&header, first)
}

impl Emitter<'_, '_> {
    /// Tells the device of the first fault of the threadgroup, at its end.
    fn report_faults(&mut self) {
        let Some(slow) = self.slow.clone() else { return };
        self.need(Helper::Report);
        let set = self.t.load("i32", &slow.record, 8);
        let fine = self.t.icmp("eq", "i32", &set, &Opd::Int(0));
        let (report, done) = (self.t.block(), self.t.block());
        self.t.branch_likely(&fine, done, report);
        self.t.label(report);
        self.turn_thread_back(&slow.record);
        let (launch, linear) = (self.group.launch.clone(), self.group.linear.clone());
        self.t.line(format_args!("call void @am.report(ptr {launch}, ptr {}, i64 {linear})", slow.record));
        self.t.label(done);
    }

    /// Numbers the thread of a record along x, as everyone else does.
    fn turn_thread_back(&mut self, record: &Opd) {
        let Geometry::Turned([x, y, _]) = self.facts.geometry else { return };
        let at = self.t.offset(record, &Opd::Int(RECORD_THREAD));
        let thread = self.t.load("i32", &at, 4);
        let [plane, inside] =
            ["udiv", "urem"].map(|op| self.t.value(format_args!("{op} i32 {thread}, {}", x * y)));
        let [column, row] = ["udiv", "urem"].map(|op| self.t.value(format_args!("{op} i32 {inside}, {y}")));
        let before = self.t.mul("i32", &plane, &Opd::Int(i64::from(x * y)));
        let before = self.t.add("i32", &before, &column);
        let rows = self.t.mul("i32", &row, &Opd::Int(i64::from(x)));
        let thread = self.t.add("i32", &before, &rows);
        self.t.line(format_args!("store i32 {thread}, ptr {at}, align 4"));
    }

    /// How many threads and SIMD-groups the threadgroup has.
    fn count_threads(&mut self) {
        let [x, y, z] = self.group.size.clone();
        let row = self.t.mul("i32", &x, &y);
        self.group.threads = self.t.mul("i32", &row, &z);
        let threads = self.group.threads.clone();
        self.group.simdgroups = self.divided_up(&threads, 32);
    }
}

/// The entry: a loop over the threadgroups, which picks a version for each.
fn entry_text(options: &CpuOptions, versions: &[Geometry], fences: bool) -> String {
    let symbol = &options.symbol;
    let call = |index: usize| {
        format!(
            "call void @am.version.{index}(ptr %launch, ptr %worker, i64 %g, i32 %x32, i32 %y32, i32 %z32, \
i32 %sx, i32 %sy, i32 %sz)"
        )
    };
    let choice = match versions {
        [Geometry::Full(size) | Geometry::Turned(size), ..] => format!(
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
    };
    let second = match versions {
        [_, _] => call(1),
        [Geometry::Full(_) | Geometry::Turned(_)] => String::new(),
        _ => call(0),
    };
    // Non-temporal stores are ordered with nothing else.
    let fence = if fences { "  call void @llvm.x86.sse.sfence()\n" } else { "" };
    let mut loads = String::new();
    for (name, field) in
        [("grid", LAUNCH_GRID_THREADS), ("groups", LAUNCH_GROUPS), ("full", LAUNCH_GROUP_SIZE)]
    {
        for (axis, letter) in ["x", "y", "z"].into_iter().enumerate() {
            let offset = field + 4 * axis as i64;
            let _ = write!(
                loads,
                "  %{name}.{letter}.p = getelementptr i8, ptr %launch, i64 {offset}
  %{name}.{letter} = load i32, ptr %{name}.{letter}.p, align 4
"
            );
        }
    }
    let mut sizes = String::new();
    for letter in ["x", "y", "z"] {
        let _ = write!(
            sizes,
            "  %start.{letter} = mul i32 %{letter}32, %full.{letter}
  %rest.{letter} = sub i32 %grid.{letter}, %start.{letter}
  %s{letter} = call i32 @llvm.umin.i32(i32 %rest.{letter}, i32 %full.{letter})
"
        );
    }
    format!(
        "define void @{symbol}(ptr %launch, ptr %worker, i64 %begin, i64 %end) #0 {{
entry:
{loads}  %stop.field = getelementptr i8, ptr %launch, i64 {LAUNCH_STOP}
  %stop.p = load ptr, ptr %stop.field, align 8
  %nx = zext i32 %groups.x to i64
  %ny = zext i32 %groups.y to i64
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
  %stop = load volatile i32, ptr %stop.p, align 4
  %halt = icmp ne i32 %stop, 0
  br i1 %halt, label %exit, label %go, !prof !11
go:
{sizes}{choice}  br i1 %first.version, label %one, label %two
one:
  {}
  br label %next
two:
  {second}
  br label %next
next:
  %g.next = add nuw i64 %g, 1
  %x.more = add i32 %x32, 1
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
",
        call(0)
    )
}
