//! The execution layer as users see it: settings, memory, tenants, dependencies, graphs, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use anymetal::command::{Cancellation, MatrixOperand, MatrixProduct, WhenFull};
use anymetal::config::{Layer, Layers};
use anymetal::error::{DeviceError, ErrorClass, ExecError};
use anymetal::graph::{Executable, GraphBuilder, GraphError, PlanOptions};
use anymetal::memory::MemoryError;
use anymetal::reflection::ScalarType;
use anymetal::tenant::{QuotaError, TenantLimits, TimeShare};
use anymetal::{BufferDescriptor, Device, Error, Submission};
use anymetal_hal::clock::ManualClock;
use anymetal_testing::null::NullDevice;

const SOURCE: &str = "
kernel void add(device const uint* x, device uint* y, constant uint& k, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + k;
}
";

/// A device that runs nothing, by a clock that the test moves.
fn null(settings: &str) -> Result<(Device, Arc<ManualClock>), Error> {
    let path = std::path::Path::new("test.toml");
    let layers =
        Layers { file: Some((path.to_owned(), Layer::from_toml(settings, path)?)), ..Layers::default() };
    let clock = ManualClock::new();
    let hal = Arc::new(NullDevice::with_clock(clock.clone()));
    Ok((Device::from_hal_with(hal, layers.resolve()?, clock.clone()), clock))
}

#[test]
fn settings_reach_queues_pool_and_budget() -> Result<(), Error> {
    let (device, clock) = null(
        "[memory]\nbudget = '1 MiB'\npool-idle-age = '1 s'\n[streams]\ncommand-buffers = 2\nin-flight = 1\nwait = '0 s'\n",
    )?;
    let queue = device.queue()?;
    let held = [queue.command_buffer()?, queue.command_buffer()?];
    let refused = queue.command_buffer().unwrap_err();
    assert!(matches!(&refused, Error::Exec(error) if matches!(**error, ExecError::CommandBuffersExhausted {
        limit: 2, uncommitted: 2, committed: 0, ..
    })));
    assert_eq!(refused.class(), ErrorClass::Exhausted);
    drop(held);
    assert!(queue.command_buffer().is_ok(), "places come back");

    let most = device.buffer_zeroed::<u8>(1 << 20)?;
    let over = device.acquire::<u8>(1).unwrap_err();
    assert!(matches!(&over, Error::Memory(error) if matches!(**error, MemoryError::OverBudget { .. })));
    drop(most);
    drop((device.acquire::<u8>(100)?, device.acquire::<u8>(100_000)?));
    assert_eq!(device.memory().pool.buffers, 2);
    clock.advance(Duration::from_secs(2));
    let _new_class = device.acquire::<u8>(10_000)?;
    assert_eq!(device.memory().pool.buffers, 1, "what has been idle for longer than the age is gone");
    Ok(())
}

#[test]
fn settings_that_make_no_sense_are_told_with_their_place() {
    let error = null("[streams]\nin-flight = 0\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "streams.in-flight = 0 (from test.toml): a stream that may hold nothing runs nothing"
    );
    assert_eq!(error.class(), ErrorClass::Caller);
    let mut layers = Layers::default();
    layers.code.device = Some("abacus".to_owned());
    let error = Device::with_settings(&layers).unwrap_err();
    assert_eq!(error.to_string(), "there is no device `abacus`; there are `cpu`");
}

#[test]
fn every_buffer_is_listed_until_its_last_handle_goes() -> Result<(), Error> {
    let (device, clock) = null("")?;
    let own = device.buffer(&[1u32, 2])?;
    clock.advance(Duration::from_secs(5));
    let acquired =
        device.create_buffer(&BufferDescriptor::<f32>::uninitialized(10).label("sums").pooled())?;
    let view = own.view(0..1)?;
    drop(own);
    let listed: Vec<String> = device.live_buffers().iter().map(ToString::to_string).collect();
    assert_eq!(listed, ["buffer `(no label)`, 8 bytes, 5s old", "pooled buffer `sums`, 40 bytes, 0ns old"]);
    drop((view, acquired));
    device.assert_no_leaks();
    assert_eq!(device.trim().buffers, 1);
    assert_eq!((device.allocated_bytes(), device.memory().budget.reserved), (0, 0));
    Ok(())
}

