//! Launches that work, and launches that are refused before anything runs.

use std::sync::Arc;

use anymetal_hal::artifact::ArtifactCode;
use anymetal_hal::buffer::{BufferDescriptor, StorageMode};
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, Command, Dispatch, Grid, ThreadgroupMemory,
};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::QueueDescriptor;

use crate::kernels::{artifact, bind, device, dispatch, pipeline, read_words, submission, words, zeroed};

#[test]
fn saxpy_is_right_for_awkward_sizes() {
    let device = device(2);
    let (saxpy, queue) = (pipeline(&device, "saxpy"), device.queue(&QueueDescriptor::default()).unwrap());
    for count in [0u32, 1, 31, 32, 33, 1000, (1 << 20) + 7] {
        let values = |scale: f32| (0..count).map(|i| (i as f32 * scale).to_bits()).collect::<Vec<u32>>();
        let (x, y) = (words(&device, &values(1.0)), words(&device, &values(0.5)));
        let a = Binding::new(2, BoundResource::Bytes(2.0f32.to_le_bytes().to_vec()));
        let commands = vec![dispatch(&saxpy, vec![bind(0, &x), bind(1, &y), a], count, 256)];
        queue.submit(submission(commands)).unwrap().wait().unwrap();
        assert_eq!(read_words(y.as_ref()), values(2.5), "{count} elements");
    }
}

#[test]
fn every_threadgroup_of_a_grid_runs_once_with_its_real_size() {
    let device = device(3);
    let (count, queue) = (pipeline(&device, "count"), device.queue(&QueueDescriptor::default()).unwrap());
    let grids = [
        (Grid::Threads([33, 7, 3]), [8, 4, 2]),
        (Grid::Threads([1, 1, 1]), [16, 16, 4]),
        (Grid::Threadgroups([5, 3, 2]), [32, 1, 1]),
        (Grid::Threads([100_000, 1, 1]), [1, 1, 1]),
    ];
    for (grid, group_size) in grids {
        let extent = match grid {
            Grid::Threads(threads) => threads,
            Grid::Threadgroups(groups) => [0, 1, 2].map(|d| groups[d] * group_size[d]),
        };
        let groups = [0, 1, 2].map(|d: usize| extent[d].div_ceil(group_size[d]));
        let real = |at: u32, d: usize| group_size[d].min(extent[d] - at * group_size[d]);
        let mut expected = Vec::new();
        for z in 0..groups[2] {
            for y in 0..groups[1] {
                expected.extend((0..groups[0]).map(|x| real(x, 0) * real(y, 1) * real(z, 2)));
            }
        }
        let counts = zeroed(&device, expected.len() as u64 * 4);
        let dispatch = Dispatch::new(Arc::clone(&count), grid, group_size);
        let command = Command::Dispatch(dispatch.with_bindings(vec![bind(0, &counts)]));
        queue.submit(submission(vec![command])).unwrap().wait().unwrap();
        assert_eq!(read_words(counts.as_ref()), expected, "{grid:?} in {group_size:?}");
    }
}

#[test]
fn commands_of_a_buffer_see_each_other_in_order() {
    let device = device(2);
    let (saxpy, queue) = (pipeline(&device, "saxpy"), device.queue(&QueueDescriptor::default()).unwrap());
    let count = 3 << 20;
    let (x, y, copied) = (zeroed(&device, count * 4), zeroed(&device, count * 4), zeroed(&device, count * 4));
    let one = Binding::new(2, BoundResource::Bytes(1.0f32.to_le_bytes().to_vec()));
    let add = || dispatch(&saxpy, vec![bind(0, &x), bind(1, &y), one.clone()], count as u32, 512);
    // Bytes 0x40 four times are the float 3.0039...
    let fill = BufferFill::new(Arc::clone(&x), 0..count * 4, 0x40).unwrap();
    let copy = BufferCopy::new(Arc::clone(&y), 4..count * 4, Arc::clone(&copied), 0).unwrap();
    let commands = vec![Command::Fill(fill), add(), add(), Command::Copy(copy)];
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    let twice = (2.0 * f32::from_bits(0x4040_4040)).to_bits();
    let result = read_words(copied.as_ref());
    assert!(result[..count as usize - 1].iter().all(|&word| word == twice));
    assert_eq!(result[count as usize - 1], 0);
}

#[test]
fn worker_memory_is_laid_out_as_promised() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let out = zeroed(&device, 64 * 4);
    let launch = |length| {
        let pipeline = pipeline(&device, "worker_memory");
        let dispatch = Dispatch::new(pipeline, Grid::Threadgroups([64, 1, 1]), [250, 1, 1])
            .with_bindings(vec![bind(0, &out)])
            .with_threadgroup_memory(vec![ThreadgroupMemory::new(0, length)]);
        queue.submit(submission(vec![Command::Dispatch(dispatch)]))
    };
    for length in [0, 1, 32768 - 128] {
        launch(length).unwrap().wait().unwrap();
        assert_eq!(read_words(out.as_ref()), vec![1; 64]);
    }
    assert!(matches!(launch(32768), Err(DeviceError::ThreadgroupMemoryTooLarge { .. })));
}

