//! Mistakes in small kernels, and how they are judged.

use anymetal_conformance::case::{Case, Grid, Launch};
use anymetal_conformance::data::{Data, Dtype};
use anymetal_conformance::execute::{Source, parse};
use anymetal_mutation::mutation::{Mutation, MutationKind};
use anymetal_mutation::subject::{Subject, Unfit};
use anymetal_mutation::trial::{Equivalent, Judgement, Missed, judge};

/// A kernel `k` of `in` and `out`, of 64 elements each, in one threadgroup of 64 threads.
fn subject(body: &str) -> Subject {
    made(body, Grid::Groups([1, 1, 1])).expect("it is fit")
}

fn made(body: &str, grid: Grid) -> Result<Subject, Unfit> {
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device const uint *in [[buffer(0)]], \
         device uint *out [[buffer(1)]], constant uint &n [[buffer(2)]],\n    \
         uint i [[thread_position_in_threadgroup]]) {{\n{body}\n}}\n"
    );
    let library =
        parse(&Source { name: "k.metal".to_owned(), text, ..Source::default() }).expect("it compiles");
    let numbers = Data::from_integers(Dtype::U32, 0..64);
    let launch = Launch::new("k", grid, [64, 1, 1]).data(&numbers).data(&Data::zeros(Dtype::U32, 64));
    let launch = launch.scalar(48u32.to_le_bytes());
    Subject::new(&library, "k", vec![Case::exact("only", launch, 1, Data::new(Dtype::U32))])
}

/// The mutations of a kind with what comes of them, in the order of the source.
fn judged(subject: &Subject, kind: MutationKind) -> Vec<(String, Judgement)> {
    let mut all: Vec<Mutation> = subject.mutations().into_iter().filter(|one| one.kind == kind).collect();
    all.sort_by_key(|mutation| (mutation.loc.line, mutation.loc.column));
    let judgement = |mutation: Mutation| {
        let judgement = judge(subject, &mutation).expect("it is run");
        (mutation.text, judgement)
    };
    all.into_iter().map(judgement).collect()
}

fn found(judgement: &Judgement, kind: &str) -> bool {
    matches!(judgement, Judgement::Found(kinds) if kinds.iter().any(|found| found.id() == kind))
}

const EXCHANGE: &str = "threadgroup uint tile[64];
    tile[i] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[63 - i];";

#[test]
fn a_barrier_that_is_needed_is_found() {
    let subject = subject(EXCHANGE);
    let [(text, judgement)] = &judged(&subject, MutationKind::BarrierRemoved)[..] else { panic!() };
    assert_eq!(text, "threadgroup_barrier removed");
    assert!(found(judgement, "race-threadgroup"), "{judgement:?}");
    let narrowed = judged(&subject, MutationKind::ScopeNarrowed);
    let [(scope, by_scope), (flag, by_flag)] = &narrowed[..] else { panic!("{narrowed:?}") };
    assert_eq!(scope, "threadgroup_barrier made simdgroup_barrier");
    assert_eq!(flag, "threadgroup_barrier without mem_threadgroup");
    assert!(found(by_scope, "race-threadgroup") && found(by_flag, "barrier-mem-none"), "{narrowed:?}");
}

#[test]
fn a_barrier_between_accesses_of_one_thread_is_not_needed() {
    let subject = subject(&EXCHANGE.replace("63 - i", "i"));
    let removed = judged(&subject, MutationKind::BarrierRemoved);
    assert_eq!(removed[0].1, Judgement::Equivalent(Equivalent::StillOrdered));
}

#[test]
fn a_loop_that_reads_one_element_more_is_out_of_bounds() {
    let subject = subject("uint sum = 0;\nfor (uint j = 0; j < n; ++j) {\nsum += in[j];\n}\nout[i] = sum;");
    let [(text, judgement)] = &judged(&subject, MutationKind::BoundWidened)[..] else { panic!() };
    assert_eq!(text, "`<` made `<=`");
    assert!(found(judgement, "out-of-bounds"), "{judgement:?}");
    let dropped = judged(&subject, MutationKind::InitialisationDropped);
    let names: Vec<&str> = dropped.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(names, ["initialisation of `sum` dropped", "initialisation of `j` dropped"]);
    assert!(dropped.iter().all(|(_, judgement)| found(judgement, "uninitialised-private")), "{dropped:?}");
}

#[test]
fn guards_are_widened_to_the_side_that_works() {
    let bodies = [
        ("if (i < n) { out[i] = in[i]; }", "`<` made `<=`"),
        ("if (i >= n) { return; }\nout[i] = in[i];", "`>=` made `>`"),
        ("if (!(i < n)) { return; }\nout[i] = in[i];", "`<` made `<=`"),
        ("if (i <= n - 1) { out[i] = in[i]; }", "bound of `<=` raised by one"),
        ("if (i > n - 1) { return; }\nout[i] = in[i];", "bound of `>` raised by one"),
        ("if (i >= n || in[i] == 77) { return; }\nout[i] = in[i];", "`>=` made `>`"),
    ];
    for (body, text) in bodies {
        let widened = judged(&subject(body), MutationKind::BoundWidened);
        assert_eq!(widened.len(), 1, "{body}: {widened:?}");
        assert_eq!(widened[0].0, text, "{body}");
        assert!(found(&widened[0].1, "out-of-bounds"), "{body}: {widened:?}");
    }
}

#[test]
fn a_bound_that_is_not_met_is_no_mistake_and_other_results_are_missed() {
    let never = judged(&subject("if (i < 64) { out[i] = in[i]; }"), MutationKind::BoundWidened);
    assert_eq!(never[0].1, Judgement::Equivalent(Equivalent::BoundNotMet));
    // The element is there and is another thread's to read: only the value is wrong.
    let wrong = judged(&subject("out[i] = in[i] + (i < n ? 1 : in[63]);"), MutationKind::BoundWidened);
    assert_eq!(wrong[0].1, Judgement::Missed(Missed::OtherResults));
}

#[test]
fn threadgroup_memory_that_is_not_cleared_is_found() {
    let subject = subject(
        "threadgroup atomic_uint bins[8];\nif (i < 8) {\n\
         atomic_store_explicit(&bins[i], 0, memory_order_relaxed);\n}\n\
         threadgroup_barrier(mem_flags::mem_threadgroup);\n\
         atomic_fetch_add_explicit(&bins[in[i] % 8], 1, memory_order_relaxed);\n\
         threadgroup_barrier(mem_flags::mem_threadgroup);\n\
         out[i] = atomic_load_explicit(&bins[i % 8], memory_order_relaxed);",
    );
    let dropped = judged(&subject, MutationKind::InitialisationDropped);
    assert_eq!(dropped[0].0, "initialisation of threadgroup memory dropped");
    assert!(found(&dropped[0].1, "uninitialised-threadgroup"), "{dropped:?}");
}

#[test]
fn code_that_does_not_run_is_not_mutated() {
    let subject = subject("if (n == 7) {\nfor (uint j = 0; j < n; ++j) { out[j] = 0; }\n}\nout[i] = in[i];");
    assert_eq!(subject.mutations(), []);
    let nothing = made("out[i] = in[i];", Grid::Threads([0, 1, 1]));
    assert_eq!(nothing.err(), Some(Unfit::NoLaunch));
}