#[test]
fn a_pool_uses_its_blocks_again_although_a_history_knows_them() -> Result<(), Error> {
    let (device, _clock) = null("[history]\nentries = 4\n")?;
    let queue = device.queue()?;
    for round in 0..3 {
        let acquired = device.acquire::<u8>(100)?;
        let mut commands = queue.command_buffer()?.label(format!("round {round}"));
        commands.blit_encoder().fill(&acquired.view(0..100)?, 1)?;
        commands.commit()?.wait()?;
    }
    assert_eq!(device.memory().pool.buffers, 1);
    let told = device.history().map(|history| history.dump()).unwrap_or_default();
    assert!(told.contains("round 0") && told.contains("round 2"), "{told}");
    Ok(())
}

#[test]
fn an_exhausted_quota_is_a_typed_refusal_and_nothing_is_half_done() -> Result<(), Error> {
    let (device, _clock) = null("")?;
    let limits = TenantLimits::new().buffers(1).submissions(1);
    let tenant = device.tenant("guest", limits);
    let acquire =
        || device.create_buffer(&BufferDescriptor::<u8>::uninitialized(100).tenant(&tenant).pooled());
    let first = acquire()?;
    let before = (tenant.usage().bytes, device.memory().allocated_bytes);
    let refused = acquire().unwrap_err();
    let quota = MemoryError::Quota(QuotaError::Buffers { tenant: "guest".into(), used: 1, limit: 1 });
    assert_eq!(refused, Error::Memory(Box::new(quota)));
    assert_eq!((tenant.usage().bytes, device.memory().allocated_bytes), before);
    drop(first);
    assert!(acquire().is_ok());

    let queue = device.create_queue(
        &device.queue_descriptor().tenant(Some(tenant.clone())).when_exhausted(WhenFull::Refuse),
    )?;
    let held = queue.command_buffer()?;
    let quota = ExecError::Quota(QuotaError::Submissions { tenant: "guest".into(), used: 1, limit: 1 });
    assert_eq!(queue.command_buffer().unwrap_err(), Error::Exec(Box::new(quota)));
    held.commit()?.wait()?;
    assert_eq!((tenant.usage().submissions, queue.in_flight()), (0, 0));
    Ok(())
}

#[test]
fn a_tenants_device_time_is_that_of_its_submissions() -> Result<(), Error> {
    let device = Device::system_default()?;
    let fill = device.buffer_zeroed::<u8>(1 << 20)?;
    let share = TimeShare { time: Duration::from_nanos(1), per: Duration::from_secs(60) };
    let tenant = device.tenant("busy", TenantLimits::new().device_time(share));
    let queue = device.create_queue(&device.queue_descriptor().tenant(Some(tenant.clone())))?;
    let mut commands = queue.command_buffer()?;
    commands.blit_encoder().fill(&fill.view(0..fill.len())?, 1)?;
    let took = commands.commit()?.wait()?.device_time();
    assert_eq!(tenant.usage().device_time, took);
    let refused = queue.command_buffer().unwrap_err();
    assert!(matches!(&refused, Error::Exec(error) if matches!(
        **error, ExecError::Quota(QuotaError::DeviceTime { retry_after, .. }) if retry_after > Duration::ZERO
    )));
    Ok(())
}

/// Whoever has waited for the work finds its time counted, whichever thread ended it.
#[test]
fn a_tenants_device_time_is_known_when_the_wait_is_over() -> Result<(), Error> {
    let device = Device::system_default()?;
    let fill = device.buffer_zeroed::<u8>(1 << 18)?;
    let tenant = device.tenant("counted", TenantLimits::default());
    let queue = device.create_queue(&device.queue_descriptor().tenant(Some(tenant.clone())))?;
    let mut sum = Duration::ZERO;
    for _ in 0..500 {
        let mut commands = queue.command_buffer()?;
        commands.blit_encoder().fill(&fill.view(0..fill.len())?, 1)?;
        sum += commands.commit()?.wait()?.device_time();
        assert_eq!(tenant.usage().device_time, sum);
        assert_eq!(tenant.usage().submissions, 0);
    }
    Ok(())
}

