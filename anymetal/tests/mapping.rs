//! Host views of buffers, and buffers of host memory.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anymetal::config::RuntimeConfig;
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::memory::{HostPages, LentMemory};
use anymetal::testing::{FaultPlan, Faults, ManualClock, fault_injecting, null_device, separate};
use anymetal::{BufferDescriptor, Device, Error, Family};

const SOURCE: &str = "kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";

#[test]
fn a_mapping_is_the_memory_itself_and_excludes_work() -> Result<(), Error> {
    let device = Device::system_default()?;
    let twice = device.library_from_source(SOURCE)?.pipeline("twice")?;
    let (queue, y) = (device.queue()?, device.create_buffer(&BufferDescriptor::new(&[1u32; 64]).label("y"))?);
    let launch = || queue.launch(&twice).arg(&y).threads(64).submit();
    launch()?;
    {
        let mut elements = y.map_mut()?;
        assert_eq!(*elements, [2; 64], "what was submitted is done");
        elements[63] = 100;
        let refused = launch().and_then(|work| work.wait()).unwrap_err();
        assert_eq!(refused, Error::Device(DeviceError::BufferMapped { label: "y".into() }));
        assert!(y.read().is_err() && y.map().is_err() && y.write(&[1]).is_err());
    }
    launch()?.wait()?;
    let (all, tail) = (y.map()?, y.view(62..64)?);
    assert_eq!((all[0], &*tail.map()?), (4, &[4, 200][..]));
    assert_eq!(y.read()?, *all, "reads beside a mapping for reading");
    assert!(y.map_mut().is_err());
    Ok(())
}

#[test]
fn a_mapping_keeps_a_acquired_buffer_from_the_pool() -> Result<(), Error> {
    let device = null_device(&ManualClock::new(), RuntimeConfig::default());
    let acquired = device.create_buffer(&BufferDescriptor::<u32>::zeroed(16).pooled())?;
    let mapped = acquired.map()?;
    drop(acquired);
    let _other = device.acquire::<u32>(16)?;
    assert_eq!(device.memory().pool.buffers, 2, "the mapped one is not handed out");
    assert_eq!(*mapped, [0; 16]);
    Ok(())
}

#[test]
fn a_map_behind_a_paused_queue_is_an_error_and_no_hang() -> Result<(), Error> {
    let device = Device::system_default()?;
    let (queue, y) = (device.queue()?, device.buffer(&[1u8; 64])?);
    queue.pause();
    let mut commands = queue.command_buffer()?;
    commands.blit_encoder().fill(&y.view(0..64)?, 7)?;
    let fill = commands.commit()?;
    assert!(matches!(y.map(), Err(Error::Device(DeviceError::HeldByPause { .. }))));
    queue.resume();
    assert_eq!(*y.map()?, [7; 64]);
    fill.wait().map(drop)
}

#[test]
fn imported_pages_are_a_buffer_that_does_not_count() -> Result<(), Error> {
    let device = separate(&Device::system_default()?);
    let twice = device.library_from_source(SOURCE)?.pipeline("twice")?;
    let reserved = device.memory().budget.reserved;
    let mut pages = HostPages::zeroed(256).unwrap();
    pages.write(252, &21u32.to_le_bytes())?;
    let y = device.import::<u32>(pages, "pages")?;
    assert_eq!((y.len(), y.label(), device.memory().budget.reserved), (64, "pages", reserved));
    assert!(device.live_buffers().iter().any(|live| live.label == "pages" && live.bytes == 256));
    device.queue()?.launch(&twice).arg(&y).threads(64).submit()?.wait()?;
    assert_eq!(y.map()?[63], 42);

    let refused = device.import::<u32>(HostPages::zeroed(255).unwrap(), "odd").unwrap_err();
    assert_eq!((refused.pages.length(), refused.error.class()), (255, ErrorClass::Caller));
    let null = null_device(&ManualClock::new(), RuntimeConfig::default());
    let plan = FaultPlan::default().allocations(Faults::at(0, ErrorClass::Exhausted));
    let (full, _faults) = fault_injecting(&null, plan);
    let refused = full.import::<u32>(HostPages::zeroed(8).unwrap(), "none").unwrap_err();
    assert_eq!(refused.pages.length(), 8);
    assert!(matches!(Error::from(refused), Error::Device(DeviceError::OutOfMemory { .. })));
    assert_eq!(full.import::<u32>(HostPages::zeroed(8).unwrap(), "fits")?.len(), 2);
    Ok(())
}

#[test]
fn lent_memory_is_used_in_place() -> Result<(), Error> {
    let words: Arc<Vec<AtomicU32>> = Arc::new((0..64).map(AtomicU32::new).collect());
    let lend = || {
        let start = NonNull::from(words.as_slice()).cast();
        // SAFETY: the vector is not resized and the loan holds it; atomics may be written through a shared
        // reference. Each dispatch below is given one loan.
        unsafe { LentMemory::new(start, 256, Box::new(Arc::clone(&words))) }
    };
    let device = separate(&Device::system_default()?);
    let reserved = device.memory().budget.reserved;
    for device in [device.clone(), device.with_family(Family::Apple7)] {
        let twice = device.library_from_source(SOURCE)?.pipeline("twice")?;
        let y = device.borrow_host(lend(), "words")?;
        assert_eq!((y.len(), y.label()), (256, "words"));
        device.queue()?.launch(&twice).arg(&y).threads(64).submit()?.wait()?;
    }
    assert_eq!(words[63].load(Ordering::Relaxed), 4 * 63);
    assert_eq!(device.memory().budget.reserved, reserved, "it is not the device's memory");
    let null = null_device(&ManualClock::new(), RuntimeConfig::default());
    let refused = null.borrow_host(lend(), "words").unwrap_err();
    assert!(matches!(refused, Error::Device(DeviceError::Unsupported { .. })));
    Ok(())
}
