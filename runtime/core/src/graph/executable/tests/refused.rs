//! What graphs and their arguments are refused for.

use anymetal_hal::command::Grid;

use super::{bench, contents};
use crate::graph::error::GraphError;
use crate::graph::executable::Executable;
use crate::graph::node::HostNode;
use crate::graph::plan::PlanOptions;
use crate::graph::{GraphBuilder, Hazard};

#[test]
fn cycles_and_hazards_are_told_by_names() {
    let bench = bench();
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.fill(name, x.range(0..16), 0).unwrap());
    for (from, to) in [(a, b), (b, c), (c, b)] {
        builder.edge(from, to).unwrap();
    }
    let cycle = builder.build().unwrap_err();
    assert_eq!(cycle.to_string(), "the graph `g` has a cycle: `b` -> `c` -> `b`");

    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let y = builder.parameter("y", 16).unwrap();
    builder.fill("clear", x.range(0..32), 0).unwrap();
    builder.copy("save", x.range(24..40), y).unwrap();
    let hazard = Hazard {
        first: "clear".to_owned(),
        second: "save".to_owned(),
        resource: "x".to_owned(),
        offset: 24,
        length: 8,
        both_write: false,
    };
    let refused = builder.build().unwrap_err();
    assert_eq!(refused, GraphError::Hazards { graph: "g".to_owned(), hazards: vec![hazard] });
    assert!(refused.to_string().contains("one writes and one reads bytes 24..32 of `x`"), "{refused}");
}

#[test]
fn wrong_nodes_and_arguments_are_refused() {
    let bench = bench();
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let y = builder.parameter("y", 64).unwrap();
    let foreign = GraphBuilder::new("other").parameter("z", 64).unwrap();
    assert!(matches!(builder.parameter("x", 1), Err(GraphError::DuplicateName { what: "resource", .. })));
    assert!(matches!(builder.fill("f", foreign, 0), Err(GraphError::OfAnotherGraph { .. })));
    let outside = builder.fill("f", x.range(60..70), 0).unwrap_err();
    assert_eq!(outside.to_string(), "node `f`: bytes 60..70 are not within `x` of 64 bytes");
    assert!(matches!(builder.copy("c", x.range(0..4), y), Err(GraphError::CopyLengths { .. })));
    assert!(matches!(builder.copy("c", x.range(0..8), x.range(4..12)), Err(GraphError::Device(_))));
    let surplus = builder.kernel("k", bench.launch(&bench.affine, 4).bind(7, x)).unwrap_err();
    assert!(surplus.to_string().contains("no buffer argument 7"), "{surplus}");
    let copy = builder.copy("c", x, y).unwrap();
    assert!(matches!(builder.fill("c", x, 0), Err(GraphError::DuplicateName { what: "node", .. })));
    let graph = builder.build().unwrap();
    let mut executable = Executable::new(&graph, PlanOptions::default()).unwrap();
    let unset = executable.run(&*bench.queue).unwrap_err();
    assert_eq!(unset, GraphError::Unset { parameter: "y".to_owned() });
    let short = executable.set_buffer(y, bench.view(&[0; 32])).unwrap_err();
    assert_eq!(short.to_string(), "the parameter `y` takes 64 bytes, not 32");
    assert!(matches!(executable.set_buffer(x, bench.view(&[0; 64])), Err(GraphError::NotAParameter { .. })));
    let grid = executable.set_grid(copy, Grid::Threads([1; 3])).unwrap_err();
    assert_eq!(grid.to_string(), "`c` is not a kernel node of the graph and cannot be changed");
    executable.set_buffer(y, bench.view(&[1; 64])).unwrap();
    executable.submit(&*bench.queue).unwrap().wait().unwrap();
}

#[test]
fn an_argument_that_makes_a_hazard_is_refused_and_the_old_one_stays() {
    let bench = bench();
    let (memory, other) = (bench.view(&[1; 64]), bench.view(&[2; 64]));
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", memory.clone()).unwrap();
    let y = builder.parameter("y", 64).unwrap();
    builder.fill("one", x, 5).unwrap();
    builder.fill("two", y, 6).unwrap();
    let mut executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    executable.set_buffer(y, other.clone()).unwrap();
    assert!(matches!(executable.set_buffer(y, memory.clone()), Err(GraphError::Hazards { .. })));
    executable.run(&*bench.queue).unwrap();
    assert_eq!((contents(&memory), contents(&other)), (vec![5; 64], vec![6; 64]));
}

#[test]
fn host_nodes_touch_only_what_they_declare() {
    let bench = bench();
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let sneaky = HostNode::new(move |context| {
        let _refused = context.write(x, 0, &[1]);
        Ok(())
    });
    builder.host("sneaky", sneaky.reads(x)).unwrap();
    let executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    let error = executable.run(&*bench.queue).unwrap_err();
    assert_eq!(error.to_string(), "the host node `sneaky` touched `x` without declaring that it writes it");
    assert!(matches!(executable.submit(&*bench.queue), Err(GraphError::NeedsHost { .. })));

    let mut builder = GraphBuilder::new("g");
    builder.host("fails", HostNode::new(|_| Err("no disk".to_owned()))).unwrap();
    let executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    assert_eq!(
        executable.run(&*bench.queue).unwrap_err().to_string(),
        "the host node `fails` failed: no disk"
    );
}
