//! Work that a queue holds back is seen by reads and writes; and what is made for a tenant is on its account.

use std::sync::Arc;
use std::time::Duration;

use anymetal::error::ErrorClass;
use anymetal::memory::{
    AccessFrequency, BufferUsage, HeapDescriptor, HostPages, ModeRequest, ResourceKind, ResourceOptions,
};
use anymetal::testing::{self, NullDevice};
use anymetal::{BufferDescriptor, Device, Error};
use anymetal_core::memory::MemoryError;
use anymetal_core::tenant::{QuotaError, TenantLimits};
use anymetal_hal::clock::ManualClock;
use anymetal_hal::error::DeviceError;

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void slow(device uint* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    uint sum = i;
    for (uint k = 0; k < n; ++k) { sum = sum * 1664525u + 1013904223u; }
    out[i] = sum;
}
kernel void put(device uint* out, constant uint& value, uint i [[thread_position_in_grid]]) { out[i] = value; }
";

const COUNT: usize = 1000;

#[test]
fn a_read_right_after_a_submission_is_never_stale() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let (slow, put) = (library.pipeline("slow")?, library.pipeline("put")?);
    let (first, second) = (device.queue()?, device.queue()?);
    let (scratch, out) = (device.buffer(&vec![0u32; COUNT])?, device.buffer(&vec![0u32; COUNT])?);
    for round in 1..=10u32 {
        let before = first.launch(&slow).arg(&scratch).arg(20_000u32).threads(COUNT).submit()?;
        second.launch(&put).arg(&out).arg(round).threads(COUNT).after(&before).submit()?;
        assert!(out.read()?.iter().all(|&value| value == round), "stale in round {round}");
    }
    // More than the device is given at once.
    for value in 1..=200u32 {
        first.launch(&slow).arg(&scratch).arg(500u32).threads(COUNT).submit()?;
        first.launch(&put).arg(&out).arg(value).threads(COUNT).submit()?;
    }
    assert!(out.read()?.iter().all(|&value| value == 200));
    // A write comes after what was submitted before it.
    for value in 1..=100u32 {
        first.launch(&put).arg(&out).arg(value).threads(COUNT).submit()?;
    }
    out.write(&[7; COUNT])?;
    first.drain()?;
    assert!(out.read()?.iter().all(|&value| value == 7));
    Ok(())
}

#[test]
fn a_read_of_what_a_paused_queue_holds_is_an_error() -> Result<(), Error> {
    let device = Device::system_default()?;
    let put = device.library_from_source(SOURCE)?.pipeline("put")?;
    let queue = device.create_queue(&device.queue_descriptor().label("p"))?;
    let out = device.buffer(&vec![0u32; COUNT])?;
    queue.pause();
    let held = queue.launch(&put).arg(&out).arg(5u32).threads(COUNT).submit()?;
    let paused = Error::Device(DeviceError::HeldByPause { queue: "p".into() });
    assert_eq!(out.read(), Err(paused.clone()));
    assert_eq!(out.write(&[1; COUNT]), Err(paused.clone()));
    assert_eq!(device.download(&out), Err(paused));
    queue.resume();
    assert!(out.read()?.iter().all(|&value| value == 5));
    assert!(held.wait_timeout(Duration::ZERO).is_some());
    Ok(())
}

#[test]
fn buffers_and_uploads_are_on_a_tenants_account() -> Result<(), Error> {
    let device = Device::system_default()?;
    let limits = TenantLimits::new().bytes(1000);
    let tenant = device.tenant("guest", limits);
    let guest = device.for_tenant(&tenant);
    let buffer = guest.buffer(&[1u8; 600])?;
    let refused = |bytes| {
        let error = QuotaError::Bytes { tenant: "guest".into(), requested: bytes, used: 600, limit: 1000 };
        Some(MemoryError::Quota(error).into())
    };
    assert_eq!(guest.buffer_zeroed::<u8>(401).err(), refused(401));
    assert_eq!(guest.upload(&[0u8; 402]).map(drop).err(), refused(402));
    assert!(guest.acquire::<u8>(401).is_err() && device.buffer_zeroed::<u8>(401).is_ok());
    // What is staged counts while it is in flight.
    let queue = guest.queue()?;
    queue.pause();
    let upload = guest.upload_to(&queue, &buffer.view(0..300)?, &[2; 300])?;
    assert_eq!(tenant.usage().bytes, 900);
    assert!(guest.upload_to(&queue, &buffer.view(0..300)?, &[3; 300]).is_err());
    queue.resume();
    upload.wait()?;
    queue.drain()?;
    assert_eq!((tenant.usage().bytes, buffer.read()?[299]), (600, 2));
    drop(buffer);
    assert_eq!((tenant.usage().bytes, tenant.usage().buffers), (0, 0));
    Ok(())
}

