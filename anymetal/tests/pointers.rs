//! Pointers in buffers: scenes of many buffers behind one argument, addresses that kernels write, and what is
//! said of those that lead nowhere.

use anymetal::command::ResourceUsage;
use anymetal::error::{DeviceError, LoadedPointer, OutOfBounds};
use anymetal::sanitizer::{self, Finding, FindingKind};
use anymetal::{
    Buffer, BufferDescriptor, CheckMode, CompileOptions, Device, Error, LibraryDescriptor, Pipeline, Pod,
};

const SCENE: &str = "
    struct Mesh { device const float* values; uint count; };
    kernel void sum(constant Mesh* meshes, device float* out, uint i [[thread_position_in_grid]]) {
      Mesh mesh = meshes[i];
      float total = 0;
      for (uint k = 0; k < mesh.count; k++) total += mesh.values[k];
      out[i] = total;
    }
    kernel void scale(constant Mesh* meshes, uint i [[thread_position_in_grid]]) {
      device float* values = (device float*)meshes[i].values;
      for (uint k = 0; k < meshes[i].count; k++) values[k] *= 2;
    }
    struct Node { device Node* next; uint value; };
    kernel void link(device Node* nodes, constant uint& count, uint i [[thread_position_in_grid]]) {
      nodes[i].next = i + 1 < count ? nodes + i + 1 : nullptr;
      nodes[i].value = i;
    }
    kernel void walk(device Node* const constant& head, device uint* out) {
      uint total = 0;
      for (device Node* node = head; node; node = node->next) total += node->value;
      *out = total;
    }";

fn pipeline(device: &Device, kernel: &str, check_mode: CheckMode) -> Pipeline {
    let options = CompileOptions::new().check_mode(check_mode).file_name("scene.metal");
    device
        .create_library(&LibraryDescriptor::from_source(SCENE).options(&options))
        .unwrap()
        .pipeline(kernel)
        .unwrap()
}

/// A `Mesh` of the kernels for each buffer.
fn meshes_of<T: Pod>(buffers: &[Buffer<T>]) -> Vec<[u64; 2]> {
    buffers.iter().map(|buffer| [buffer.gpu_address().unwrap(), buffer.len() as u64]).collect()
}

fn fault(outcome: Result<impl std::fmt::Debug, Error>) -> OutOfBounds {
    match outcome {
        Err(Error::Device(DeviceError::OutOfBounds(fault))) => *fault,
        other => panic!("no fault, but {other:?}"),
    }
}

/// A thousand buffers of different lengths.
fn scene(device: &Device) -> Vec<Buffer<f32>> {
    let values = |mesh: usize| (0..mesh % 17 + 1).map(|k| (mesh + k) as f32).collect::<Vec<_>>();
    (0..1000)
        .map(|mesh| {
            device.create_buffer(&BufferDescriptor::new(&values(mesh)).label(format!("mesh {mesh}"))).unwrap()
        })
        .collect()
}

fn expected(mesh: usize) -> f32 {
    (0..mesh % 17 + 1).map(|k| (mesh + k) as f32).sum()
}

#[test]
fn a_scene_of_a_thousand_buffers_is_read_and_written_through_one_argument() {
    let device = Device::system_default().unwrap();
    let queue = device.queue().unwrap();
    let buffers = scene(&device);
    let meshes = device.buffer(&meshes_of(&buffers)).unwrap();
    for check_mode in [CheckMode::Bounds, CheckMode::Off, CheckMode::Sanitize] {
        let out = device.buffer_zeroed::<f32>(1000).unwrap();
        let sum = pipeline(&device, "sum", check_mode);
        let launch = queue.launch(&sum).arg(&meshes).arg(&out).threads(1000).group_size(64);
        launch.use_resources(&buffers, ResourceUsage::Read).submit().unwrap().wait().unwrap();
        let sums: Vec<f32> = (0..1000).map(expected).collect();
        assert_eq!(out.read().unwrap(), sums, "{check_mode:?}");
    }
    let mut commands = queue.command_buffer().unwrap();
    let scale = pipeline(&device, "scale", CheckMode::Bounds);
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&scale);
    encoder.use_resources(&buffers, ResourceUsage::ReadWrite);
    encoder.set_buffer(0, &meshes, 0).unwrap();
    encoder.dispatch_threads(1000, 32).unwrap();
    encoder.end_encoding();
    // Reading a resident buffer waits for the work.
    let _submission = commands.commit().unwrap();
    for (mesh, buffer) in buffers.iter().enumerate() {
        assert_eq!(buffer.read().unwrap().iter().sum::<f32>(), 2.0 * expected(mesh), "mesh {mesh}");
    }
}

