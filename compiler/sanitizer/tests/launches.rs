//! Kernels in IR under a session: what is found, and what is silent.

use anymetal_interp::{Dispatch, Memory, Program};
use anymetal_ir::{
    Access, ArgKind, AtomicOp, BarrierScope, BinOp, Builder, CastOp, CmpOp, ElementType, FuncId, Function,
    Kernel, KernelArg, Loc, Module, Op, Query, Scalar, Space, Type, Value,
};
use anymetal_sanitizer::report::Verdict;
use anymetal_sanitizer::{
    Action, Finding, FindingKind, KindGroup, LaunchInfo, LaunchOutcome, SanitizerOptions, Session,
    SessionFile, SessionSummary,
};

const DEVICE: i32 = 1;
const THREADGROUP: i32 = 2;
const SEQ_CST: i32 = 5;

fn argument(position: usize, space: Space) -> KernelArg {
    KernelArg {
        name: char::from(b'a' + position as u8).to_string(),
        kind: if space == Space::Threadgroup { ArgKind::ThreadgroupMemory } else { ArgKind::Buffer },
        index: position as u32,
        space,
        type_name: "uint".to_owned(),
        element: ElementType::Scalar { scalar: Scalar::I32, signed: false },
        element_size: 4,
        element_align: 4,
        reference: false,
        access: Access::ReadWrite,
        index_by: None,
        enabled_by: None,
        enabled: true,
    }
}

/// A kernel of a device buffer `a` of data, one `b` of flags, and threadgroup memory `c`.
fn kernel(build: impl FnOnce(&mut Builder<'_>, &[Value])) -> Module {
    let spaces = [Space::Device, Space::Device, Space::Threadgroup];
    let mut module = Module::new();
    module.files = vec!["test.metal".to_owned()];
    let params: Vec<Type> = spaces.iter().map(|&space| Type::Ptr(space)).collect();
    let mut function = Function::new("k", &params, None);
    let values = function.params.clone();
    build(&mut Builder::new(&mut function), &values);
    module.functions.push(function);
    module.kernels.push(Kernel {
        name: "k".to_owned(),
        function: FuncId(0),
        args: spaces.iter().enumerate().map(|(n, &space)| argument(n, space)).collect(),
        max_threads: None,
        required_threads: None,
        thread_attributes: Vec::new(),
        logs: Vec::new(),
        stage_inputs: Vec::new(),
    });
    module
}

fn launch(
    module: &Module,
    threads: u32,
    group: u32,
    options: SanitizerOptions,
) -> (Vec<Finding>, SessionSummary) {
    launch_grid(module, &Dispatch::threads([threads, 1, 1], [group, 1, 1]), options)
}

fn launch_grid(
    module: &Module,
    dispatch: &Dispatch,
    options: SanitizerOptions,
) -> (Vec<Finding>, SessionSummary) {
    let rules = anymetal_ir::verify(module);
    assert!(rules.is_ok(), "{rules:?}");
    let program = Program::new(module, "k").expect("a program");
    let (mut data, mut flags) = (vec![0; 4096], vec![0; 64]);
    let mut memory = Memory::new().bind(&mut data).bind(&mut flags).threadgroup(4096);
    let mut session = Session::new(options);
    let outcome = session
        .launch(&program, dispatch, &mut memory, &LaunchInfo::default(), None)
        .expect("the launch fits the program");
    assert_eq!(outcome, LaunchOutcome::Completed);
    (session.findings().to_vec(), session.summary())
}

fn found(module: &Module, threads: u32, group: u32) -> Vec<FindingKind> {
    let (findings, _) = launch(module, threads, group, SanitizerOptions::default());
    findings.iter().map(|finding| finding.kind).collect()
}

fn element(b: &mut Builder<'_>, base: Value, index: Value) -> Value {
    let index = b.cast(CastOp::ZExt, index, Type::I64);
    b.ptr_index(base, index, 4)
}

fn at_line(b: &mut Builder<'_>, line: u32) {
    b.loc = Loc { file: 0, line, column: 1, ..Loc::default() };
}

fn fence(b: &mut Builder<'_>, memory: i32, scope: i32) {
    let operands = [memory, SEQ_CST, scope].map(|operand| b.i32(operand));
    b.push(Op::Fence(Some(operands)));
}

fn read(b: &mut Builder<'_>, ptr: Value) {
    b.load(ptr, Type::I32, 4);
}

fn barrier(b: &mut Builder<'_>, scope: BarrierScope, memory: i32) {
    let memory = b.i32(memory);
    b.push(Op::Barrier(scope, Some(memory)));
}

/// Thread 0 of each threadgroup runs it.
fn in_first_thread(b: &mut Builder<'_>, then: impl FnOnce(&mut Builder<'_>)) {
    let (index, zero) = (b.query(Query::ThreadIndexInThreadgroup), b.i32(0));
    let is_first = b.compare(CmpOp::Eq, index, zero);
    b.if_else(is_first, then, |_| {});
}