#[test]
fn what_is_of_another_device_is_refused_at_once() -> Result<(), Error> {
    let ((one, _), (other, _)) = (null("")?, null("")?);
    let foreign = other.buffer(&[0u32; 4])?;
    let queue = one.queue()?;
    let mut commands = queue.command_buffer()?;
    commands.blit_encoder().fill(&foreign.view(0..4)?, 0)?;
    let refused = commands.commit().unwrap_err();
    assert_eq!(refused, Error::Device(DeviceError::WrongDevice { what: "buffer", device: "null".into() }));
    Ok(())
}

#[test]
fn work_after_failed_work_does_not_run_and_names_the_cause() -> Result<(), Error> {
    let device = Device::system_default()?;
    let add = device.library_from_source(SOURCE)?.pipeline("add")?;
    let (x, y) = (device.buffer(&[1u32; 64])?, device.buffer(&[7u32; 64])?);
    let queues = device.queues(2)?;
    let (one, other) = (queues.queue(0), queues.queue(1));
    let short = x.view(0..32)?;
    let fails = one.launch(&add).arg(&short).arg(&y).arg(1).threads(64).label("reads too far").submit()?;
    let depends = other.launch(&add).arg(&x).arg(&y).arg(5).threads(64).after(&fails).submit()?;
    let Err(Error::Exec(failed)) = depends.wait() else { panic!("it must not run") };
    assert_eq!(failed.class(), ErrorClass::Caller, "that of the first cause");
    let ExecError::DependencyFailed { dependency, error, .. } = *failed else { panic!("{failed}") };
    assert_eq!(dependency, "reads too far");
    assert!(matches!(*error, ExecError::Device(DeviceError::OutOfBounds(_))));
    assert!(y.read()?.iter().all(|&word| word != 6), "it did not run");
    Ok(())
}

#[test]
fn a_graph_runs_on_one_queue_or_over_several() -> Result<(), Error> {
    let device = Device::system_default()?;
    let add = device.library_from_source(SOURCE)?.pipeline("add")?;
    let start = device.buffer(&[100u32; 64])?;
    let ends = [device.acquire::<u32>(64)?, device.acquire(64)?, device.acquire(64)?, device.acquire(64)?];
    let mut graph = GraphBuilder::new("chains");
    let k = graph.value("k", 1u32)?;
    for (chain, end) in ends.iter().enumerate() {
        let first = add.node().arg(&start).arg(end).arg(k).threads(64).build()?;
        graph.kernel(format!("first {chain}"), first)?;
        for step in 0..5 {
            let further = add.node().arg(end).arg(end).arg(chain).threads(64).build()?;
            graph.kernel(format!("further {chain} {step}"), further)?;
        }
    }
    graph.order_as_added();
    let mut graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    let queues = device.queues(3)?;
    for (round, k_value) in [1u32, 20, 300].into_iter().enumerate() {
        graph.set_value(k, k_value)?;
        match round {
            0 => queues.queue(0).submit_graph(&graph)?.wait().map(drop)?,
            1 => queues.submit_graph(&graph)?.wait().map(drop)?,
            _ => queues.queue(2).run_graph(&graph).map(drop)?,
        }
        for (chain, end) in (0u32..).zip(&ends) {
            assert_eq!(end.read()?, [100 + k_value + 5 * chain; 64], "round {round}");
        }
    }
    Ok(())
}

#[test]
fn a_cycle_is_told_by_the_names_of_its_nodes() -> Result<(), Error> {
    let (device, _clock) = null("")?;
    let buffer = device.buffer(&[0u8; 64])?;
    let mut graph = GraphBuilder::new("g");
    let bytes = graph.buffer("bytes", buffer.region())?;
    let [a, b] = [graph.fill("a", bytes.range(0..8), 0)?, graph.fill("b", bytes.range(8..16), 0)?];
    graph.edge(a, b)?;
    graph.edge(b, a)?;
    let error = graph.build().unwrap_err();
    assert!(matches!(&error, Error::Graph(error) if matches!(&**error, GraphError::Cycle { path, .. }
        if path == &["a", "b"])));
    assert_eq!(error.to_string(), "the graph `g` has a cycle: `a` -> `b` -> `a`");
    Ok(())
}