#[test]
fn empty_dispatches_succeed_but_their_arguments_are_checked() {
    let device = device(2);
    let (tally, queue) = (pipeline(&device, "tally"), device.queue(&QueueDescriptor::default()).unwrap());
    let counter = zeroed(&device, 8);
    queue.submit(submission(vec![dispatch(&tally, vec![bind(0, &counter)], 0, 64)])).unwrap().wait().unwrap();
    queue.submit(submission(vec![])).unwrap().wait().unwrap();
    assert_eq!(read_words(counter.as_ref()), [0, 0]);
    let refused = queue.submit(submission(vec![dispatch(&tally, vec![], 0, 64)]));
    assert!(matches!(refused, Err(DeviceError::MissingArgument { index: 0, .. })));
}

#[test]
fn a_refused_command_buffer_runs_nothing() {
    let device = device(2);
    let (tally, queue) = (pipeline(&device, "tally"), device.queue(&QueueDescriptor::default()).unwrap());
    let (counter, other) = (zeroed(&device, 8), zeroed(&crate::kernels::device(1), 8));
    let good = || dispatch(&tally, vec![bind(0, &counter)], 64, 64);
    let refuse = |bad| queue.submit(submission(vec![good(), bad])).unwrap_err();
    let wrong_device = refuse(dispatch(&tally, vec![bind(0, &other)], 1, 1));
    assert_eq!(wrong_device, DeviceError::WrongDevice { what: "buffer", device: "cpu".into() });
    let too_large = refuse(dispatch(&tally, vec![bind(0, &counter)], 1, 2000));
    assert!(matches!(too_large, DeviceError::GroupTooLarge { .. }));
    let offset = |offset| {
        let resource = BoundResource::Buffer { buffer: Arc::clone(&counter), offset, length: None };
        refuse(dispatch(&tally, vec![Binding::new(0, resource)], 1, 1))
    };
    assert!(matches!(offset(9), DeviceError::RangeOutsideBuffer { offset: 9, .. }));
    assert!(matches!(offset(2), DeviceError::MisalignedArgument { offset: 2, align: 4, .. }));
    let copy = |range, to| BufferCopy::new(Arc::clone(&counter), range, Arc::clone(&counter), to);
    assert!(matches!(copy(0..5, 4), Err(DeviceError::RangeOutsideBuffer { .. })));
    assert!(matches!(copy(4..9, 0), Err(DeviceError::RangeOutsideBuffer { .. })));
    assert!(matches!(copy(0..4, 2), Err(DeviceError::OverlappingCopy { .. })));
    assert_eq!(queue.in_flight(), 0);
    assert_eq!(read_words(counter.as_ref()), [0, 0]);
}

#[test]
fn unloadable_code_and_unknown_kernels_are_named() {
    let device = device(1);
    let unknown = device.pipeline(&artifact(), "nothing").unwrap_err();
    assert!(matches!(unknown, DeviceError::UnknownKernel { existing, .. } if existing.len() == 8));
    let damaged = artifact().as_ref().clone().code(ArtifactCode::Object(b"\x7fELF"[..].into()));
    let damaged = device.pipeline(&Arc::new(damaged), "saxpy").unwrap_err();
    assert!(matches!(damaged, DeviceError::UnloadableCode { .. }));
    let foreign = artifact().as_ref().clone().code(ArtifactCode::Ptx(".version 7.0".into()));
    let foreign = device.pipeline(&Arc::new(foreign), "saxpy").unwrap_err();
    assert!(matches!(&foreign, DeviceError::UnloadableCode { .. }));
    assert!(foreign.to_string().contains("PTX for NVIDIA GPUs"), "{foreign}");
    let mut renamed = artifact().as_ref().clone();
    renamed.kernels[0].symbol = "elsewhere".into();
    let renamed = device.pipeline(&Arc::new(renamed), "empty").unwrap_err();
    assert!(matches!(renamed, DeviceError::UnloadableCode { .. }));
}

#[test]
fn buffers_check_their_ranges_and_count_their_bytes() {
    let device = device(1);
    let before = device.allocated_bytes();
    let buffer = zeroed(&device, 100);
    assert_eq!(device.allocated_bytes() - before, 100);
    assert!(buffer.write(99, &[1, 2]).is_err());
    buffer.write(99, &[7]).unwrap();
    let mut byte = [0];
    buffer.read(99, &mut byte).unwrap();
    assert_eq!(byte, [7]);
    assert!(buffer.read(100, &mut byte).is_err());
    buffer.read(100, &mut []).unwrap();
    drop(buffer);
    assert_eq!(device.allocated_bytes(), before);
    let private = BufferDescriptor::shared(4).storage_mode(StorageMode::Private);
    let private = device.buffer(&private).unwrap();
    assert!(private.contents().is_none());
    assert!(matches!(private.read(0, &mut byte), Err(DeviceError::Unsupported { .. })));
    let enormous = device.buffer(&BufferDescriptor::shared(u64::MAX));
    assert!(matches!(enormous, Err(DeviceError::BufferTooLarge { .. })));
}