/// Every thread writes its element; thread 0 of each threadgroup counts its own in with fences of this scope;
/// then it reads the first threadgroup's elements.
fn counted_in(scope: Option<i32>) -> Module {
    kernel(|b, p| {
        let x = b.query(Query::ThreadPositionInGrid(0));
        let own = element(b, p[0], x);
        at_line(b, 1);
        b.store(own, x, 4);
        barrier(b, BarrierScope::Threadgroup, DEVICE);
        in_first_thread(b, |b| {
            let one = b.i32(1);
            if let Some(scope) = scope {
                fence(b, DEVICE, scope);
            }
            b.infer(Op::AtomicRmw(AtomicOp::Add, p[1], one));
            if let Some(scope) = scope {
                fence(b, DEVICE, scope);
            }
            let last = b.i32(40);
            let other = element(b, p[0], last);
            at_line(b, 2);
            b.load(other, Type::I32, 4);
        });
    })
}

#[test]
fn a_count_with_fences_of_device_scope_is_silent() {
    assert_eq!(found(&counted_in(Some(2)), 256, 64), []);
}

#[test]
fn a_count_without_fences_or_with_too_narrow_ones_is_a_race() {
    for scope in [None, Some(1)] {
        let (findings, _) = launch(&counted_in(scope), 256, 64, SanitizerOptions::default());
        let [race] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(race.kind, FindingKind::RaceBetweenThreadgroups);
        assert_eq!([race.sides[0].place.line, race.sides[1].place.line], [1, 2]);
        let remedy = race.remedy.as_deref().unwrap_or_default();
        let fence = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device)";
        assert!(remedy.contains(fence), "{remedy}");
        assert_eq!((race.count, race.sides[0].thread.grid[0]), (3, 40));
    }
}

/// Lanes write their element of threadgroup memory and read that of a lane at this distance.
fn neighbours(scope: BarrierScope, memory: i32, distance: i32) -> Module {
    kernel(|b, p| {
        let index = b.query(Query::ThreadIndexInThreadgroup);
        let own = element(b, p[2], index);
        b.store(own, index, 4);
        barrier(b, scope, memory);
        let distance = b.i32(distance);
        let other = b.binary(anymetal_ir::BinOp::Xor, index, distance);
        let other = element(b, p[2], other);
        b.load(other, Type::I32, 4);
    })
}

#[test]
fn barriers_order_within_their_scope_the_memory_that_they_name() {
    use BarrierScope::{Simdgroup, Threadgroup};
    use FindingKind::{RaceWithinSimdgroup, RaceWithinThreadgroup};
    let cases: [(BarrierScope, i32, i32, &[FindingKind]); 6] = [
        (Threadgroup, THREADGROUP, 32, &[]),
        (Threadgroup, DEVICE, 32, &[RaceWithinThreadgroup]),
        (Simdgroup, THREADGROUP, 32, &[RaceWithinThreadgroup]),
        (Simdgroup, THREADGROUP, 1, &[]),
        (Simdgroup, DEVICE, 1, &[RaceWithinSimdgroup]),
        (Simdgroup, 0, 1, &[]),
    ];
    for (scope, memory, distance, expected) in cases {
        let module = neighbours(scope, memory, distance);
        let mut races = found(&module, 64, 64);
        // The first SIMD-group reads what the second has not written yet.
        races.retain(|kind| kind.group() == KindGroup::Race);
        assert_eq!(races, expected, "{scope:?} {memory} {distance}");
    }
}

#[test]
fn only_a_barrier_without_flags_is_a_lint() {
    let mut options = SanitizerOptions::default();
    options.kinds.insert(FindingKind::BarrierWithoutFlags);
    for (scope, distance) in [(BarrierScope::Simdgroup, 1), (BarrierScope::Threadgroup, 32)] {
        let (findings, _) = launch(&neighbours(scope, 0, distance), 64, 64, options.clone());
        let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [FindingKind::BarrierWithoutFlags], "{scope:?}");
    }
}

