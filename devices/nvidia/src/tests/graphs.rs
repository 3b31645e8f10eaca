//! Indirect command buffers as graphs.

use anymetal_hal::indirect::IndirectCommandBuffer;

use super::*;

struct Replay {
    bench: Bench,
    indirect: Arc<dyn IndirectCommandBuffer>,
}

impl Replay {
    fn of(bench: Bench, commands: Vec<Command>) -> Self {
        let indirect = bench.device.indirect_command_buffer(commands).unwrap();
        Replay { bench, indirect }
    }

    fn run(&self) -> Result<Vec<String>, DeviceError> {
        let before = self.bench.driver.all_calls().len();
        self.bench.run(vec![Command::ExecuteIndirect(Arc::clone(&self.indirect))])?;
        Ok(self.bench.driver.all_calls().split_off(before))
    }
}

/// Doubles the first element of `x`, and does nothing 99 times.
fn hundred(bench: &Bench, x: &Arc<dyn Buffer>) -> Vec<Command> {
    let pipeline = bench.pipeline();
    (0..100).map(|n| dispatch(&pipeline, x, if n == 0 { 2 } else { 1 }, 1)).collect()
}

#[test]
fn a_hundred_commands_are_one_launch_from_the_second_replay_on() {
    let bench = Bench::new(multiply);
    let x = bench.buffer(&[1, 1]);
    let commands = hundred(&bench, &x);
    let replay = Replay::of(bench, commands);
    let count = |calls: &[String], word: &str| calls.iter().filter(|call| call.starts_with(word)).count();
    let first = replay.run().unwrap();
    assert_eq!((count(&first, "launch"), count(&first, "graph")), (100, 0));
    let second = replay.run().unwrap();
    assert_eq!(
        (count(&second, "launch"), count(&second, "begin capture"), count(&second, "graph")),
        (100, 1, 1)
    );
    for _ in 0..3 {
        assert_eq!(replay.run().unwrap(), ["record", "graph", "record", "ended"]);
    }
    assert_eq!(values(&x), [32, 1]);
    let handles = replay.bench.driver.live_handles();
    let Replay { bench, indirect } = replay;
    drop(indirect);
    assert_eq!(bench.driver.live_handles(), handles - 1, "the graph goes with its commands");
}

#[test]
fn a_fault_in_a_graph_is_told_each_time_and_forgotten() {
    let bench = Bench::new(multiply);
    let (x, short) = (bench.buffer(&[1; 40]), bench.buffer(&[1]));
    let pipeline = bench.pipeline();
    let commands = vec![dispatch(&pipeline, &short, 1, 1), dispatch(&pipeline, &x, 1, 50)];
    let replay = Replay::of(bench, commands);
    for _ in 0..4 {
        let error = replay.run().unwrap_err();
        let DeviceError::OutOfBounds(fault) = error else { panic!("{error:?}") };
        assert_eq!((fault.element_index, fault.bound_elements, fault.line), (Some(40), Some(40), 3));
        replay.bench.run(vec![dispatch(&pipeline, &x, 1, 40)]).unwrap();
    }
}

#[test]
fn a_graph_is_made_anew_when_a_buffer_has_moved() {
    let bench = Bench::new(multiply);
    let x = bench.buffer(&[1]);
    let commands = hundred(&bench, &x);
    let replay = Replay::of(bench, commands);
    (0..3).for_each(|_| drop(replay.run().unwrap()));
    let host = x.contents().unwrap();
    let calls = replay.run().unwrap();
    assert!(calls.contains(&"begin capture".to_owned()), "{calls:?}");
    assert_eq!(replay.run().unwrap(), ["record", "graph", "record", "ended"]);
    // SAFETY: the buffer is alive, and no work uses it.
    assert_eq!(unsafe { host.cast::<u32>().read() }, 32);
}

#[test]
fn each_queue_has_its_own_graph() {
    let bench = Bench::new(multiply);
    let x = bench.buffer(&[1]);
    let commands = hundred(&bench, &x);
    let replay = Replay::of(bench, commands);
    (0..2).for_each(|_| drop(replay.run().unwrap()));
    let other = replay.bench.device.queue(&QueueDescriptor::default()).unwrap();
    for launches in [100, 100, 0] {
        let before = replay.bench.driver.all_calls().len();
        let commands = vec![Command::ExecuteIndirect(Arc::clone(&replay.indirect))];
        other.submit(CommandList::new(commands)).unwrap().wait().unwrap();
        let calls = replay.bench.driver.all_calls().split_off(before);
        assert_eq!(calls.iter().filter(|call| call.starts_with("launch")).count(), launches);
    }
    assert_eq!(values(&x), [32]);
}
