//! The module around the versions of a kernel: the functions of the versions, constant data, shared helpers,
//! declarations, metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anymetal_abi::FAULT_SYMBOL;
use anymetal_abi::offsets::{WORKER_SCRATCH, WORKER_SIMDGROUP, WORKER_THREADGROUP_MEMORY};
use anymetal_analysis::{StoreSummaries, function_loads_pointers, waits_for_threads};
use anymetal_ir::{Kernel, Module};
use anymetal_opt::Feature;

use super::allocation::{ZEROS, ZEROS_BYTES};
use super::group_loop::{ENTRY_DECLARATIONS, GroupLoop, entry_text};
use super::matrix::Matrices;
use super::out_of_line::{DECLARATIONS, Helper, RECORD_THREAD};
use super::polls::SubroutinePolls;
use super::remarks::Remarks;
use super::{
    Emitter, EntryRegisters, GroupValues, Known, Mask, Position, Shared, StencilState, Subroutines, Values,
    subroutine,
};
use crate::cpu::inline_budget::limit_inlining;
use crate::cpu::math::{Library, caller_attributes};
use crate::cpu::options::{CodegenError, CpuCode, CpuOptions};
use crate::cpu::threadgroup::ThreadgroupVariables;
use crate::cpu::{Analyses, plan_options, versions};
use crate::llvm::{Binary, Builder, I32, I64, IntPredicate, MemFlags, Opd, PTR};
use anymetal_analysis::polls::Work;
use anymetal_simd::plan::Plan;

use crate::polls;
use anymetal_analysis::divergence::Geometry;

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

/// Writes the module.
pub(in crate::cpu) fn generate_module(
    module: &Module,
    kernel: &Kernel,
    options: &CpuOptions,
    subroutines: &Subroutines<'_>,
    analyses: &Analyses<'_>,
) -> Result<CpuCode, CodegenError> {
    let mut shared = Shared {
        passings: subroutines.passings(),
        polls: SubroutinePolls::of(module, subroutines, &options.features),
        independent_simdgroups: waits_for_threads(module, kernel.function),
        ..Shared::new(module, kernel, options)?
    };
    let versions = versions(module, kernel, options);
    let mut functions = String::new();
    let mut outcomes = Vec::new();
    for (index, &geometry) in versions.iter().enumerate() {
        let (number, facts) = analyses.of(geometry);
        shared.function_number = number;
        let plan = Plan::new(facts, plan_options(module, kernel, options, &shared.polls.calls()));
        shared.scratch_bytes = super::private::scratch_places(&facts.storage.arrays).1;
        functions.push_str(&version(&mut shared, &plan, index));
        outcomes.push((shared.scratch_bytes, shared.frame_bytes));
    }
    functions.push_str(&subroutine::texts(&mut shared, subroutines));
    if shared.is_cut {
        return Err(CodegenError::TooMuchText { limit: options.max_text_bytes });
    }
    let entry = entry_text(options, &versions, shared.fences);
    let most = |bytes: fn(&(u64, u64)) -> u64| outcomes.iter().map(bytes).max().unwrap_or(0);
    let (scratch_bytes, scratch_bytes_per_simdgroup) = match shared.independent_simdgroups {
        true => (0, most(|(scratch, frame)| scratch + frame)),
        false => (most(|outcome| outcome.0), most(|outcome| outcome.1)),
    };
    let llvm_ir = limit_inlining(shared.assemble(&entry, &functions));
    polls::verify(&llvm_ir);
    Ok(CpuCode {
        loads_pointers: shared.helpers.contains(&Helper::Pointer),
        llvm_ir,
        symbol: options.symbol.clone(),
        threadgroup_static_bytes: shared.threadgroup.bytes,
        scratch_bytes,
        scratch_bytes_per_simdgroup,
        independent_simdgroups: shared.independent_simdgroups,
        fault_sites: shared.sites,
        remarks: shared.remarks.map(Remarks::finish).unwrap_or_default(),
    })
}