#[test]
fn atomic_reads_do_not_hide_the_atomic_write_that_a_plain_read_races_with() {
    // Threadgroup 0 writes atomically, all read atomically, the last reads plainly.
    let module = kernel(|b, p| {
        in_first_thread(b, |b| {
            let group = b.query(Query::ThreadgroupPositionInGrid(0));
            let (zero, two, one) = (b.i32(0), b.i32(2), b.i32(1));
            let is_writer = b.compare(CmpOp::Eq, group, zero);
            b.if_else(is_writer, |b| b.push(Op::AtomicStore(p[1], one)), |_| {});
            b.value(Op::AtomicLoad(p[1]), Type::I32);
            let is_reader = b.compare(CmpOp::Eq, group, two);
            b.if_else(is_reader, |b| read(b, p[1]), |_| {});
        });
    });
    let (findings, _) = launch(&module, 96, 32, SanitizerOptions::default());
    let [race] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(race.kind, FindingKind::RaceBetweenThreadgroups);
    assert_eq!([race.sides[0].action, race.sides[1].action], [Action::AtomicStore, Action::Read]);
}

#[test]
fn plain_writes_race_with_atomic_reads_and_atomics_with_none_of_their_own() {
    let module = |plain: bool| {
        kernel(move |b, p| {
            in_first_thread(b, |b| {
                let (group, two, one) = (b.query(Query::ThreadgroupPositionInGrid(0)), b.i32(2), b.i32(1));
                b.value(Op::AtomicLoad(p[1]), Type::I32);
                let is_writer = b.compare(CmpOp::Eq, group, two);
                let write = |b: &mut Builder<'_>| {
                    if plain {
                        b.store(p[1], one, 4);
                    } else {
                        b.push(Op::AtomicStore(p[1], one));
                    }
                };
                b.if_else(is_writer, write, |_| {});
            });
        })
    };
    assert_eq!(found(&module(true), 96, 32), [FindingKind::RaceBetweenThreadgroups]);
    assert_eq!(found(&module(false), 96, 32), []);
}

#[test]
fn both_sides_of_a_copy_are_told_apart() {
    // Each thread copies a word of its own to one of all.
    let module = kernel(|b, p| {
        let to = b.ptr_offset(p[0], 4);
        let x = b.query(Query::ThreadPositionInGrid(0));
        let own = element(b, p[1], x);
        b.mem_copy(to, own, 4, 4);
    });
    let (findings, _) = launch(&module, 2, 1, SanitizerOptions::default());
    let [race] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!([race.sides[0].action, race.sides[1].action], [Action::Write, Action::Write]);
}

#[test]
fn bank_conflicts_tell_what_the_access_does() {
    let conflicts = |stride: i32| {
        // Lane 0 takes no part, in either threadgroup.
        let module = kernel(move |b, p| {
            let (index, zero, stride) = (b.query(Query::ThreadIndexInThreadgroup), b.i32(0), b.i32(stride));
            let others = b.compare(CmpOp::Ne, index, zero);
            let at = b.binary(anymetal_ir::BinOp::Mul, index, stride);
            b.if_else(
                others,
                |b| {
                    let own = element(b, p[2], at);
                    b.store(own, index, 4);
                },
                |_| {},
            );
        });
        let mut options = SanitizerOptions::default();
        options.kinds.insert(FindingKind::BankConflict);
        let (findings, _) = launch(&module, 64, 32, options);
        findings.into_iter().map(|finding| (finding.message, finding.sides[0].action)).collect::<Vec<_>>()
    };
    assert_eq!(conflicts(1), []);
    let [(message, Action::Write)] = &conflicts(2)[..] else { panic!("one of a write") };
    assert!(message.starts_with("2 different words"), "{message}");
}

