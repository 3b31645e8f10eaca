//! The public crate from source to result: compile, run, read back, and what is told when something is wrong.

use anymetal::argument::Scalar;
use anymetal::error::DeviceError;
use anymetal::notice::NoticeKind;
use anymetal::{CompileOptions, Device, Error, FunctionConstants, LibraryDescriptor, PipelineDescriptor};

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;

constant int factor [[function_constant(3)]];

kernel void saxpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant float& a [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    y[i] += a * x[i];
}

kernel void scaled(device int* out, uint i [[thread_position_in_grid]]) {
    out[i] = int(i) * factor;
}

constant ushort3 stride [[function_constant(5)]];

kernel void strided(device ushort* out, uint i [[thread_position_in_grid]]) {
    ushort3 p = stride * ushort(i);
    out[i] = p.x + 10 * p.y + 100 * stride.z;
}

kernel void reversed(device const int* in, device int* out, uint i [[thread_position_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]], uint n [[threads_per_threadgroup]]) {
    threadgroup int tile[256];
    tile[i] = in[g * n + i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[g * n + i] = tile[n - 1 - i];
}
";

fn library() -> Result<anymetal::Library, Error> {
    let options = CompileOptions::new().file_name("test.metal");
    Device::system_default()?.create_library(&LibraryDescriptor::from_source(SOURCE).options(&options))
}

#[test]
fn saxpy_from_source() -> Result<(), Error> {
    let library = library()?;
    assert_eq!(library.kernel_names(), ["saxpy", "scaled", "strided", "reversed"]);
    let device = library.device();
    let (saxpy, queue) = (library.pipeline("saxpy")?, device.queue()?);
    for count in [0usize, 1, 31, 33, 1000, (1 << 20) + 7] {
        let xs: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let (x, y) = (device.buffer(&xs)?, device.buffer(&vec![1.0f32; count])?);
        queue.launch(&saxpy).arg(&x).arg(&y).arg(2.0f32).threads(count).submit()?.wait()?;
        assert_eq!(y.read()?, xs.iter().map(|x| 1.0 + 2.0 * x).collect::<Vec<f32>>());
    }
    Ok(())
}

#[test]
fn function_constants_are_given_by_index_or_name() -> Result<(), Error> {
    let library = library()?;
    let (out, queue) = (library.device().buffer_zeroed::<i32>(40)?, library.device().queue()?);
    for constants in [FunctionConstants::new().with(3, -2), FunctionConstants::new().with("factor", -2)] {
        let scaled = library.pipeline(PipelineDescriptor::new("scaled").constants(constants.clone()))?;
        queue.launch(&scaled).arg(&out).threads(40).submit()?.wait()?;
        assert_eq!(out.read()?, (0..40).map(|i| i * -2).collect::<Vec<i32>>());
    }
    assert!(matches!(library.pipeline("scaled"), Err(Error::Compile(failure)) if failure.is_user_error()));
    Ok(())
}

#[test]
fn function_constants_that_are_vectors_get_all_components() -> Result<(), Error> {
    let library = library()?;
    let described = library.reflect("strided")?.function_constants;
    let stride = described.iter().find(|constant| constant.name == "stride").expect("it is declared");
    assert_eq!((stride.type_name.as_str(), stride.required), ("ushort3", true));
    let (out, queue) = (library.device().buffer_zeroed::<u16>(4)?, library.device().queue()?);
    let components = [1, 2, 3].map(Scalar::from);
    for constants in [
        FunctionConstants::new().with_vector(5, &components),
        FunctionConstants::new().with_vector("stride", &components),
    ] {
        let strided = library.pipeline(PipelineDescriptor::new("strided").constants(constants.clone()))?;
        queue.launch(&strided).arg(&out).threads(4).submit()?.wait()?;
        assert_eq!(out.read()?, [300, 321, 342, 363]);
    }
    for constants in [
        FunctionConstants::new(),
        FunctionConstants::new().with(5, 1),
        FunctionConstants::new().with_vector(5, &components[..2]),
        FunctionConstants::new().with_vector(3, &components[..1]).with_vector(5, &components),
    ] {
        let refused = library.pipeline(PipelineDescriptor::new("strided").constants(constants.clone()));
        assert!(matches!(refused, Err(Error::Compile(failure)) if failure.is_user_error()), "{constants:?}");
    }
    Ok(())
}

#[test]
fn threadgroups_of_every_size_share_their_memory() -> Result<(), Error> {
    let library = library()?;
    let (reversed, queue) = (library.pipeline("reversed")?, library.device().queue()?);
    let numbers: Vec<i32> = (0..1024).collect();
    let (input, out) = (library.device().buffer(&numbers)?, library.device().buffer_zeroed::<i32>(1024)?);
    for size in [1u32, 32, 64, 128, 256, 64] {
        queue
            .launch(&reversed)
            .arg(&input)
            .arg(&out)
            .groups(1024 / size)
            .group_size(size)
            .submit()?
            .wait()?;
        let expected = |i: i32| i / size as i32 * size as i32 + size as i32 - 1 - i % size as i32;
        assert_eq!(
            out.read()?,
            numbers.iter().map(|&i| expected(i)).collect::<Vec<i32>>(),
            "groups of {size}"
        );
    }
    Ok(())
}

#[test]
fn an_access_out_of_bounds_names_kernel_argument_index_and_line() -> Result<(), Error> {
    let library = library()?;
    let (saxpy, queue) = (library.pipeline("saxpy")?, library.device().queue()?);
    let (x, y) = (library.device().buffer(&[1.0f32; 100])?, library.device().buffer(&[1.0f32; 90])?);
    let error = queue.launch(&saxpy).arg(&x).arg(&y).arg(1.0f32).threads(100).submit()?.wait().unwrap_err();
    let Error::Device(DeviceError::OutOfBounds(fault)) = &error else { panic!("{error}") };
    assert_eq!(
        (fault.kernel.as_str(), fault.argument, fault.argument_name.as_str()),
        ("saxpy", Some(1), "y")
    );
    assert_eq!((fault.element_index, fault.bound_elements), (Some(90), Some(90)));
    assert!(fault.file.ends_with("test.metal") && fault.line == 9, "{error}");
    Ok(())
}

#[test]
fn broken_source_comes_back_as_diagnostics() -> Result<(), Error> {
    let device = Device::system_default()?;
    let error =
        device.library_from_source("kernel void f(device float* x) { x[0] = y; }").and_then(|library| {
            // Checked at the latest when the kernel is asked for.
            library.pipeline("f").map(drop)
        });
    let Err(Error::Compile(failure)) = error else { panic!("{error:?}") };
    assert!(failure.is_user_error() && failure.render_text(false).contains('y'), "{failure}");
    assert!(failure.render_json().starts_with('['));
    let Err(Error::Compile(unknown)) = library()?.pipeline("saxpi") else {
        panic!("an unknown kernel was found")
    };
    assert!(unknown.to_string().contains("did you mean `saxpy`?"), "{unknown}");
    assert!(matches!(
        device.create_library(
            &LibraryDescriptor::from_file("no such file.metal").options(&CompileOptions::default())
        ),
        Err(Error::UnreadableFile { .. })
    ));
    Ok(())
}

#[test]
fn sources_in_other_languages_are_translated() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = |name: &str, source: &str, options: CompileOptions| {
        let options = options.file_name(name);
        device.create_library(&LibraryDescriptor::from_source(source).options(&options))
    };
    let doubled = |library: &anymetal::Library, kernel: &str| -> Result<Vec<f32>, Error> {
        let (x, kernel) = (device.buffer(&[1.0f32, 2.5])?, library.pipeline(kernel)?);
        device.queue()?.launch(&kernel).arg(&x).threads(2).submit()?.wait()?;
        x.read()
    };
    let opencl = "kernel void k(global float* x) { x[get_global_id(0)] *= FACTOR; }";
    let options = CompileOptions::new().define("FACTOR", "2");
    assert_eq!(doubled(&library("k.cl", opencl, options)?, "k")?, [2.0, 5.0]);
    let cuda =
        "template <typename T> __global__ void k(T* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }";
    let options = CompileOptions::new().instantiate("k<float>");
    assert_eq!(doubled(&library("k.cu", cuda, options)?, "k<float>")?, [2.0, 5.0]);

    let double =
        "kernel void k(global float* x) { double y = x[get_global_id(0)]; x[get_global_id(0)] = y * 2; }";
    let refused = library("d.cl", double, CompileOptions::new()).err();
    let Some(Error::Compile(failure)) = refused else { panic!("{refused:?}") };
    assert!(failure.is_user_error() && failure.render_text(false).contains("d.cl:1"), "{failure}");
    let options = CompileOptions::new().doubles_as_floats(true);
    assert_eq!(doubled(&library("d.cl", double, options)?, "k")?, [2.0, 5.0]);
    let told = anymetal::notice::take();
    assert!(told.iter().any(|notice| notice.kind == NoticeKind::Translation), "{told:?}");
    Ok(())
}