#[test]
fn uploads_one_after_another_fit_a_quota_of_one() -> Result<(), Error> {
    let device = Device::system_default()?;
    let buffer = device.buffer_zeroed::<u8>(512)?;
    let limits = TenantLimits::new().bytes(512).submissions(1);
    let tenant = device.tenant("guest", limits);
    let guest = device.for_tenant(&tenant);
    let queue = guest.queue()?;
    for round in 0..3000u32 {
        let elements = [round.to_le_bytes()[0]; 512];
        guest.upload_to(&queue, &buffer.view(0..512)?, &elements)?.wait()?;
        assert_eq!((tenant.usage().bytes, tenant.usage().submissions), (0, 0), "after upload {round}");
    }
    // Work that is taken back gives its part back too, before another thread sees its end.
    for round in 0..300 {
        queue.pause();
        let held = guest.upload_to(&queue, &buffer.view(0..512)?, &[1; 512])?;
        assert!(guest.upload_to(&queue, &buffer.view(0..512)?, &[2; 512]).is_err());
        std::thread::scope(|scope| {
            let sees = scope.spawn(|| {
                while !held.is_done() {
                    std::hint::spin_loop();
                }
                (tenant.usage().bytes, tenant.usage().submissions)
            });
            held.cancel();
            assert_eq!(sees.join().expect("no panic"), (0, 0), "after cancellation {round}");
        });
        queue.resume();
    }
    assert_eq!(tenant.usage().refusals, 300);
    Ok(())
}

#[test]
fn the_staging_ring_is_no_leak() -> Result<(), Error> {
    let device = testing::separate(&Device::system_default()?);
    let buffer = device.buffer_zeroed::<u8>(512)?;
    let before = device.memory().budget.reserved;
    device.upload_to(&device.queue()?, &buffer.view(0..512)?, &[3; 512])?.wait()?;
    assert!(device.memory().budget.reserved > before, "the ring counts in the budget");
    assert_eq!((device.live_buffers().len(), buffer.read()?[511]), (1, 3));
    drop(buffer);
    assert!(device.live_buffers().is_empty());
    device.assert_no_leaks();
    Ok(())
}

#[test]
fn options_and_handles_of_a_tenant_charge_alike() -> Result<(), Error> {
    // The host does not see the device's own memory, so that contents are staged.
    let device = Device::from_hal(Arc::new(NullDevice::with_own_memory("discrete", ManualClock::new())));
    let limits = || TenantLimits::new().bytes(1000);
    let (guest, other) = (device.tenant("guest", limits()), device.tenant("other", limits()));
    let by_handle = device.for_tenant(&guest);
    let by_options = |label: &str| ResourceOptions::new().label(label).tenant(&guest);
    let (usage, request) =
        (BufferUsage::new(AccessFrequency::Once, AccessFrequency::Often), ModeRequest::Automatic);
    // The buffer and what is staged for it are more than the quota, either way.
    let refused = by_handle.upload(&[1u8; 600]).map(drop).expect_err("600 and 600 are too many");
    assert_eq!(refused.class(), ErrorClass::Exhausted);
    assert_eq!(
        device
            .create_buffer(
                &BufferDescriptor::new(&[1u8; 600]).options(by_options("large").placed(usage, request))
            )
            .map(drop),
        Err(refused)
    );
    let small = device.create_buffer(&BufferDescriptor::<u8>::zeroed(400).options(by_options("small")))?;
    assert_eq!((small.label(), guest.usage().bytes, guest.usage().buffers), ("small", 400, 1));
    // The options' tenant comes before the handle's.
    let others = by_handle
        .create_buffer(&BufferDescriptor::<u8>::zeroed(100).options(ResourceOptions::new().tenant(&other)))?;
    assert_eq!((guest.usage().bytes, other.usage().bytes), (400, 100));
    // A heap is charged once, an import like a buffer.
    let heap = by_handle.create_heap(&HeapDescriptor::new(500).label("heap"))?;
    let cut = heap.buffer_zeroed::<u8>(100)?;
    assert_eq!((heap.label(), guest.usage().bytes, guest.usage().buffers), ("heap", 900, 2));
    assert!(device.create_heap(&HeapDescriptor::new(101).options(by_options("second heap"))).is_err());
    drop((heap, cut, others));
    assert_eq!((guest.usage().bytes, other.usage().bytes), (400, 0));
    let pages = || HostPages::from_reader(&[7u8; 601][..], 601).expect("memory for it");
    let refused = by_handle.import::<u8>(pages(), "pages").expect_err("601 more are too many");
    assert_eq!((refused.pages.length(), guest.usage().bytes), (601, 400));
    drop(small);
    let imported = Device::system_default()?.for_tenant(&guest).import::<u8>(pages(), "pages")?;
    assert_eq!((imported.label(), guest.usage().bytes, imported.read()?[600]), ("pages", 601, 7));
    drop(imported);
    assert_eq!((guest.usage().bytes, guest.usage().buffers), (0, 0));
    Ok(())
}

#[test]
fn memory_without_a_handle_is_listed_while_work_uses_it() -> Result<(), Error> {
    let device = testing::separate(&Device::system_default()?);
    let put = device.library_from_source(SOURCE)?.pipeline("put")?;
    let queue = device.queue()?;
    let (own, pooled) = (device.buffer_zeroed::<u32>(COUNT)?, device.acquire::<u32>(COUNT)?);
    queue.pause();
    let fill = |buffer| queue.launch(&put).arg(buffer).arg(7u32).threads(COUNT).submit();
    let work = [fill(&own)?, fill(&pooled)?];
    drop((own, pooled));
    let listed = device.live_buffers();
    let mut kinds: Vec<_> = listed.iter().map(|buffer| (buffer.kind, buffer.bytes)).collect();
    kinds.sort();
    let bytes = 4 * COUNT as u64;
    assert_eq!(kinds, [(ResourceKind::Buffer, bytes), (ResourceKind::PooledBuffer, bytes)]);
    assert!(device.memory().budget.reserved >= 2 * bytes, "its bytes are not free");
    queue.resume();
    work.into_iter().try_for_each(|work| work.wait().map(drop))?;
    device.assert_no_leaks();
    Ok(())
}