#[test]
fn threads_of_smaller_threadgroups_at_the_edge_have_their_own_positions() {
    // 40 x 4 threads in threadgroups of 32 x 2: the second is 8 x 2 and runs before the third.
    let module = kernel(|b, p| {
        let (x, y) = (b.query(Query::ThreadPositionInGrid(0)), b.query(Query::ThreadPositionInGrid(1)));
        let at = |b: &mut Builder<'_>, column: i32, row: i32, then: &dyn Fn(&mut Builder<'_>)| {
            let (column, row) = (b.i32(column), b.i32(row));
            let (in_column, in_row) = (b.compare(CmpOp::Eq, x, column), b.compare(CmpOp::Eq, y, row));
            b.if_else(in_column, |b| b.if_else(in_row, then, |_| {}), |_| {});
        };
        at(b, 33, 1, &|b| b.store(p[0], x, 4));
        at(b, 0, 2, &|b| read(b, p[0]));
    });
    let dispatch = Dispatch::threads([40, 4, 1], [32, 2, 1]);
    let (findings, _) = launch_grid(&module, &dispatch, SanitizerOptions::default());
    let [race] = &findings[..] else { panic!("{findings:?}") };
    let threads = [race.sides[0].thread, race.sides[1].thread];
    assert_eq!(threads.map(|thread| thread.grid), [[33, 1, 0], [0, 2, 0]]);
    assert_eq!(threads.map(|thread| thread.thread), [[1, 1, 0], [0, 0, 0]]);
}

fn options_with_schedules(schedules: u32, seed: u64) -> SanitizerOptions {
    let mut options = SanitizerOptions::default();
    (options.schedules, options.seed) = (schedules, seed);
    options
}

#[test]
fn races_say_that_results_depend_on_the_schedule() {
    let module = kernel(|b, p| {
        let x = b.query(Query::ThreadgroupPositionInGrid(0));
        in_first_thread(b, |b| b.store(p[0], x, 4));
    });
    let (findings, summary) = launch(&module, 256, 32, options_with_schedules(4, 1));
    assert_eq!((summary.runs, summary.threads), (4, 4 * 256));
    assert!(!summary.schedule_dependent.is_empty());
    assert!(findings[0].message.contains("differ with --seed"), "{}", findings[0].message);
}

#[test]
fn writes_of_the_value_that_is_there_are_a_warning() {
    let module = kernel(|b, p| {
        let seven = b.i32(7);
        in_first_thread(b, |b| b.store(p[0], seven, 4));
    });
    assert_eq!(found(&module, 96, 32), [FindingKind::RaceOfEqualValues]);
}

/// Every thread writes its number to the first element.
fn all_to_one() -> Module {
    kernel(|b, p| {
        let x = b.query(Query::ThreadPositionInGrid(0));
        at_line(b, 7);
        b.store(p[0], x, 4);
    })
}

/// Launches of 256 threads in threadgroups of 64; the first element after each.
fn launched(times: usize, session: &mut Session) -> Vec<u32> {
    let module = all_to_one();
    let program = Program::new(&module, "k").expect("a program");
    let dispatch = Dispatch::threads([256, 1, 1], [64, 1, 1]);
    let one = |_| {
        let (mut data, mut flags) = (vec![0; 4096], vec![0; 64]);
        let mut memory = Memory::new().bind(&mut data).bind(&mut flags).threadgroup(4096);
        let outcome = session.launch(&program, &dispatch, &mut memory, &LaunchInfo::default(), None);
        assert_eq!(outcome, Ok(LaunchOutcome::Completed));
        u32::from_le_bytes([data[0], data[1], data[2], data[3]])
    };
    (0..times).map(one).collect()
}

#[test]
fn launches_that_are_filtered_out_run_without_checks() {
    for (words, checked) in [("launches=1..2", 1), ("kernel=other", 0), ("kernel=/^k$/ launches=..2", 2)] {
        let mut session = Session::new(words.parse().expect("options"));
        assert_eq!(launched(3, &mut session), [255; 3], "{words}: all of them run");
        let summary = session.summary();
        assert_eq!((summary.launches, summary.launches_left_out), (checked, 3 - checked), "{words}");
        assert_eq!(session.findings().is_empty(), checked == 0, "{words}");
        if words == "launches=1..2" {
            assert_eq!(session.findings()[0].launch, 1);
        }
    }
}

#[test]
fn a_sample_checks_some_threadgroups_and_runs_all() {
    let mut session = Session::new("max-threadgroups=2".parse().expect("options"));
    // The last threadgroup writes last.
    assert_eq!(launched(2, &mut session), [255; 2]);
    let summary = session.summary();
    assert_eq!((summary.threadgroups, summary.threadgroups_left_out), (4, 4));
    assert!(session.findings().iter().any(|finding| finding.kind == FindingKind::RaceBetweenThreadgroups));
    let report = session.report(&Default::default());
    assert!(report.summary.to_string().contains("in 2 launches; sampled 4 of 8 threadgroups; "));
}

