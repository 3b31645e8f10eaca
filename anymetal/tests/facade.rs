//! The public crate over a hand-made artifact: launches, conversions, refusals, encoders. No compiler needed.

use std::sync::Arc;
use std::time::Duration;

use anymetal::argument::{Inline, Plain, Unbound};
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::reflection::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ElementType, KernelInfo, ScalarType,
};
use anymetal::{Device, Error, Library, LibraryDescriptor, Submission, f16};
use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::{ArtifactCode, ArtifactTarget};
use anymetal_hal::launch::{DispatchInterpreter, InterpreterDispatch, InterpreterFault};

/// `saxpy`: y[i] += a * x[i] over the grid. `echo`: copies argument 0 to argument 1 byte by byte. `group`:
/// writes the group size.
struct Mock;

impl DispatchInterpreter for Mock {
    fn dispatch(&self, mut request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        match request.kernel {
            "saxpy" => saxpy(&mut request),
            "group" => {
                let binding = request.bindings[0].unwrap();
                let out = &mut request.memories[binding.memory][binding.offset as usize..];
                for (bytes, size) in out.as_chunks_mut::<4>().0.iter_mut().zip(request.group_size) {
                    *bytes = size.to_le_bytes();
                }
            }
            _ => {
                let [from, to] = [request.bindings[0].unwrap(), request.bindings[1].unwrap()];
                for byte in 0..from.len.min(to.len) {
                    let value = request.memories[from.memory][(from.offset + byte) as usize];
                    request.memories[to.memory][(to.offset + byte) as usize] = value;
                }
            }
        }
        Ok(())
    }
}

fn saxpy(request: &mut InterpreterDispatch<'_>) {
    let word = |request: &InterpreterDispatch<'_>, slot: usize, at: u64| {
        let binding = request.bindings[slot].unwrap();
        let start = (binding.offset + at * 4) as usize;
        f32::from_le_bytes(request.memories[binding.memory][start..start + 4].try_into().unwrap())
    };
    for i in 0..u64::from(request.grid_threads[0]) {
        let value = word(request, 1, i) + word(request, 2, 0) * word(request, 0, i);
        let y = request.bindings[1].unwrap();
        let start = (y.offset + i * 4) as usize;
        request.memories[y.memory][start..start + 4].copy_from_slice(&value.to_le_bytes());
    }
}

fn argument(index: u32, name: &str, element: ElementType, reference: bool) -> ArgumentInfo {
    let (type_name, size) = match &element {
        ElementType::Scalar(scalar) => (scalar.msl_name().to_owned(), scalar.size().into()),
        ElementType::Vector(scalar, 3) => (format!("{}3", scalar.msl_name()), u64::from(scalar.size()) * 4),
        ElementType::Vector(scalar, lanes) => {
            (format!("{}{lanes}", scalar.msl_name()), u64::from(scalar.size()) * u64::from(*lanes))
        }
        ElementType::Struct(name) => (name.clone(), 8),
        ElementType::Other => ("other".to_owned(), 8),
    };
    ArgumentInfo::new(ArgumentKind::Buffer, index, name)
        .address_space(if reference { AddressSpace::Constant } else { AddressSpace::Device })
        .access(if reference { Access::Read } else { Access::ReadWrite })
        .type_name(type_name)
        .element(element)
        .element_size(size)
        .element_align(size)
        .min_bytes(if reference { size } else { 0 })
        .is_reference(reference)
        .slot(index)
}

fn library() -> Library {
    let float = || ElementType::Scalar(ScalarType::F32);
    let kernel = |name: &str, arguments: Vec<ArgumentInfo>| KernelInfo::new(name, name).arguments(arguments);
    let echo = |name: &str, element| {
        let bytes = ElementType::Scalar(ScalarType::U8);
        kernel(name, vec![argument(0, "value", element, true), argument(1, "out", bytes, false)])
    };
    let saxpy = vec![
        argument(0, "x", float(), false),
        argument(1, "y", float(), false),
        argument(2, "a", float(), true),
    ];
    let artifact = Artifact::new(
        ArtifactTarget::Interpreter,
        ArtifactCode::Interpreter(Arc::new(Mock)),
        vec![
            kernel("saxpy", saxpy),
            kernel("group", vec![argument(0, "out", ElementType::Scalar(ScalarType::U32), false)]),
            echo("echo_half", ElementType::Scalar(ScalarType::F16)),
            echo("echo_uint", ElementType::Scalar(ScalarType::U32)),
            echo("echo_float3", ElementType::Vector(ScalarType::F32, 3)),
            echo("echo_struct", ElementType::Struct("Parameters".into())),
        ],
    );
    let options = CpuDeviceOptions { threads: Some(2), ..CpuDeviceOptions::default() };
    let device = Device::from_hal(Arc::new(CpuDevice::new(&options).unwrap()));
    device.create_library(&LibraryDescriptor::from_artifact(Arc::new(artifact))).unwrap()
}

