//! Artifacts that bring an interpreter instead of machine code.

use std::sync::Arc;

use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, FaultKind};
use anymetal_hal::command::{Binding, BoundResource};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::{DispatchInterpreter, InterpreterDispatch, InterpreterFault};
use anymetal_hal::queue::QueueDescriptor;

use crate::kernels::{bind, device, dispatch, kernel, read_words, submission, words};

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
                kind: FaultKind::Load,
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
    Arc::new(Artifact {
        target: ArtifactTarget::Interpreter,
        code: ArtifactCode::Interpreter(Arc::new(Mock)),
        kernels: ["add", "fault", "panic"].map(|name| kernel(name, &["left", "right"])).to_vec(),
        fault_sites: vec![],
        fingerprint: String::new(),
    })
}

#[test]
fn bindings_to_one_buffer_share_its_memory() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let add = device.pipeline(&artifact(), "add").unwrap();
    let buffer = words(&device, &[1, 2, 3, 4]);
    let half = |index, offset| Binding {
        index,
        resource: BoundResource::Buffer { buffer: Arc::clone(&buffer), offset, length: Some(8) },
    };
    let inline = Binding { index: 1, resource: BoundResource::Bytes(vec![10, 0, 0, 0]) };
    let commands = vec![
        dispatch(&add, vec![half(0, 0), half(1, 8)], 1, 1),
        dispatch(&add, vec![bind(0, &buffer), inline], 1, 1),
    ];
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    assert_eq!(read_words(buffer.as_ref()), [14, 6, 3, 4]);
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
