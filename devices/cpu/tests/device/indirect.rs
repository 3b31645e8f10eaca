//! Indirect command buffers: the same work as if it were encoded anew, and what they refuse.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::record::recorder::RecorderOptions;
use anymetal_hal::blit::BlitEncoder;
use anymetal_hal::command::{Binding, BoundResource, Command, CommandList, Deadline};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::queue::QueueDescriptor;
use anymetal_testing::null::NullDevice;
use anymetal_testing::recording::RecordingDevice;

use crate::kernels::{artifact, bind, device, dispatch, pipeline, read_words, submission, words, zeroed};

fn execute(indirect: &Arc<dyn IndirectCommandBuffer>) -> CommandList {
    submission(vec![Command::ExecuteIndirect(Arc::clone(indirect))])
}

#[test]
fn every_execution_does_all_of_it_in_order() {
    let device = device(2);
    let queues = [0, 1].map(|_| device.queue(&QueueDescriptor::default()).unwrap());
    let (counter, saved) = (zeroed(&device, 8), words(&device, &[7, 7, 7]));
    let tally = || dispatch(&pipeline(&device, "tally"), vec![bind(0, &counter)], 5, 1);
    let mut commands = vec![tally()];
    BlitEncoder::new(&mut commands)
        .copy(&counter, 0..4, &saved, 0)
        .and_then(|blit| blit.fill(&saved, 4..8, 0))
        .unwrap();
    commands.push(tally());
    let indirect = device.indirect_command_buffer(commands).unwrap();
    assert_eq!(read_words(counter.as_ref())[0], 0, "encoding runs nothing");
    for execution in 0..3u32 {
        let completion = queues[execution as usize % 2].submit(execute(&indirect)).unwrap();
        assert!(completion.wait().is_ok() && counter.is_unused());
        assert_eq!(read_words(counter.as_ref())[0], 10 * (execution + 1));
        assert_eq!(read_words(saved.as_ref()), [10 * execution + 5, 0, 7]);
    }
    // Between other commands, twice in one command buffer, from two queues at once.
    let ends = queues.each_ref().map(|queue| {
        let again = || Command::ExecuteIndirect(Arc::clone(&indirect));
        queue.submit(submission(vec![again(), tally(), again()])).unwrap()
    });
    assert!(ends.iter().all(|end| end.wait().is_ok()));
    assert_eq!(read_words(counter.as_ref())[0], 30 + 2 * 25);
    // It holds what it uses.
    let address = Arc::downgrade(&counter);
    drop((counter, saved, ends));
    assert!(address.upgrade().is_some());
    drop(indirect);
    assert_eq!(device.allocated_bytes(), 0);
}

#[test]
fn a_fault_and_the_deadline_name_the_kernel_inside() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (out, counter) = (words(&device, &[9; 100]), zeroed(&device, 8));
    let (store, tally) = (pipeline(&device, "checked_store"), pipeline(&device, "tally"));
    let commands =
        vec![dispatch(&store, vec![bind(0, &out)], 101, 32), dispatch(&tally, vec![bind(0, &counter)], 1, 1)];
    let faulty = device.indirect_command_buffer(commands).unwrap();
    let error = queue.submit(execute(&faulty)).unwrap().wait().unwrap_err();
    assert!(matches!(&error, DeviceError::OutOfBounds(fault) if fault.kernel == "checked_store"), "{error}");
    assert_eq!(read_words(counter.as_ref()), [0, 0], "what follows a fault must not run");

    let endless = vec![dispatch(&pipeline(&device, "endless"), Vec::new(), 64, 32)];
    let endless = device.indirect_command_buffer(endless).unwrap();
    let limited = execute(&endless).deadline(Deadline::After(Duration::from_millis(20)));
    let error = queue.submit(limited).unwrap().wait().unwrap_err();
    assert!(
        matches!(&error, DeviceError::DeadlineExceeded { kernel: Some(kernel), .. } if kernel == "endless")
    );
}

#[test]
fn what_waits_what_is_written_inline_and_what_is_wrong_is_refused_when_it_is_made() {
    let device = device(1);
    let refused = |commands: Vec<Command>| device.indirect_command_buffer(commands).unwrap_err();
    let event = device.event().unwrap();
    let wait = refused(vec![Command::WaitEvent { event, value: 1 }]);
    assert_eq!(wait, DeviceError::NotIndirect { what: "`wait`".into() });
    let empty = device.indirect_command_buffer(Vec::new()).unwrap();
    assert!(matches!(refused(vec![Command::ExecuteIndirect(empty)]), DeviceError::NotIndirect { .. }));
    let saxpy = pipeline(&device, "saxpy");
    let x = words(&device, &[0; 4]);
    let inline = |index| Binding::new(index, BoundResource::Bytes(vec![0; 4]));
    // The kernel does not say that it only reads its factor.
    let written = refused(vec![dispatch(&saxpy, vec![bind(0, &x), bind(1, &x), inline(2)], 4, 4)]);
    assert_eq!(
        written.to_string(),
        "an indirect command buffer cannot hold inline bytes that a kernel may write (`saxpy`: 2 `a`); encode it \
         into the command buffer"
    );
    let missing = refused(vec![dispatch(&saxpy, vec![bind(0, &x)], 4, 4)]);
    assert!(matches!(missing, DeviceError::MissingArgument { index: 1, .. }));
}

#[test]
fn of_another_device_it_is_refused_and_a_recording_tells_what_is_in_it() {
    let (one, other) = (device(1), device(1));
    let counter = zeroed(&one, 8);
    let fill = |value| {
        let mut commands = Vec::new();
        BlitEncoder::new(&mut commands).fill(&counter, 0..8, value).unwrap();
        commands
    };
    let indirect = one.indirect_command_buffer(fill(1)).unwrap();
    let queue = other.queue(&QueueDescriptor::default()).unwrap();
    let wrong = |device: &str| DeviceError::WrongDevice {
        what: "indirect command buffer",
        device: device.to_owned(),
    };
    assert_eq!(queue.submit(execute(&indirect)).unwrap_err(), wrong("cpu"));
    let null = NullDevice::new();
    let of_null = null.indirect_command_buffer(Vec::new()).unwrap();
    assert_eq!(queue.submit(execute(&of_null)).unwrap_err(), wrong("cpu"));
    let null_queue = null.queue(&QueueDescriptor::default()).unwrap();
    null_queue.submit(execute(&of_null)).unwrap().wait().unwrap();
    let foreign = null_queue.submit(execute(&indirect)).unwrap_err();
    assert!(matches!(foreign, DeviceError::WrongDevice { .. }), "{foreign}");

    let recording = RecordingDevice::new(Arc::new(one.clone()), RecorderOptions::replayable(8));
    let indirect = recording.indirect_command_buffer(fill(3)).unwrap();
    let queue = recording.queue(&QueueDescriptor::default()).unwrap();
    queue.submit(execute(&indirect)).unwrap().wait().unwrap();
    let recorded = recording.recorder().recording();
    assert_eq!(recorded.entries[0].commands.len(), 1);
    let replayed = recorded.replay(&other, &|_, _| Some(artifact())).unwrap();
    assert_eq!(read_words(replayed[0].buffers[0].1.as_ref()), [0x0303_0303; 2]);
}