#[test]
fn a_session_is_read_back_from_its_file() {
    let mut session = Session::new(SanitizerOptions::default());
    let marks = [((7, 7), "benign_race")];
    session.add_source("test.metal", "a\nb\nc\nd\ne\nf\nx[0] = i;\n", marks);
    launched(1, &mut session);
    let file = SessionFile::of(&session);
    assert_eq!(SessionFile::from_text(&file.to_line()), Ok(file.clone()));
    launched(1, &mut session);
    let later = SessionFile::of(&session);
    assert_ne!(later, file);
    let text = file.to_line() + &SessionFile::update_line(&session) + "{\"summary\":{\"laun";
    assert_eq!(SessionFile::from_text(&text), Ok(later));
    let report = file.report(&Default::default(), None);
    assert!(report.findings.is_empty() && !report.suppressed.is_empty());
    let failed = file.report(&Default::default(), Some("it crashed".to_owned()));
    assert_eq!(failed.verdict, Verdict::Incomplete("it crashed".to_owned()));
    let mut both = file.clone();
    both.merge(file.clone());
    assert_eq!((both.findings.len(), both.summary.launches), (file.findings.len(), 2));
    assert_eq!(both.findings[0].count, 2 * file.findings[0].count);
    assert!(both.report(&Default::default(), None).findings.is_empty());
    for wrong in ["", "[]", "{\"schema\":1}"] {
        assert!(SessionFile::from_text(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn of_two_sources_with_one_name_neither_counts() {
    let mut session = Session::new(SanitizerOptions::default());
    let mark = "\n\n\n\n\n\nx[0] = i; // anymetal: benign race\n";
    session.add_source("test.metal", mark, []);
    session.add_source("test.metal", mark, []);
    launched(1, &mut session);
    assert!(session.report(&Default::default()).findings.is_empty());
    session.add_source("test.metal", "another", []);
    assert!(!session.report(&Default::default()).findings.is_empty());
}

/// The first SIMD-group repeats a loop for ever in its odd lanes, the others wait for it.
#[test]
fn a_run_that_does_not_end_says_where_its_simdgroups_are() {
    let module = kernel(|b, _| {
        let index = b.query(Query::ThreadIndexInThreadgroup);
        let limit = b.i32(32);
        let is_first = b.compare(CmpOp::ULt, index, limit);
        let repeats = |b: &mut Builder<'_>| {
            at_line(b, 7);
            b.endless_loop(|_, _| {}, |_, _| {});
        };
        let odd_lanes_repeat = |b: &mut Builder<'_>| {
            let one = b.i32(1);
            let odd = b.binary(BinOp::And, index, one);
            let is_odd = b.compare(CmpOp::Eq, odd, one);
            b.if_else(is_odd, repeats, |_| {});
        };
        b.if_else(is_first, odd_lanes_repeat, |_| {});
        at_line(b, 9);
        barrier(b, BarrierScope::Threadgroup, DEVICE);
    });
    let program = Program::new(&module, "k").expect("a program");
    let (mut data, mut flags) = (vec![0; 64], vec![0; 64]);
    let mut memory = Memory::new().bind(&mut data).bind(&mut flags).threadgroup(64);
    let mut options = SanitizerOptions::default();
    options.max_steps = 1_000_000;
    let mut session = Session::new(options);
    let dispatch = Dispatch::threads([96, 1, 1], [96, 1, 1]);
    let outcome = session.launch(&program, &dispatch, &mut memory, &LaunchInfo::default(), None);
    let Ok(LaunchOutcome::Incomplete { reason, .. }) = outcome else { panic!("{outcome:?}") };
    let expected = "the run exceeded its budget of 1000000 steps; in threadgroup (0,0,0) 1 SIMD-group (16 threads, \
                    first thread (1,0,0)) repeats the loop at test.metal:7:1, 2 SIMD-groups (64 threads, first \
                    thread (32,0,0)) wait at the barrier at test.metal:9:1";
    assert_eq!(reason, expected);
    assert_eq!(session.summary().incomplete, [format!("`k`: {expected}")]);
}