#[test]
fn every_end_is_told_with_the_one_error_type() -> Result<(), Error> {
    let (device, _clock) = null("")?;
    let (queue, buffer) = (device.queue()?, device.buffer(&[0u8; 8])?);
    queue.pause();
    let fill = |label: &str| -> Result<Submission, Error> {
        let mut commands = queue.command_buffer()?.label(label);
        commands.blit_encoder().fill(&buffer.view(0..8)?, 1)?;
        commands.commit()
    };
    let (waiting, guarded) = (fill("waits")?, fill("guarded")?);
    let (sender, told) = std::sync::mpsc::channel();
    waiting.on_done(move |outcome| sender.send(outcome.clone()).unwrap_or_default());
    assert_eq!(waiting.outcome(), None);
    assert!(matches!(queue.drain(), Err(Error::Exec(error)) if matches!(*error, ExecError::Paused { .. })));
    assert_eq!(waiting.cancel(), Cancellation::Removed);
    let error = waiting.wait().unwrap_err();
    assert!(error.is_cancelled() && error.class() == ErrorClass::Caller);
    assert_eq!(told.try_recv(), Ok(Err(error)));

    let other_handle = guarded.clone();
    drop(guarded.cancel_on_drop());
    assert!(other_handle.wait().unwrap_err().is_cancelled());
    queue.resume();
    let late = fill("runs")?.elapsed_since(&waiting).unwrap_err();
    assert_eq!(late.to_string(), "no time between the two submissions: one has not ended well");
    Ok(())
}

/// A device without a library of products says so before anything runs, and what is wrong is told when it is
/// encoded.
#[test]
fn products_of_matrices_are_refused_with_the_reason() -> Result<(), Error> {
    let product = |device: &Device| -> Result<MatrixProduct, Error> {
        let operand = || -> Result<MatrixOperand, Error> {
            let buffer = device.buffer_zeroed::<f32>(4)?;
            let (element, region) = (ScalarType::F32, buffer.region());
            let buffer = Arc::clone(region.buffer());
            Ok(MatrixOperand::new(buffer, 0, element, 2))
        };
        Ok(MatrixProduct::new([operand()?, operand()?], operand()?, [2; 3]))
    };
    let cpu = Device::by_name("cpu")?;
    let refused = cpu.queue()?.command_buffer()?.multiply(product(&cpu)?).unwrap_err();
    for error in [refused, cpu.matrix_products().unwrap_err()] {
        assert!(error.to_string().contains("does not support products of matrices"), "{error}");
    }
    let (null, _clock) = null("")?;
    null.matrix_products()?;
    let mut commands = null.queue()?.command_buffer()?;
    let mut wrong = product(&null)?;
    wrong.rows = 3;
    assert!(commands.multiply(wrong).is_err());
    commands.multiply(product(&null)?)?;
    commands.commit()?.wait()?;
    Ok(())
}

#[test]
fn errors_have_kinds_by_which_programs_decide() -> Result<(), Error> {
    use anymetal::ErrorKind;
    let device = Device::system_default()?;
    let kind = |source: &str| device.library_from_source(source).and_then(|library| library.pipeline("k"));
    assert_eq!(kind("kernel void k() { x; }").unwrap_err().kind(), ErrorKind::Compile);
    assert_eq!(kind("kernel void other() {}").unwrap_err().kind(), ErrorKind::Compile);
    let k = kind("kernel void k(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }")?;
    let y = device.buffer_zeroed::<u32>(4)?;
    let queue = device.queue()?;
    assert_eq!(queue.launch(&k).threads(4).submit().unwrap_err().kind(), ErrorKind::InvalidUse);
    let fault = queue.launch(&k).arg(&y).threads(5).submit()?.wait().unwrap_err();
    assert_eq!(fault.kind(), ErrorKind::KernelFault);
    let again = fault.clone();
    assert_eq!(fault, again);
    let (one, other) =
        (kind("kernel void k() { x; }").unwrap_err(), kind("kernel void k() { x; }").unwrap_err());
    assert_eq!(one, one.clone());
    assert_ne!(one, other, "two failures are equal only if they are the same one");
    Ok(())
}
