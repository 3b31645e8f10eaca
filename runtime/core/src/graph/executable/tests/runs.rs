//! Runs leave in memory what the reference does, in every way of running; and what the device has encoded
//! meanwhile.

use proptest::prelude::{any, prop_assert_eq};
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::program::{Program, ProgramStep, Reference, build, initial, step};
use super::{Bench, bench, contents};
use crate::graph::GraphBuilder;
use crate::graph::encodings::RunMode;
use crate::graph::error::GraphError;
use crate::graph::executable::Executable;
use crate::graph::node::HostNode;
use crate::graph::plan::PlanOptions;
use crate::graph::resource::ResourceId;

fn all_options() -> impl Iterator<Item = PlanOptions> {
    (0..8).map(|bits| PlanOptions {
        merge_transfers: bits & 1 != 0,
        group_passes: bits & 2 != 0,
        few_barriers: bits & 4 != 0,
        // No kernel here brings a fuser along.
        fusion: true,
    })
}

/// Runs with all options, the nodes of a stage in an order made from the seed, four times with other
/// arguments, in every way, each often enough that the device has encoded what it can.
fn runs_like_the_reference(bench: &Bench, steps: &[ProgramStep], mut seed: u64) -> Result<(), TestCaseError> {
    let (program, views) = build(bench, steps);
    let Program { builder, resources, constants } = program;
    let graph = builder.build().unwrap();
    for options in all_options() {
        let mut executable = Executable::new(&graph, options).unwrap();
        let mut reference = Reference(std::array::from_fn(|buffer| initial(buffer as u8)));
        for (view, bytes) in views.iter().zip(&reference.0) {
            view.write(0, bytes).unwrap();
        }
        for (run, swapped) in [(0, false), (1, true), (2, false), (3, false)] {
            let [first, second] = if swapped { [1, 0] } else { [0, 1] };
            let arguments = [(resources[0], views[first].clone()), (resources[1], views[second].clone())];
            // The last run keeps the buffers, so that its inline bytes alone make the device's form an old
            // one.
            if run < 3 {
                executable.set_buffers(arguments).unwrap();
            }
            for (constant, k) in &constants {
                executable.set_bytes(*constant, &k.wrapping_add(run).to_le_bytes()).unwrap();
            }
            if swapped {
                reference.0.swap(0, 1);
            }
            steps.iter().for_each(|step| reference.run(step, run));
            if swapped {
                reference.0.swap(0, 1);
            }
            let shuffle = &mut |stage: &mut Vec<usize>| {
                for last in (1..stage.len()).rev() {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    stage.swap(last, (seed >> 33) as usize % (last + 1));
                }
            };
            // By pieces in another order, over three streams, and where the host takes part on a stream.
            match run {
                0 => executable.run_in(&*bench.queue, shuffle).map(drop).unwrap(),
                _ => match executable.submit_over(&bench.streams.each_ref(), &[]) {
                    Ok(submission) => submission.wait().map(drop).unwrap(),
                    Err(GraphError::NeedsHost { .. }) => {
                        executable.run_on(&bench.streams[0]).map(drop).unwrap()
                    }
                    Err(error) => panic!("{error}"),
                },
            }
            // More often, from what there is now: on one stream, over three, and with the host taking part.
            let ways: [&dyn Fn() -> Result<(), GraphError>; 3] = [
                &|| Ok(executable.submit_to(&bench.streams[1])?.wait().map(drop)?),
                &|| Ok(executable.submit_over(&bench.streams.each_ref(), &[])?.wait().map(drop)?),
                &|| executable.run_on(&bench.streams[2]).map(drop),
            ];
            for mode in ways.into_iter().flat_map(|mode| [mode; 3]) {
                match mode() {
                    Ok(()) => {}
                    Err(GraphError::NeedsHost { .. }) => continue,
                    Err(error) => panic!("{error}"),
                }
                if swapped {
                    reference.0.swap(0, 1);
                }
                steps.iter().for_each(|step| reference.run(step, run));
                if swapped {
                    reference.0.swap(0, 1);
                }
            }
            for (number, view) in views.iter().enumerate() {
                let (got, expected) = (contents(view), &reference.0[number]);
                prop_assert_eq!(
                    &got,
                    expected,
                    "b{} in run {} with {:?}\n{}",
                    number,
                    run,
                    options,
                    executable.plan()
                );
            }
        }
    }
    Ok(())
}

#[test]
fn random_graphs_run_like_the_reference() {
    let bench = bench();
    let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    let programs = (proptest::collection::vec(step(), 1..14), any::<u64>());
    runner.run(&programs, |(steps, seed)| runs_like_the_reference(&bench, &steps, seed)).unwrap();
}

/// Two chains of kernels that share nothing they write; if wanted, a host node behind one and two fills
/// behind that.
fn two_chains(bench: &Bench, host: bool) -> (Executable, ResourceId) {
    let mut builder = GraphBuilder::new("two chains");
    let [x, y] = ["x", "y"].map(|name| builder.buffer(name, bench.view(&[1; 64])).unwrap());
    let z = builder.parameter("z", 64).unwrap();
    for (number, resource) in [x, y, x, y].into_iter().enumerate() {
        let launch = bench.launch(&bench.accumulate, 64).bind(0, z).bind(1, resource);
        builder.kernel(format!("add {number}"), launch).unwrap();
    }
    if host {
        builder.host("look", HostNode::new(|_context| Ok(())).reads(x).reads(y)).unwrap();
        builder.fill("left", x.range(0..16), 0).unwrap();
        builder.fill("right", x.range(32..48), 0).unwrap();
    }
    builder.order_as_added();
    let mut executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    executable.set_buffer(z, bench.view(&[1; 64])).unwrap();
    (executable, z)
}

#[test]
fn each_way_of_running_is_encoded_by_its_second_run_and_forgotten_with_its_arguments() {
    let bench = bench();
    let [first, second, _] = &bench.streams;
    let (mut chains, z) = two_chains(&bench, false);
    let (mut hosted, hosted_z) = two_chains(&bench, true);
    for _ in 0..2 {
        for run in 0..3usize {
            let encoded = |executable: &Executable, mode| executable.encodings.encoded_partitions(mode);
            // What was there before this run.
            let since_the_second = usize::from(run >= 2);
            assert_eq!(encoded(&chains, RunMode::Whole), since_the_second);
            assert_eq!(encoded(&chains, RunMode::Over(2)), 2 * since_the_second, "one on each stream");
            assert_eq!(
                encoded(&hosted, RunMode::BetweenHostNodes),
                2 * since_the_second,
                "before it and after it"
            );
            chains.submit_to(first).unwrap().wait().unwrap();
            chains.submit_over(&[first, second], &[]).unwrap().wait().unwrap();
            hosted.run_on(first).unwrap();
        }
        chains.set_buffer(z, bench.view(&[2; 64])).unwrap();
        hosted.set_buffer(hosted_z, bench.view(&[2; 64])).unwrap();
    }
}
