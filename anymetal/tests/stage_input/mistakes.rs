//! Descriptors that do not fit, and accesses beyond a buffer.

use crate::library;
use anymetal::error::DeviceError;
use anymetal::stage_input::{
    AttributeFormat, BufferLayout, StageInRegion, StageInputDescriptor, StageInputError,
};
use anymetal::{CheckMode, Device, Error, LibraryDescriptor, PipelineDescriptor};

const SOURCE: &str = "struct In { float2 at [[attribute(0)]]; ushort kind [[attribute(1)]]; };
    kernel void store(In in [[stage_in]], device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
        y[i] = in.at.x + in.kind;
    }
    kernel void plain(device float* y, uint i [[thread_position_in_grid]]) { y[i] = i; }";

/// A description that fits.
fn right() -> StageInputDescriptor {
    StageInputDescriptor::new()
        .attribute(0, AttributeFormat::Short2, 0, 1)
        .attribute(1, AttributeFormat::UChar, 4, 1)
        .layout(1, BufferLayout::along_x(8))
}

fn problem(descriptor: Option<StageInputDescriptor>) -> Result<StageInputError, Error> {
    let mut pipeline = PipelineDescriptor::new("store");
    pipeline.stage_input = descriptor;
    match library(SOURCE, CheckMode::Bounds)?.pipeline(pipeline) {
        Err(Error::StageInput(error)) => Ok(error),
        Err(other) => Err(other),
        Ok(_) => panic!("the pipeline should have been refused"),
    }
}

#[test]
fn descriptions_that_do_not_fit_are_refused() -> Result<(), Error> {
    use AttributeFormat as F;
    use StageInputError as E;
    assert!(
        library(SOURCE, CheckMode::Bounds)?
            .pipeline(PipelineDescriptor::new("store").stage_input(right()))
            .is_ok()
    );
    let found = problem(None)?;
    assert!(matches!(&found, E::NoDescriptor { name, .. } if name == "at"), "{found}");
    let found = problem(Some(StageInputDescriptor::new().layout(1, BufferLayout::along_x(8))))?;
    assert!(matches!(found, E::MissingAttribute { attribute: 0, .. }), "{found}");
    for format in [F::UShortNormalized, F::Short, F::UInt, F::Half, F::FloatRgb9e5] {
        let found = problem(Some(right().attribute(1, format, 4, 1)))?;
        let is_it = matches!(&found, E::TypeMismatch { type_name, .. } if type_name == "ushort");
        assert!(is_it, "{found}");
    }
    let found = problem(Some(right().attribute(1, F::UChar, 4, 2)))?;
    assert!(matches!(found, E::NoLayout { attribute: 1, buffer: 2 }), "{found}");
    let found = problem(Some(right().attribute(1, F::UShort, 5, 1)))?;
    assert!(matches!(found, E::Misaligned { attribute: 1, offset: 5, .. }), "{found}");
    let found = problem(Some(right().layout(1, BufferLayout::along_x(4))))?;
    assert!(matches!(found, E::BeyondStride { attribute: 1, stride: 4, .. }), "{found}");
    let found = problem(Some(right().layout(1, BufferLayout::along_x(8).rate(0))))?;
    assert!(matches!(found, E::NoStepRate { buffer: 1 }), "{found}");
    let found = problem(Some(right().attribute(1, F::UChar, 4, 31)))?;
    assert!(matches!(found, E::NoSuchBuffer { buffer: 31 }), "{found}");
    let own = right().attribute(1, F::UChar, 4, 0).layout(0, BufferLayout::along_x(8));
    let found = problem(Some(own))?;
    assert!(matches!(&found, E::BufferTaken { buffer: 0, name, .. } if name == "y"), "{found}");
    let found = problem(Some(right().layout(1, BufferLayout::along_y(8).indexed())))?;
    assert!(matches!(found, E::NoIndices { .. }), "{found}");
    Ok(())
}

#[test]
fn a_region_needs_a_kernel_that_takes_it() -> Result<(), Error> {
    let device = Device::system_default()?;
    let plain = library(SOURCE, CheckMode::Bounds)?
        .pipeline(PipelineDescriptor::new("plain").stage_input(StageInputDescriptor::new()))?;
    let (queue, y) = (device.queue()?, device.buffer_zeroed::<f32>(4)?);
    let launch = queue.launch(&plain).arg(&y).threads(4);
    let error = launch.stage_in_region(StageInRegion::GRID).submit().expect_err("there is no region");
    assert!(matches!(error, Error::StageInput(StageInputError::NoRegion { .. })), "{error}");
    queue.launch(&plain).arg(&y).threads(4).submit()?.wait()?;
    assert_eq!(y.read()?, [0.0, 1.0, 2.0, 3.0]);
    Ok(())
}

#[test]
fn an_attribute_beyond_its_buffer_is_a_fault() -> Result<(), Error> {
    let device = Device::system_default()?;
    let store = library(SOURCE, CheckMode::Bounds)?
        .pipeline(PipelineDescriptor::new("store").stage_input(right()))?;
    // Thread 5 is the first without an element.
    let elements = device.buffer(&[1u8; 40])?;
    let y = device.buffer_zeroed::<f32>(6)?;
    let launch = device.queue()?.launch(&store).arg(&y).arg(&elements).threads(6).group_size(32).submit()?;
    match launch.wait() {
        Err(Error::Device(DeviceError::OutOfBounds(fault))) => {
            assert_eq!((fault.argument, fault.thread), (Some(1), [5, 0, 0]), "{fault}");
            assert_eq!((fault.file.as_str(), fault.line), ("source.metal", 2), "{fault}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(y.read()?[4], 257.0 + 1.0);
    Ok(())
}

#[test]
fn a_buffer_of_stage_in_data_must_be_bound() -> Result<(), Error> {
    let device = Device::system_default()?;
    let store = library(SOURCE, CheckMode::Bounds)?
        .pipeline(PipelineDescriptor::new("store").stage_input(right()))?;
    let y = device.buffer_zeroed::<f32>(6)?;
    let error = device.queue()?.launch(&store).arg(&y).threads(6).submit().expect_err("one is missing");
    assert!(matches!(error, Error::ArgumentCount { expected: 2, got: 1, .. }), "{error}");
    Ok(())
}

#[test]
fn code_that_was_made_without_a_description_is_refused() -> Result<(), Error> {
    use anymetal_driver::{
        CacheConfig, Compiler, CompilerOptions, Source, SourceOptions, Specialisation, Target,
    };
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let source = Source::from_text("source.metal", SOURCE, SourceOptions::default());
    let library = compiler.library(source).expect("the source is right");
    let artifact = library.artifact("store", &Specialisation::default(), Target::Interpreter);
    let artifact = artifact.expect("a description is no part of a compilation");
    let library = Device::system_default()?.create_library(&LibraryDescriptor::from_artifact(artifact))?;
    let error = library.pipeline("store").expect_err("where the data are is not known");
    assert!(matches!(error, Error::StageInput(StageInputError::NoDescriptor { .. })), "{error}");
    Ok(())
}
