//! Artifacts that bring an interpreter instead of machine code.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anymetal_hal::artifact::{AccessKind, Artifact, ArtifactCode, ArtifactTarget};
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::command::{Binding, BoundResource};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::HeapDescriptor;
use anymetal_hal::launch::{DispatchInterpreter, InterpreterDispatch, InterpreterFault};
use anymetal_hal::queue::QueueDescriptor;

use crate::kernels::{bind, device, dispatch, kernel, pipeline, read_words, submission, words};

/// Knows one kernel, which tells that it has begun and ends when it is told to.
struct Holds {
    begun: Mutex<Sender<()>>,
    end: Mutex<Receiver<()>>,
}

impl DispatchInterpreter for Holds {
    fn dispatch(&self, _request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        self.begun.lock().unwrap().send(()).unwrap();
        self.end.lock().unwrap().recv().unwrap();
        Ok(())
    }
}

/// Knows three kernels: one adds buffers, one faults, one panics.
struct Mock;

impl DispatchInterpreter for Mock {
    fn dispatch(&self, mut request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        match request.kernel {
            "add" => {
                let [left, right] = [request.bindings[0].unwrap(), request.bindings[1].unwrap()];
                for byte in 0..left.len.min(right.len) {
                    let from = request.memories[right.memory][(right.offset + byte) as usize];
                    request.memories[left.memory][(left.offset + byte) as usize] += from;
                }
                Ok(())
            }
            "fault" => Err(InterpreterFault::OutOfBounds {
                argument: Some(0),
                argument_name: "left".into(),
                through: None,
                kind: AccessKind::Load,
                byte_offset: -4,
                bound_len: 8,
                access_bytes: 4,
                element_bytes: 4,
                file: "a.metal".into(),
                line: 1,
                column: 2,
                group: [0; 3],
                thread_in_group: 0,
            }),
            other => panic!("no kernel {other}"),
        }
    }
}

fn artifact() -> Arc<Artifact> {
    interpreted(Arc::new(Mock), &["add", "fault", "panic"])
}

fn interpreted(interpreter: Arc<dyn DispatchInterpreter>, kernels: &[&str]) -> Arc<Artifact> {
    Arc::new(Artifact::new(
        ArtifactTarget::Interpreter,
        ArtifactCode::Interpreter(interpreter),
        kernels.iter().map(|name| kernel(name, &["left", "right"])).collect(),
    ))
}

#[test]
fn bindings_to_one_buffer_share_its_memory() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let add = device.pipeline(&artifact(), "add").unwrap();
    let buffer = words(&device, &[1, 2, 3, 4]);
    let half = |index, offset| {
        Binding::new(index, BoundResource::Buffer { buffer: Arc::clone(&buffer), offset, length: Some(8) })
    };
    let inline = Binding::new(1, BoundResource::Bytes(vec![10, 0, 0, 0]));
    let commands = vec![
        dispatch(&add, vec![half(0, 0), half(1, 8)], 1, 1),
        dispatch(&add, vec![bind(0, &buffer), inline], 1, 1),
    ];
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    assert_eq!(read_words(buffer.as_ref()), [14, 6, 3, 4]);
}

#[test]
fn through_a_buffer_of_a_whole_heap_all_of_the_heap_is_reached() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let add = device.pipeline(&artifact(), "add").unwrap();
    for (whole, expected) in [(false, 0), (true, 12)] {
        let heap = device.heap(&HeapDescriptor::new(256).whole(whole)).unwrap();
        let [first, second, third] = [(); 3].map(|()| heap.buffer(&BufferDescriptor::shared(64)).unwrap());
        first.write(0, &5u32.to_le_bytes()).unwrap();
        second.write(0, &7u32.to_le_bytes()).unwrap();
        // With the whole heap, the sum that the second buffer gets is what it adds to the third.
        let command = dispatch(&add, vec![bind(0, &second), bind(1, &first)], 1, 1);
        queue.submit(submission(vec![command])).unwrap().wait().unwrap();
        assert_eq!([&second, &third].map(|buffer| read_words(buffer.as_ref())[0]), [12, expected]);
        assert_eq!(third.map(0..4, MapMode::Read).is_ok(), !whole);
    }
}

#[test]
fn faults_and_panics_end_the_command_buffer() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let buffer = words(&device, &[0, 0]);
    let run = |name| {
        let pipeline = device.pipeline(&artifact(), name).unwrap();
        let command = dispatch(&pipeline, vec![bind(0, &buffer), bind(1, &buffer)], 1, 1);
        queue.submit(submission(vec![command])).unwrap().wait().unwrap_err()
    };
    assert!(matches!(run("fault"), DeviceError::OutOfBounds(fault) if fault.element_index == Some(-1)));
    let message = "no kernel panic".to_owned();
    assert_eq!(run("panic"), DeviceError::WorkerPanicked { kernel: Some("panic".into()), message });
    let add = device.pipeline(&artifact(), "add").unwrap();
    let command = dispatch(&add, vec![bind(0, &buffer), bind(1, &buffer)], 1, 1);
    queue.submit(submission(vec![command])).unwrap().wait().unwrap();
}

#[test]
fn a_submission_does_not_wait_for_an_interpreted_dispatch_of_another_queue() {
    let device = device(2);
    let ((begun, has_begun), (end, ends)) = (channel(), channel());
    let holds = Holds { begun: Mutex::new(begun), end: Mutex::new(ends) };
    let hold = device.pipeline(&interpreted(Arc::new(holds), &["hold"]), "hold").unwrap();
    let (empty, buffer) = (pipeline(&device, "empty"), words(&device, &[0, 0]));
    let queue = || device.queue(&QueueDescriptor::default()).unwrap();
    let (holding, brief) = (queue(), queue());
    let work = || {
        let commands = vec![dispatch(&empty, vec![], 1, 1)];
        brief.submit(submission(commands).may_run_inline(true)).unwrap()
    };
    // Often enough to be known as brief.
    for _ in 0..200 {
        work().wait().unwrap();
    }
    let command = dispatch(&hold, vec![bind(0, &buffer), bind(1, &buffer)], 1, 1);
    let held = holding.submit(submission(vec![command])).unwrap();
    has_begun.recv().unwrap();
    std::thread::scope(|scope| {
        let (submitted, was_submitted) = channel();
        scope.spawn(move || submitted.send(work()));
        let completion = was_submitted.recv_timeout(Duration::from_secs(20));
        end.send(()).unwrap();
        held.wait().unwrap();
        completion.expect("it was submitted meanwhile").wait().unwrap();
    });
}