#[test]
fn ten_lines_run_a_kernel() -> Result<(), Error> {
    let library = library();
    let device = library.device();
    let saxpy = library.pipeline("saxpy")?;
    let (x, y) = (device.buffer(&[1.0f32, 2.0, 3.0])?, device.buffer(&[10.0f32; 3])?);
    let queue = device.queue()?;
    queue.launch(&saxpy).arg(&x).arg(&y).arg(2.0f32).threads(x.len()).submit()?.wait()?;
    assert_eq!(y.read()?, [12.0, 14.0, 16.0]);
    queue.launch(&saxpy).arg_named("a", 1).arg_at(1, &y).arg_at(0, &x).threads(1).submit()?.wait()?;
    assert_eq!(y.read()?, [13.0, 14.0, 16.0]);
    Ok(())
}

#[test]
fn views_bind_their_range_and_no_more() -> Result<(), Error> {
    let library = library();
    let device = library.device();
    let (saxpy, queue) = (library.pipeline("saxpy")?, device.queue()?);
    let (x, y) = (device.buffer(&[1.0f32, 2.0, 3.0, 4.0])?, device.buffer_zeroed::<f32>(4)?);
    let (left, right) = (x.view(2..4)?, y.view(1..3)?);
    queue.launch(&saxpy).arg(&left).arg(&right).arg(1).threads(2).submit()?.wait()?;
    assert_eq!(y.read()?, [0.0, 3.0, 4.0, 0.0]);
    assert_eq!(right.read()?, [3.0, 4.0]);
    assert!(matches!(x.view(3..5), Err(Error::RangeOutsideBuffer { start: 3, end: 5, len: 4 })));
    assert!(x.view(4..4)?.is_empty());
    Ok(())
}

#[test]
fn values_are_converted_by_the_kernels_signature() -> Result<(), Error> {
    let library = library();
    let (out, queue) = (library.device().buffer_zeroed::<u8>(16)?, library.device().queue()?);
    let half = library.pipeline("echo_half")?;
    queue.launch(&half).arg(1.5).arg(&out).threads(1).submit()?.wait()?;
    assert_eq!(out.read()?[..2], f16::from_f32(1.5).to_le_bytes());
    let vector = library.pipeline("echo_float3")?;
    queue.launch(&vector).arg([1.0f32, 2.0, 3.0]).arg(&out).threads(1).submit()?.wait()?;
    assert_eq!(out.read()?[8..12], 3.0f32.to_le_bytes());
    let structure = library.pipeline("echo_struct")?;
    queue.launch(&structure).arg(Inline(&[7u32, 8])).arg(&out).threads(1).submit()?.wait()?;
    assert_eq!(out.read()?[..8], [7, 0, 0, 0, 8, 0, 0, 0]);
    Ok(())
}

#[test]
fn mistakes_are_told_before_anything_runs() -> Result<(), Error> {
    let library = library();
    let device = library.device();
    let (saxpy, queue) = (library.pipeline("saxpy")?, device.queue()?);
    let (x, words) = (device.buffer(&[1.0f32])?, device.buffer(&[1u32])?);
    let launch = || queue.launch(&saxpy).threads(1);
    let told = |launch: anymetal::Launch<'_>| launch.submit().unwrap_err().to_string();
    assert_eq!(told(launch().arg(&x).arg(&x)), "kernel `saxpy` has 3 arguments, 2 were given");
    assert_eq!(told(launch().arg(&x).arg(&x).arg(1).arg(1)), "kernel `saxpy` has 3 arguments, 4 were given");
    assert_eq!(
        told(launch().arg(&x).arg(&words).arg(1)),
        "kernel `saxpy`: argument 1 `y` is `float*`, but a buffer of `u32` was given"
    );
    assert_eq!(
        told(launch().arg(&x).arg(&x).arg(true)),
        "kernel `saxpy`: argument 2 `a` is `float&`, but `true` was given"
    );
    assert_eq!(
        told(launch().arg_at(7, 1)),
        "kernel `saxpy` has no buffer argument 7; it has `0 x`, `1 y`, `2 a`"
    );
    assert_eq!(told(launch().arg_named("b", 1)), "kernel `saxpy` has no argument `b`; it has `x`, `y`, `a`");
    assert_eq!(told(launch().arg_at(0, &x).arg_at(2, 1)), "kernel `saxpy`: argument 1 `y` is missing");
    let uint = library.pipeline("echo_uint")?;
    let negative = queue.launch(&uint).arg(-1).arg(&words).threads(1).submit().unwrap_err();
    assert_eq!(
        negative.to_string(),
        "kernel `echo_uint`: argument 0 `value` is `uint&`, but the integer -1 was given"
    );
    assert_eq!(negative.class(), ErrorClass::Caller);
    let no_grid = queue.launch(&saxpy).arg(&x).arg(&x).arg(1).submit();
    assert!(matches!(no_grid, Err(Error::NoGrid { .. })));
    let no_size = queue.launch(&saxpy).arg(&x).arg(&x).arg(1).groups(1).submit();
    assert!(matches!(no_size, Err(Error::NoGroupSize { .. })));
    let too_large = launch().arg(&x).arg(&x).arg(1).group_size(1025).submit();
    assert!(matches!(too_large, Err(Error::Device(DeviceError::GroupTooLarge { .. }))));
    let unknown = library.pipeline("saxpi").unwrap_err();
    assert!(unknown.to_string().starts_with("there is no kernel `saxpi`; there are `saxpy`, `group`"));
    assert_eq!(queue.in_flight(), 0);
    Ok(())
}

