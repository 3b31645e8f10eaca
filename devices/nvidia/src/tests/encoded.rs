//! Commands that kernels have encoded: read from the device after the kernels before them, checked, launched.

use anymetal_hal::encoded_commands::memory_layout::{Command as EncodedCommand, CommandGrid, CommandLayout};
use anymetal_hal::encoded_commands::{
    CommandMemory, EncodedExecution, ExecutedRange, IndirectPipelines, InvalidCommand, Repeat, attach,
};
use anymetal_testing::emulated::EmulatedDevice;
use anymetal_types::family::Family;

use super::*;

const HANDLE: u64 = 7;

/// One pipeline, with the handle [`HANDLE`].
#[derive(Debug)]
struct Only(Arc<dyn Pipeline>);

impl IndirectPipelines for Only {
    fn pipeline(&self, handle: u64, _: Grid, _: [u32; 3]) -> Result<Option<Arc<dyn Pipeline>>, DeviceError> {
        Ok((handle == HANDLE).then(|| Arc::clone(&self.0)))
    }
}

/// Four commands that multiply the elements of `x` by that of `by`.
struct Encoded {
    bench: Bench,
    pipeline: Arc<dyn Pipeline>,
    memory: CommandMemory,
    x: Arc<dyn Buffer>,
    by: Arc<dyn Buffer>,
}

impl Encoded {
    fn new() -> Encoded {
        let bench = Bench::new(multiply);
        let layout = CommandLayout { capacity: 4, buffers: 2, ..CommandLayout::default() };
        let memory = CommandMemory::new(&bench.device, layout, "commands").unwrap();
        let (pipeline, x, by) = (bench.pipeline(), bench.buffer(&[1; 40]), bench.buffer(&[3]));
        let encoded = Encoded { bench, pipeline, memory, x, by };
        (0..4).for_each(|number| encoded.write(number, &encoded.x, &encoded.by, HANDLE));
        encoded
    }

    fn write(&self, number: u32, x: &Arc<dyn Buffer>, by: &Arc<dyn Buffer>, pipeline: u64) {
        let command = EncodedCommand {
            grid: Some(CommandGrid::Threads([(x.length() / 4) as u32, 1, 1])),
            group_size: [32, 1, 1],
            pipeline,
            buffers: vec![x.device_address().unwrap(), by.device_address().unwrap()],
            ..EncodedCommand::default()
        };
        self.memory.write(number, &command).unwrap();
    }

    fn execution(&self, range: ExecutedRange, repeat: Repeat) -> EncodedExecution {
        let (ranges, pipelines) = (vec![(self.memory.clone(), range)], Only(Arc::clone(&self.pipeline)));
        let execution = EncodedExecution::new(ranges, repeat, Arc::new(pipelines)).unwrap();
        execution.using(vec![Arc::clone(&self.x), Arc::clone(&self.by)])
    }

    fn run(&self, before: Option<Command>, execution: EncodedExecution) -> Result<(), DeviceError> {
        let executed = Command::ExecuteEncoded(Box::new(execution));
        let mut commands: Vec<Command> = before.into_iter().chain([executed]).collect();
        attach(&mut commands);
        self.bench.run(commands)
    }
}

#[test]
fn a_range_is_read_after_the_kernel_that_writes_it() {
    let encoded = Encoded::new();
    let range = encoded.bench.buffer(&[0, 1]);
    let indirect = ExecutedRange::Indirect { buffer: Arc::clone(&range), offset: 0 };
    let execution = encoded.execution(indirect, Repeat::Once);
    let counts = Arc::clone(execution.counts());
    // One command becomes two.
    let before = dispatch(&encoded.pipeline, &range, 2, 2);
    encoded.run(Some(before), execution).unwrap();
    assert_eq!((values(&range), values(&encoded.x)), (vec![0, 2], vec![9; 40]));
    assert_eq!((counts.depth(), counts.launches()), (1, 2));
    let calls = encoded.bench.driver.calls(&["launch", "download"]);
    let words: Vec<&str> = calls.iter().filter_map(|call| call.split(' ').next()).collect();
    assert_eq!(words[..5], ["launch", "download", "download", "launch", "launch"], "{calls:?}");
}

#[test]
fn nesting_goes_on_until_nothing_is_encoded_and_no_deeper_than_allowed() {
    let nested = |max_depth| {
        let encoded = Encoded::new();
        let (range, zero) = (encoded.bench.buffer(&[0, 1]), encoded.bench.buffer(&[0]));
        // The command makes the next range empty.
        encoded.write(0, &range, &zero, HANDLE);
        let indirect = ExecutedRange::Indirect { buffer: Arc::clone(&range), offset: 0 };
        let mut execution = encoded.execution(indirect, Repeat::WhileEncoded { max_depth });
        execution = execution.using(vec![range, zero]);
        let counts = Arc::clone(execution.counts());
        encoded.run(None, execution).map(|()| (counts.depth(), counts.launches()))
    };
    assert_eq!(nested(1).unwrap(), (1, 1));
    assert!(matches!(nested(0), Err(DeviceError::NestingTooDeep { limit: 0 })));
}

#[test]
fn words_that_are_no_command_are_refused_before_anything_is_launched() {
    let refused = |change: &dyn Fn(&Encoded)| {
        let encoded = Encoded::new();
        change(&encoded);
        let execution = encoded.execution(ExecutedRange::Commands(0..1), Repeat::Once);
        let error = encoded.run(None, execution).unwrap_err();
        assert_eq!(encoded.bench.driver.calls(&["launch"]), [""; 0]);
        assert_eq!(values(&encoded.x), [1; 40]);
        match error {
            DeviceError::InvalidCommand { label, command: 0, reason } if label == "commands" => *reason,
            other => panic!("{other}"),
        }
    };
    let unknown = refused(&|encoded| encoded.write(0, &encoded.x, &encoded.by, 99));
    assert_eq!(unknown, InvalidCommand::UnknownPipeline { handle: 99 });
    let other = refused(&|encoded| encoded.write(0, &encoded.bench.buffer(&[1; 40]), &encoded.by, HANDLE));
    assert!(matches!(other, InvalidCommand::NotResident { index: 0, .. }), "{other}");
    let garbage = refused(&|encoded| {
        let start = encoded.memory.bytes_of(&(0..1)).start;
        encoded.memory.buffer().write(start, &[0xff; 64]).unwrap();
    });
    assert!(matches!(garbage, InvalidCommand::Encoding(_)), "{garbage}");
}

#[test]
fn encoded_commands_are_checked_with_the_limits_of_an_emulated_device() {
    let encoded = Encoded::new();
    let run = |most: u32| {
        let inner: Arc<dyn Device> = Arc::new(encoded.bench.device.clone());
        let capabilities = inner.capabilities().clone().max_threads_per_threadgroup(most);
        let device = EmulatedDevice::new(inner, Family::Apple7).with_capabilities(capabilities);
        let queue = device.queue(&QueueDescriptor::default()).unwrap();
        let execution = encoded.execution(ExecutedRange::Commands(0..1), Repeat::Once);
        let mut commands = vec![Command::ExecuteEncoded(Box::new(execution))];
        attach(&mut commands);
        queue.submit(CommandList::new(commands))?.wait().map(drop)
    };
    let refused = run(31);
    assert!(matches!(refused, Err(DeviceError::GroupTooLarge { limit: 31, .. })), "{refused:?}");
    assert_eq!(values(&encoded.x), [1; 40]);
    run(32).unwrap();
    assert_eq!(values(&encoded.x), [3; 40]);
}
