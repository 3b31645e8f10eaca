//! Buffers that move, and graphs.

use super::*;
use crate::manager::Durability;
use anymetal::Buffer;
use anymetal::graph::{Executable, GraphBuilder, PlanOptions};

#[test]
fn hosts_read_and_write_parts() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let (increment, y) = (bench.kernel("increment"), bench.manager.buffer(&[1u32, 2, 3, 4]).unwrap());
    bench.run(bench.manager.launch(&increment).arg(&y).threads(4).execute_async()).unwrap();
    y.write_at(1, &[10, 11]).unwrap();
    assert_eq!((y.read().unwrap(), y.read_range(2..4).unwrap()), (vec![2, 10, 11, 5], vec![11, 5]));
    bench.run(bench.manager.launch(&increment).arg(&y).threads(4).execute_async()).unwrap();
    assert_eq!(y.read().unwrap(), [3, 11, 12, 6]);
    assert!(y.write(&[1; 3]).is_err() && y.read_range(3..5).is_err() && y.view(0..5).is_err());
    y.discard();
    assert_eq!(y.read().unwrap(), [0; 4]);
}

#[test]
fn large_contents_move_by_import_where_the_device_can() {
    let plans = [("a", refusals(1, ErrorClass::Lost)), ("b", no_faults())];
    let bench = Bench::new(&plans, policies());
    let increment = bench.kernel("increment");
    let count = 1 << 17;
    let numbers: Vec<u32> = (0..count).collect();
    let y = bench.manager.buffer_with(&numbers, "y", Durability::Uploaded).unwrap();
    let launch = bench.manager.launch(&increment).arg(&y).threads(count);
    assert_eq!(path(bench.run(launch.execute_async())), "a lost @0ns+0ns, fallback b ok @0ns+0ns");
    let expected: Vec<u32> = (1..=count).collect();
    assert_eq!(y.read().unwrap(), expected);
}

fn twice_incremented(bench: &Bench, y: &crate::ManagedBuffer<u32>) -> crate::ManagedGraph {
    let increment = bench.kernel("increment");
    let builder = bench.manager.graph("twice").updates(y);
    let y = y.clone();
    let graph = builder.build(move |site| {
        let (increment, y): (_, Buffer<u32>) = (site.pipeline(&increment)?, site.buffer(&y)?);
        let mut graph = GraphBuilder::new("twice");
        graph.kernel("first", increment.node().arg(&y).threads(8).build()?)?;
        graph.kernel("second", increment.node().arg(&y).threads(8).build()?)?;
        graph.order_as_added();
        Ok(Executable::new(&graph.build()?, PlanOptions::default())?)
    });
    graph.unwrap()
}

#[test]
fn graphs_are_built_for_each_device_and_restored_as_kernels_are() {
    let completions = Faults::default().exactly(vec![1, 2, 3, 4]).classes(vec![ErrorClass::Transient]);
    let plans = [("a", no_faults().completions(completions)), ("b", no_faults())];
    let bench = Bench::new(&plans, one_attempt());
    let y = bench.manager.buffer(&[1u32; 8]).unwrap();
    let graph = twice_incremented(&bench, &y);
    let run = || bench.run(bench.manager.launch_graph(&graph).execute_async());
    assert_eq!(path(run()), "a ok @0ns+0ns");
    let execution = path(run());
    assert_eq!(
        execution,
        "a transient @0ns+0ns, degrade restored a/1 transient @0ns+0ns, fallback restored b ok @0ns+0ns"
    );
    assert_eq!(y.read().unwrap(), [5; 8]);
    drop((graph, y));
    bench.assert_no_leaks();
}

#[test]
fn a_graph_uses_what_it_declares_and_nothing_else() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let buffer = || bench.manager.buffer_with(&[1u32; 8], "hidden", Durability::Uploaded).unwrap();
    let (declared, hidden) = (buffer(), buffer());
    let graph = bench.manager.graph("g").reads(&declared).build(move |site| {
        let _buffer = site.buffer(&hidden)?;
        Ok(Executable::new(&GraphBuilder::new("g").build()?, PlanOptions::default())?)
    });
    let failed = failed(bench.run(bench.manager.launch_graph(&graph.unwrap()).execute_async()));
    assert!(failed.to_string().contains("`g` uses buffer `hidden`, which it does not declare"), "{failed}");
}