#[test]
fn values_are_refused_where_the_kernel_writes() -> Result<(), Error> {
    let device = Device::by_name("cpu")?;
    let source = "struct S { int a; };
        kernel void k(device int& one, device S& record, device const int& read, device int* out) {
            one += read; record.a = one; out[0] = one; }";
    let k = device.library_from_source(source)?.pipeline("k")?;
    let (queue, x) = (device.queue()?, device.buffer_zeroed::<i32>(1)?);
    let launch = || queue.launch(&k).threads(1);
    let is_refused = |outcome: Result<Submission, Error>| {
        assert!(matches!(outcome, Err(Error::Device(DeviceError::WrongType { .. }))), "{outcome:?}");
    };
    is_refused(launch().arg(1).arg(&x).arg(1).arg(&x).submit());
    is_refused(launch().arg(&x).arg(Plain(1i32)).arg(1).arg(&x).submit());
    is_refused(launch().arg(&x).arg(&x).arg(1).arg([1i32]).submit());
    Ok(())
}

#[test]
fn default_group_sizes_follow_the_grid() -> Result<(), Error> {
    let library = library();
    let (group, out) = (library.pipeline("group")?, library.device().buffer_zeroed::<u32>(3)?);
    let queue = library.device().queue()?;
    let size = |launch: anymetal::Launch<'_>| {
        launch.arg(&out).submit()?.wait()?;
        out.read()
    };
    assert_eq!(size(queue.launch(&group).threads(10_000))?, [256, 1, 1]);
    assert_eq!(size(queue.launch(&group).threads((100, 100)))?, [32, 8, 1]);
    assert_eq!(size(queue.launch(&group).threads((10u32, 10, 10)))?, [16, 4, 4]);
    assert_eq!(size(queue.launch(&group).threads((1, 10_000)))?, [1, 256, 1]);
    assert_eq!(size(queue.launch(&group).groups(2).group_size((32, 2)))?, [32, 2, 1]);
    Ok(())
}

#[test]
fn command_buffers_encode_in_metals_words() -> Result<(), Error> {
    let library = library();
    let device = library.device();
    let (saxpy, queue) = (library.pipeline("saxpy")?, device.queue()?);
    let (x, y, z) =
        (device.buffer(&[1.0f32; 4])?, device.buffer(&[1.0f32; 4])?, device.buffer_zeroed::<f32>(4)?);
    let mut commands =
        queue.command_buffer()?.label("two dispatches and a copy").deadline(Duration::from_secs(10));
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&saxpy);
    encoder.set_buffer(0, &x, 0)?;
    encoder.set_bytes(2, &3.0f32);
    let missing = encoder.dispatch_threads(4, 4).unwrap_err();
    assert_eq!(missing.to_string(), "kernel `saxpy`: argument 1 `y` is missing");
    encoder.set_buffer(1, &y, 0)?;
    // Bound and unused, as Metal allows.
    encoder.set_bytes(9, &1u32);
    encoder.dispatch_threads(4, 4)?;
    encoder.set_buffer(1, &y, 2)?;
    encoder.dispatch_threads(2, 4)?;
    encoder.end_encoding();
    let mut blit = commands.blit_encoder();
    blit.copy(&y.view(1..4)?, &z.view(0..3)?)?;
    blit.fill(&x.view(0..4)?, 0)?;
    blit.end_encoding();
    let submitted = commands.commit()?;
    submitted.wait()?;
    assert!(submitted.is_done());
    assert_eq!(y.read()?, [4.0, 4.0, 7.0, 7.0]);
    assert_eq!(z.read()?, [4.0, 7.0, 7.0, 0.0]);
    assert_eq!(x.read()?, [0.0; 4]);
    Ok(())
}

#[test]
fn zero_length_buffers_and_unbound_arguments_are_fine() -> Result<(), Error> {
    let library = library();
    let (saxpy, queue) = (library.pipeline("saxpy")?, library.device().queue()?);
    let empty = library.device().buffer::<f32>(&[])?;
    assert!(empty.is_empty() && empty.read()?.is_empty());
    queue.launch(&saxpy).arg(&empty).arg(Unbound).arg(1.0).threads(0).submit()?.wait()?;
    Ok(())
}

#[test]
fn devices_are_found_by_name() -> Result<(), Error> {
    assert_eq!(Device::by_name("CPU")?.name(), "cpu");
    let all = Device::all()?;
    let unknown = Device::by_name("abacus").unwrap_err().to_string();
    assert!(unknown.starts_with("there is no device `abacus`; there are "), "{unknown}");
    // On a machine with GPUs these are devices, too.
    assert_eq!(all.iter().filter(|device| device.name() == "cpu").count(), 1);
    assert!(all.iter().all(|device| unknown.contains(&format!("`{}`", device.name()))), "{unknown}");
    Ok(())
}
