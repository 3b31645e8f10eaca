//! Heaps, fences, indirect dispatches, arguments by name, and labels on everything.

use anymetal::config::{Layers, RuntimeConfig, Size};
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal::memory::HeapDescriptor;
use anymetal::tenant::TenantLimits;
use anymetal::testing::{ManualClock, null_device};
use anymetal::{
    BufferDescriptor, CompileOptions, Device, Error, ErrorKind, LibraryDescriptor, Pipeline,
    PipelineDescriptor,
};

const SOURCE: &str = "
kernel void counts(device uint* groups, constant uint& x) { groups[1] = x; groups[2] = 2; groups[3] = 1; }
kernel void mark(device uint* y, uint2 i [[thread_position_in_grid]], uint2 n [[threads_per_grid]]) {
    y[i.y * n.x + i.x] += 1;
}
";

#[test]
fn an_indirect_dispatch_has_the_groups_that_earlier_work_counted() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let (counts, mark) = (library.pipeline("counts")?, library.pipeline("mark")?);
    let (groups, y) = (device.buffer_zeroed::<u32>(4)?, device.buffer_zeroed::<u32>(1000)?);
    let (queue, at) = (device.queue()?, groups.view(1..4)?);

    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&counts);
    encoder.set_buffer(0, &groups, 0)?;
    encoder.set_argument_named("x", 5)?;
    encoder.dispatch_threads(1, 1)?;
    encoder.set_pipeline(&mark);
    encoder.set_buffer(0, &y, 0)?;
    encoder.dispatch_threadgroups_indirect(&at, 32)?;
    encoder.end_encoding();
    commands.commit()?.wait()?;
    let marked = |rounds: u32, count: usize| -> Result<(), Error> {
        let expected: Vec<u32> = (0..1000).map(|at| if at < count { rounds } else { 0 }).collect();
        assert_eq!(y.read()?, expected);
        Ok(())
    };
    marked(1, 5 * 32 * 2)?;
    queue.launch(&mark).arg(&y).groups_from(&at).group_size(32).submit()?.wait()?;
    marked(2, 5 * 32 * 2)?;

    let short = queue.launch(&mark).arg(&y).groups_from(&groups.view(2..4)?).group_size(32).submit();
    assert_eq!(short.unwrap_err(), Error::RangeOutsideBuffer { start: 0, end: 3, len: 2 });
    let no_size = queue.launch(&mark).arg(&y).groups_from(&at).submit().unwrap_err();
    assert!(matches!(no_size, Error::NoGroupSize { .. }));
    groups.write(&[0, u32::MAX, u32::MAX, 1])?;
    let too_many = queue.launch(&mark).arg(&y).groups_from(&at).group_size(32).submit()?.wait().unwrap_err();
    assert_eq!(too_many.class(), ErrorClass::Caller, "{too_many}");
    marked(2, 5 * 32 * 2)
}

#[test]
fn arguments_by_name_are_those_of_the_pipeline_that_is_set() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let (counts, mark) = (library.pipeline("counts")?, library.pipeline("mark")?);
    let y = device.buffer_zeroed::<u32>(8)?;
    let mut commands = device.queue()?.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    let unset = encoder.set_argument_named("y", &y).unwrap_err();
    assert!(matches!(unset, Error::NoPipeline { method: "set_argument_named" }), "{unset}");
    let unset = encoder.dispatch_threads(8, 8).unwrap_err();
    assert_eq!(unset.to_string(), "`dispatch_threads` needs a pipeline; call `set_pipeline` first");
    assert_eq!(unset.kind(), ErrorKind::InvalidUse);
    encoder.set_pipeline(&counts);
    let unknown = encoder.set_argument_named("y", &y).unwrap_err();
    assert_eq!(unknown.to_string(), "kernel `counts` has no argument `y`; it has `groups`, `x`");
    encoder.set_pipeline(&mark);
    encoder.set_argument_named("y", &y)?;
    encoder.dispatch_threads(8, 8)?;
    assert_eq!(encoder.pipeline().map(Pipeline::name), Some("mark"));
    encoder.end_encoding();
    commands.commit()?.wait()?;
    assert_eq!(y.read()?, [1; 8]);
    Ok(())
}