#[test]
fn addresses_that_a_kernel_writes_are_those_of_the_host() {
    let device = Device::system_default().unwrap();
    let queue = device.queue().unwrap();
    let nodes = device.buffer_zeroed::<[u64; 2]>(100).unwrap();
    let link = pipeline(&device, "link", CheckMode::Bounds);
    queue.launch(&link).arg(&nodes).arg(100u32).threads(100).submit().unwrap().wait().unwrap();
    let start = nodes.gpu_address().unwrap();
    let read = nodes.read().unwrap();
    assert_eq!((read[0][0], read[98][0], read[99][0]), (start + 16, start + 99 * 16, 0));
    assert_eq!(nodes.view(3..5).unwrap().gpu_address().unwrap(), start + 48);
    let walk = pipeline(&device, "walk", CheckMode::Bounds);
    let (head, out) = (device.buffer(&[start]).unwrap(), device.buffer_zeroed::<u32>(1).unwrap());
    let launch = queue.launch(&walk).arg(&head).arg(&out).threads(1);
    launch.use_resource(&nodes, ResourceUsage::Read).submit().unwrap().wait().unwrap();
    assert_eq!(out.read().unwrap(), [99 * 50]);
}

#[test]
fn a_fault_through_a_loaded_pointer_names_the_buffer_or_the_address() {
    let device = Device::system_default().unwrap();
    let queue = device.queue().unwrap();
    let sum = pipeline(&device, "sum", CheckMode::Bounds);
    let (short, out) = (
        device.create_buffer(&BufferDescriptor::new(&[1.0f32, 2.0]).label("short")).unwrap(),
        device.buffer_zeroed::<f32>(1).unwrap(),
    );
    let run = |meshes: [u64; 2], resident: &[&Buffer<f32>]| {
        let meshes = device.buffer(&[meshes]).unwrap();
        let launch = queue.launch(&sum).arg(&meshes).arg(&out).threads(1);
        let launch = launch.use_resources(resident.iter().copied(), ResourceUsage::Read);
        launch.submit().and_then(|submission| submission.wait())
    };
    let address = short.gpu_address().unwrap();
    let beyond = fault(run([address, 3], &[&short]));
    assert_eq!(beyond.through, Some(LoadedPointer::Buffer { label: "short".to_owned() }));
    assert_eq!((beyond.byte_offset, beyond.bound_len, beyond.line), (8, 8, 6));
    let text = beyond.to_string();
    assert!(
        text.contains("of buffer `short`, through a loaded pointer, at byte 8, but it has 8 bytes"),
        "{text}"
    );
    assert_eq!(out.read().unwrap(), [3.0f32], "what is outside counts as zero");
    let forgotten = fault(run([address, 2], &[]));
    assert_eq!(forgotten.through, Some(LoadedPointer::Address(address)), "{forgotten}");
    let text = forgotten.to_string();
    assert!(text.contains(&format!("address {address:#x} is in no resident buffer")), "{text}");
    run([0, 0], &[]).unwrap();
    assert!(fault(run([0, 1], &[])).to_string().contains("a null pointer"));
}

fn found_by(kind: FindingKind, work: impl FnOnce()) -> Vec<Finding> {
    // Other tests of this process find nothing in these kernels.
    work();
    sanitizer::findings().into_iter().filter(|finding| finding.kind == kind).collect()
}

#[test]
fn the_sanitizer_follows_loaded_pointers() {
    let device = Device::system_default().unwrap();
    let queue = device.queue().unwrap();
    let (sum, scale) =
        (pipeline(&device, "sum", CheckMode::Sanitize), pipeline(&device, "scale", CheckMode::Sanitize));
    let mesh = device.create_buffer(&BufferDescriptor::new(&[1.0f32, 2.0]).label("teapot")).unwrap();
    let out = device.buffer_zeroed::<f32>(2).unwrap();
    let address = mesh.gpu_address().unwrap();
    let meshes = |meshes: &[[u64; 2]]| device.buffer(meshes).unwrap();
    let beyond = found_by(FindingKind::OutOfBounds, || {
        let meshes = meshes(&[[address, 3]]);
        let launch = queue.launch(&sum).arg(&meshes).arg(&out).threads(1);
        launch.use_resource(&mesh, ResourceUsage::Read).submit().unwrap().wait().unwrap();
    });
    let named = |finding: &&Finding| finding.message.contains("byte 8 of `teapot`, which has 8 bytes");
    let finding = beyond.iter().find(named).unwrap_or_else(|| panic!("{beyond:?}"));
    assert_eq!(finding.memory.as_ref().unwrap().label.as_deref(), Some("teapot"));
    let dangling = found_by(FindingKind::OutOfBounds, || {
        let meshes = meshes(&[[address, 1]]);
        queue.launch(&sum).arg(&meshes).arg(&out).threads(1).submit().unwrap().wait().unwrap();
    });
    let text = format!("address {address:#x}, through a loaded pointer, is in no buffer");
    assert!(dangling.iter().any(|finding| finding.message.contains(&text)), "{dangling:?}");
    // Two threads write through two pointers to one buffer.
    let races = found_by(FindingKind::RaceBetweenThreadgroups, || {
        let meshes = meshes(&[[address, 2], [address + 4, 1]]);
        let launch = queue.launch(&scale).arg(&meshes).threads(2).group_size(1);
        launch.use_resource(&mesh, ResourceUsage::ReadWrite).submit().unwrap().wait().unwrap();
    });
    let of_mesh = |finding: &Finding| finding.memory.as_ref().is_some_and(|memory| memory.name == "teapot");
    assert!(races.iter().any(of_mesh), "{races:?}");
}
