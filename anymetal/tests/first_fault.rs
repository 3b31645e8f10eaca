//! Of a thread that accesses several things out of bounds, the report is of the first one.

use anymetal::command::ResourceUsage;
use anymetal::error::{DeviceError, LoadedPointer, OutOfBounds};
use anymetal::{Buffer, BufferDescriptor, CompileOptions, Device, Error, Launch, LibraryDescriptor};

const KERNELS: &str = "
    kernel void one_after_the_other(device float* x, device float* y, uint i [[thread_position_in_grid]]) {
      x[8 + i] = 1;
      y[8 + i] = 2;
      x[80 + i] = y[16 + i];
    }
    kernel void in_a_loop(device float* x, constant uint& start, uint i [[thread_position_in_grid]]) {
      for (uint k = start; k < start + 16; k++) x[k] += 1;
    }
    kernel void behind_a_branch(device float* x, device float* y, constant uint& start,
                                uint i [[thread_position_in_grid]]) {
      for (uint k = start; k < start + 16; k++) {
        if (k == 9) y[k] = 1;
        else if (k > 9) x[k] = 2;
      }
    }
    struct Places { device float* first; device float* second; };
    kernel void through_memory(constant Places& places, device float* x, uint i [[thread_position_in_grid]]) {
      places.first[100 + i] = 1;
      places.second[200 + i] = 2;
      x[300 + i] = 3;
    }
    kernel void before_memory(constant Places& places, device float* x, uint i [[thread_position_in_grid]]) {
      float read = places.first[i];
      x[300 + i] = read;
      places.second[200 + i] = 2;
    }";

/// What is told of a launch of a kernel.
fn told(kernel: &str, give: impl Fn(Launch<'_>) -> Launch<'_>) -> OutOfBounds {
    let device = Device::system_default().unwrap();
    let options = CompileOptions::new().file_name("faults.metal");
    let library = device.create_library(&LibraryDescriptor::from_source(KERNELS).options(&options)).unwrap();
    let (pipeline, queue) = (library.pipeline(kernel).unwrap(), device.queue().unwrap());
    match give(queue.launch(&pipeline)).threads(1).run() {
        Err(Error::Device(DeviceError::OutOfBounds(fault))) => *fault,
        other => panic!("no fault, but {other:?}"),
    }
}

fn floats(count: usize, label: &str) -> Buffer<f32> {
    Device::system_default()
        .unwrap()
        .create_buffer(&BufferDescriptor::new(&vec![0.0f32; count]).label(label))
        .unwrap()
}

#[test]
fn of_accesses_one_after_the_other_the_first_one_is_told() {
    let (x, y) = (floats(8, "x"), floats(8, "y"));
    let fault = told("one_after_the_other", |launch| launch.arg(&x).arg(&y));
    assert_eq!((fault.line, fault.argument_name.as_str(), fault.element_index), (3, "x", Some(8)));
}

#[test]
fn of_a_loop_the_first_index_beyond_the_array_is_told() {
    let x = floats(8, "x");
    let fault = told("in_a_loop", |launch| launch.arg(&x).arg(3u32));
    assert_eq!((fault.line, fault.element_index), (8, Some(8)));
    let (x, y) = (floats(8, "x"), floats(4, "y"));
    let fault = told("behind_a_branch", |launch| launch.arg(&x).arg(&y).arg(0u32));
    assert_eq!((fault.line, fault.argument_name.as_str(), fault.element_index), (13, "y", Some(9)));
    assert_eq!(fault.bound_elements, Some(4));
}

/// Two buffers that kernels reach through the addresses in a third.
struct Scene {
    first: Buffer<f32>,
    second: Buffer<f32>,
    places: Buffer<u64>,
    x: Buffer<f32>,
}

impl Scene {
    fn new() -> Self {
        let (first, second, x) = (floats(1, "first"), floats(2, "second"), floats(3, "x"));
        let addresses = [first.gpu_address().unwrap(), second.gpu_address().unwrap()];
        let places = Device::system_default().unwrap().buffer(&addresses).unwrap();
        Scene { first, second, places, x }
    }

    fn give<'a>(&self, launch: Launch<'a>) -> Launch<'a> {
        launch
            .arg(&self.places)
            .arg(&self.x)
            .use_resources([&self.first, &self.second], ResourceUsage::ReadWrite)
    }
}

#[test]
fn the_memory_that_is_told_is_that_of_the_first_access() {
    let scene = Scene::new();
    let fault = told("through_memory", |launch| scene.give(launch));
    let labelled = |label: &str| Some(LoadedPointer::Buffer { label: label.to_owned() });
    assert_eq!((fault.line, fault.byte_offset, fault.bound_len), (19, 400, 4));
    assert_eq!(fault.through, labelled("first"));
    // The loaded pointer that was fine before says nothing of the argument.
    let fault = told("before_memory", |launch| scene.give(launch));
    assert_eq!((fault.line, fault.argument_name.as_str(), fault.through.as_ref()), (25, "x", None));
    assert_eq!((fault.element_index, fault.bound_elements), (Some(300), Some(3)));
}