#[test]
fn heaps_count_once_and_live_as_long_as_their_buffers() -> Result<(), Error> {
    let mut settings = Layers::default();
    settings.code.memory.budget = Some(Size(70_000));
    let device = Device::with_settings(&settings)?;
    let guest = device.tenant("guest", TenantLimits::new().bytes(65_536));
    let frame = |bytes| HeapDescriptor::new(bytes).label("frame").tenant(&guest);
    let heap = device.create_heap(&frame(65_536))?;
    assert_eq!((heap.label(), heap.length(), heap.largest_free_bytes()), ("frame", 65_536, 65_536));
    assert_eq!((device.memory().budget.reserved, guest.usage().bytes), (65_536, 65_536));
    assert_eq!(device.create_heap(&frame(64)).unwrap_err().class(), ErrorClass::Exhausted);

    let y = heap.create_buffer(&BufferDescriptor::new(&[1u32; 64]).label("marks"))?;
    let other = heap.buffer_zeroed::<u32>(8000)?;
    assert_eq!(
        (y.label(), y.storage_mode(), heap.storage_mode()),
        ("marks", y.storage_mode(), y.storage_mode())
    );
    assert_eq!(device.memory().budget.reserved, 65_536, "cut from what counts already");
    let full = heap.buffer_zeroed::<u32>(9000).unwrap_err();
    assert!(matches!(full, Error::Device(DeviceError::HeapFull { requested: 36_000, .. })), "{full}");
    let mark = device.library_from_source(SOURCE)?.pipeline("mark")?;
    let queue = device.queue()?;
    queue.launch(&mark).arg(&y).threads(64).submit()?.wait()?;
    drop(heap.clone());
    drop(heap);
    assert_eq!(y.read()?, [2; 64]);
    let listed: Vec<String> = device.live_buffers().iter().map(|live| live.label.clone()).collect();
    assert_eq!(listed, ["frame", "marks", ""]);
    drop(other);
    assert_eq!(device.memory().budget.reserved, 65_536);
    drop(y);
    assert_eq!((device.memory().budget.reserved, guest.usage().bytes), (0, 0));
    device.assert_no_leaks();
    Ok(())
}

#[test]
fn a_fence_orders_commands_of_one_queue() -> Result<(), Error> {
    let device = Device::system_default()?;
    let mark = device.library_from_source(SOURCE)?.pipeline("mark")?;
    let (y, fence) = (device.buffer_zeroed::<u32>(32)?, device.fence()?);
    let (queue, other) = (device.queue()?, device.queue()?);
    let mut first = queue.command_buffer()?;
    let mut blit = first.blit_encoder();
    blit.fill(&y.view(0..32)?, 1)?;
    blit.update_fence(&fence);
    blit.end_encoding();
    let mut encoder = first.compute_encoder();
    encoder.wait_for_fence(&fence);
    encoder.set_pipeline(&mark);
    encoder.set_buffer(0, &y, 0)?;
    encoder.dispatch_threads(32, 32)?;
    encoder.update_fence(&fence);
    encoder.end_encoding();
    first.commit()?.wait()?;
    assert_eq!(y.read()?, [0x0101_0102; 32]);

    let mut foreign = other.command_buffer()?;
    foreign.blit_encoder().wait_for_fence(&fence);
    let refused = foreign.commit().and_then(|submission| submission.wait()).unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Caller, "{refused}");
    Ok(())
}

#[test]
fn everything_has_a_label() -> Result<(), Error> {
    let clock = ManualClock::new();
    let mut config = RuntimeConfig::default();
    (config.history.entries, config.history.replayable) = (4, true);
    let device = null_device(&clock, config);
    let weights = device.create_buffer(&BufferDescriptor::new(&[1.0f32; 4]).label("weights"))?;
    let sums = device.create_buffer(&BufferDescriptor::<f32>::uninitialized(4).label("sums").pooled())?;
    let bias = device.create_buffer(&BufferDescriptor::new(&[0.0f32; 4]).label("bias"))?;
    let plain = device.buffer(&[0u8; 4])?;
    assert_eq!([weights.label(), sums.label(), bias.label(), plain.label()], ["weights", "sums", "bias", ""]);
    assert_eq!(format!("{weights:?}"), "Buffer<f32>(4 elements) `weights`");
    assert_eq!(format!("{:?}", plain.view(1..3)?), "elements 1..3 of Buffer<u8>(4 elements)");
    let listed: Vec<String> = device.live_buffers().iter().map(|live| live.label.clone()).collect();
    assert_eq!(listed, ["weights", "bias", "", "sums"]);

    let options = CompileOptions::new().file_name("marks.metal");
    let library = device.create_library(&LibraryDescriptor::from_source(SOURCE).options(&options))?;
    let mark = library.pipeline(PipelineDescriptor::new("mark").label("marker"))?;
    assert_eq!((library.label(), mark.label(), mark.name()), ("marks.metal", "marker", "mark"));
    assert_eq!(library.pipeline("mark")?.label(), "mark");

    let queue = device.create_queue(&device.queue_descriptor().label("uploads"))?;
    let mut graph = GraphBuilder::new("pass");
    let y = graph.buffer("y", &weights)?;
    graph.fill("clear", y, 0)?;
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    assert_eq!((queue.label(), graph.label()), ("uploads", "pass"));
    let submission = queue.submit_graph(&graph)?;
    submission.wait()?;
    assert_eq!(submission.label(), "pass");
    let told = device.history().map(|history| history.recording()).unwrap_or_default();
    assert_eq!(told.entries[0].buffers[0].label, "weights");
    Ok(())
}