impl<'a> Shared<'a> {
    fn new(module: &'a Module, kernel: &'a Kernel, options: &'a CpuOptions) -> Result<Self, CodegenError> {
        let threadgroup = ThreadgroupVariables::new(module)?;
        Ok(Self {
            module,
            kernel,
            options,
            library: Library::new(),
            sites: Vec::new(),
            site_numbers: BTreeMap::new(),
            function_number: 0,
            helpers: BTreeSet::new(),
            passings: BTreeMap::new(),
            polls: SubroutinePolls::default(),
            stores: StoreSummaries::default(),
            matrix_kernels: Default::default(),
            declares: BTreeSet::new(),
            fences: false,
            threadgroup,
            scratch_bytes: 0,
            frame_bytes: 0,
            remarks: options.remarks.then(Default::default),
            independent_simdgroups: false,
            is_cut: false,
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
        text.push_str(&format!(
            "{ZEROS} = internal unnamed_addr constant [{ZEROS_BYTES} x i8] zeroinitializer, align 64\n"
        ));
        text.push_str(entry);
        text.push_str(functions);
        for helper in &self.helpers {
            text.push_str(&helper.text(&self.options.features));
        }
        for product in self.matrix_kernels.products.values() {
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
        declares.extend(ENTRY_DECLARATIONS.map(str::to_owned));
        if self.fences {
            declares.insert("declare void @llvm.x86.sse.sfence()".to_owned());
        }
        if self.helpers.contains(&Helper::Report) {
            // The parameters of `anymetal_abi::FaultFunction`.
            declares.insert(format!("declare void @{FAULT_SYMBOL}(ptr, i32, i64, i64, i64, i32, i64)"));
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

/// One version of the kernel, for a run of threadgroups.
fn version(shared: &mut Shared<'_>, plan: &Plan<'_>, index: usize) -> String {
    let mut t = Builder::new(index as u32 * 10_000_000);
    let launch = t.register(PTR);
    let worker = t.register(PTR);
    let groups = GroupLoop::new(&mut t);
    let size: [Opd; 3] = std::array::from_fn(|_| t.register(I32));
    let header = format!(
        "define internal void @am.version.{index}(ptr {launch}, ptr {worker}, {}, i32 {}, i32 {}, i32 {}) #0",
        groups.parameters(),
        size[0],
        size[1],
        size[2]
    );
    let mut pointer = |field: i64| {
        let at = t.in_entry(|t| t.field(&worker, field));
        t.in_entry(|t| t.load(PTR, &at, MemFlags::with(8, ", !invariant.load !1")))
    };
    let (threadgroup_memory, scratch) = (pointer(WORKER_THREADGROUP_MEMORY), pointer(WORKER_SCRATCH));
    let size = match plan.facts.geometry.size() {
        Some(size) => size.map(|size| Opd::i32(i64::from(size))),
        None => size,
    };
    let facts = &plan.facts;
    let function = facts.function;
    let copies_left = u32::from(shared.options.passes.has(Feature::AllActiveCopies));
    let mut emitter = Emitter {
        plan,
        shared,
        t,
        values: Values::new(function.values.len()),
        position: Position {
            mask: Mask::All,
            simdgroup: Opd::i32(0),
            first: Opd::i32(0),
            contexts: Vec::new(),
            group_labels: Vec::new(),
            exit: groups.exit,
            copies_left,
            may_version_guards: true,
            region_slot: None,
            bail: None,
        },
        group: GroupValues {
            launch,
            worker,
            threadgroup_memory,
            scratch,
            linear: groups.linear.clone(),
            position: groups.position.clone(),
            size,
            threads: Opd::i32(0),
            simdgroups: Opd::i32(0),
        },
        own_simdgroup: None,
        frame: Opd::null(),
        layout: super::context_save::Layout::default(),
        registers: EntryRegisters::default(),
        known: Known {
            available_checks: Default::default(),
            active_masks: BTreeMap::new(),
            mask_tests: BTreeMap::new(),
            interleaved: BTreeMap::new(),
            lane_loads: (groups.head, 0),
        },
        rows: StencilState::default(),
        matrices: Matrices::new(&plan.fragments),
        loads_pointers: function_loads_pointers(function),
        group_work: Work::default(),
    };
    emitter.remark_version();
    emitter.shared.frame_bytes = emitter.lay_out_frame();
    if emitter.shared.independent_simdgroups {
        emitter.take_own_simdgroup();
    }
    emitter.begin_group(&groups);
    emitter.count_threads();
    if emitter.is_edge() || emitter.shared.options.baseline || emitter.own_simdgroup.is_some() {
        emitter.position.copies_left = 0;
        emitter.position.may_version_guards = false;
    }
    emitter.body();
    emitter.t.label(groups.exit);
    emitter.report_faults();
    emitter.next_group(&groups);
    emitter.shared.declares.extend(emitter.t.take_declares());
    emitter.t.finish(&header, groups.head)
}

impl Emitter<'_, '_> {
    /// Tells the device of the first fault of the threadgroup, at its end.
    fn report_faults(&mut self) {
        let Some(slow) = self.registers.slow.clone() else { return };
        self.need(Helper::Report);
        let set = self.t.load(I32, &slow.record, 8);
        let fine = self.t.icmp(IntPredicate::Eq, &set, 0);
        let (report, done) = (self.t.block(), self.t.block());
        self.t.branch_likely(&fine, done, report);
        self.t.label(report);
        self.turn_thread_back(&slow.record);
        let (launch, linear) = (self.group.launch.clone(), self.group.linear.clone());
        self.t.call_void("am.report", &[&launch, &slow.record, &linear]);
        self.t.store(&Opd::int(I32, 0), &slow.record, 8);
        self.t.label(done);
    }

    /// Numbers the thread of a record along x, as everyone else does.
    fn turn_thread_back(&mut self, record: &Opd) {
        let Geometry::YMajor([x, y, _]) = self.plan.facts.geometry else { return };
        let at = self.t.offset(record, RECORD_THREAD);
        let thread = self.t.load(I32, &at, 4);
        let [plane, inside] =
            [Binary::UDiv, Binary::URem].map(|op| self.t.binary(op, &thread, i64::from(x * y)));
        let [column, row] = [Binary::UDiv, Binary::URem].map(|op| self.t.binary(op, &inside, i64::from(y)));
        let before = self.t.mul(&plane, i64::from(x * y));
        let before = self.t.add(&before, &column);
        let rows = self.t.mul(&row, i64::from(x));
        let thread = self.t.add(&before, &rows);
        self.t.store(&thread, &at, 4);
    }

    /// Reads which SIMD-group to run, and finds its part of the scratch.
    fn take_own_simdgroup(&mut self) {
        let worker = self.group.worker.clone();
        let t = &mut self.t;
        let field = t.in_entry(|t| t.field(&worker, WORKER_SIMDGROUP));
        let own = t.in_entry(|t| t.load(I32, &field, MemFlags::with(4, ", !invariant.load !1")));
        let bytes = self.shared.scratch_bytes + self.shared.frame_bytes;
        let wide = t.in_entry(|t| t.zext(&own, I64));
        let offset = t.in_entry(|t| t.binary_with(Binary::Mul, "nuw ", &wide, bytes as i64));
        let scratch = self.group.scratch.clone();
        self.group.scratch = t.in_entry(|t| t.offset(&scratch, &offset));
        self.own_simdgroup = Some(own);
    }

    /// How many threads and SIMD-groups the threadgroup has.
    fn count_threads(&mut self) {
        let [x, y, z] = self.group.size.clone();
        let row = self.t.mul(&x, &y);
        self.group.threads = self.t.mul(&row, &z);
        let threads = self.group.threads.clone();
        self.group.simdgroups = self.divided_up(&threads, 32);
    }
}
