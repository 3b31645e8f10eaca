//! Plans: how small transformations make them, when they are made anew, and how they look.

use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use proptest::test_runner::{Config, TestRunner};

use super::program::{build, step};
use super::{Bench, bench, contents};
use crate::graph::GraphBuilder;
use crate::graph::builder::Graph;
use crate::graph::executable::Executable;
use crate::graph::plan::{Plan, PlanOptions, fewest_passes_of};

#[test]
fn transformations_never_make_a_plan_larger_and_do_make_some_smaller() {
    let bench = bench();
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let smaller = [(); 3].map(|()| AtomicBool::new(false));
    runner
        .run(&proptest::collection::vec(step(), 1..14), |steps| {
            let graph = build(&bench, &steps).0.builder.build().unwrap();
            let stages = |plan: &Plan| plan.passes().iter().map(|pass| pass.stages.len()).sum::<usize>();
            let (best, plain) =
                (Plan::new(&graph, PlanOptions::default()), Plan::new(&graph, PlanOptions::none()));
            let sizes = [
                (best.nodes.len(), plain.nodes.len()),
                (best.passes().len(), plain.passes().len()),
                (stages(&best), stages(&plain)),
            ];
            for (smaller, (best, plain)) in smaller.iter().zip(sizes) {
                prop_assert!(best <= plain);
                smaller.fetch_or(best < plain, Ordering::Relaxed);
            }
            Ok(())
        })
        .unwrap();
    assert!(smaller.iter().all(|smaller| smaller.load(Ordering::Relaxed)), "each had an effect");
}

#[test]
fn an_alias_that_the_edges_order_is_planned_anew() {
    let bench = bench();
    let memory = bench.view(&[1; 64]);
    let mut builder = GraphBuilder::new("g");
    let (x, y) = (builder.parameter("x", 64).unwrap(), builder.parameter("y", 64).unwrap());
    let one = builder.fill("one", x, 5).unwrap();
    let two = builder.fill("two", y.range(0..32), 6).unwrap();
    builder.edge(one, two).unwrap();
    let mut executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    assert_eq!(executable.plan().barriers(), 0, "nothing is shared");
    executable.set_buffers([(x, memory.clone()), (y, memory.clone())]).unwrap();
    assert_eq!(executable.plan().barriers(), 1);
    executable.run(&*bench.queue).unwrap();
    assert_eq!(contents(&memory), [[6; 32], [5; 32]].concat());
    executable.set_buffer(y, bench.view(&[0; 64])).unwrap();
    assert_eq!(executable.plan().barriers(), 0);
}

/// load -> blur -> sum, with a copy of the source at any time and a fill in two pieces.
fn example(bench: &Bench) -> Graph {
    let mut builder = GraphBuilder::new("example <1>");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let [y, z, w] = ["y", "z", "w"].map(|name| builder.parameter(name, 64).unwrap());
    let launch = || bench.launch(&bench.accumulate, 64);
    builder.fill("clear, left", z.range(0..32), 0).unwrap();
    let blur = builder.kernel("blur", launch().bind(0, x).bind(1, y)).unwrap();
    let save = builder.copy("save", x, w).unwrap();
    builder.fill("clear, right", z.range(32..64), 0).unwrap();
    let sum = builder.kernel("sum", launch().bind(0, y).bind(1, z)).unwrap();
    builder.edge(blur, save).unwrap();
    builder.edge(blur, sum).unwrap();
    builder.order_as_added();
    builder.build().unwrap()
}

#[test]
fn a_plan_prints_as_text_and_as_a_picture() {
    let bench = bench();
    let graph = example(&bench);
    assert_eq!(graph.levels(), [vec!["clear, left", "blur", "clear, right"], vec!["save", "sum"]]);
    let plan = Plan::new(&graph, PlanOptions::default());
    assert_eq!(
        plan.to_string(),
        "graph `example <1>`: 4 nodes, 2 encoders, 1 barriers\n\
         pass 0: blit\n  fill clear, left + clear, right\n  copy save\n\
         pass 1: compute\n  kernel blur\n  -- barrier --\n  kernel sum\n"
    );
    let svg = plan.to_svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("example &lt;1&gt;") && !svg.contains("<1>"));
    assert_eq!(svg.matches("<title>barrier</title>").count(), 1);
    assert_eq!(svg.matches("marker-end").count(), 2, "blur and clear before sum");
    assert_eq!((svg.matches("<g>").count(), svg.matches("</g>").count()), (4, 4));
    let plain = Plan::new(&graph, PlanOptions::none());
    assert_eq!((plain.nodes.len(), plain.encoders(), plain.merged(), plan.merged()), (5, 4, 0, 1));
}

proptest! {
    /// The fewest passes of two kinds, by trying every order of small graphs.
    #[test]
    fn no_order_needs_fewer_passes(
        kinds in proptest::collection::vec(any::<bool>(), 1..8),
        edges in proptest::collection::vec((0..8u32, 0..8u32), 0..12),
    ) {
        let bytes = kinds.len() as u64 * 4;
        let count = kinds.len() as u32;
        let edges: Vec<(u32, u32)> = edges.into_iter()
            .map(|(one, other)| (one % count, other % count))
            .filter(|(from, to)| from < to)
            .collect();
        let best = fewest_passes_of(&kinds, &edges);
        prop_assert_eq!(best, exhaustive(&kinds, &edges), "{} bytes", bytes);
    }
}

/// The fewest changes of kind over all topological orders, plus one.
fn exhaustive(kinds: &[bool], edges: &[(u32, u32)]) -> usize {
    fn search(
        kinds: &[bool],
        edges: &[(u32, u32)],
        done: u32,
        last: Option<bool>,
        passes: usize,
        best: &mut usize,
    ) {
        if passes >= *best {
            return;
        }
        if done.count_ones() as usize == kinds.len() {
            *best = passes;
            return;
        }
        for node in 0..kinds.len() {
            let ready = edges.iter().all(|(from, to)| *to as usize != node || done >> from & 1 == 1);
            if ready && done >> node & 1 == 0 {
                let more = usize::from(last != Some(kinds[node]));
                search(kinds, edges, done | 1 << node, Some(kinds[node]), passes + more, best);
            }
        }
    }
    let mut best = usize::MAX;
    search(kinds, edges, 0, None, 0, &mut best);
    best
}
