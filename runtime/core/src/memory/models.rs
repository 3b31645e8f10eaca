//! Models of quotas and of the staging ring: every interleaving of two threads, under loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-core --lib --release models`.

use std::sync::Arc;

use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::clock::ManualClock;
use anymetal_hal::completion::{CompletionSource, Timing};
use anymetal_hal::device::Device;

use crate::memory::staging::StagingRing;
use crate::memory::test_device::TestDevice;
use crate::memory::view::BufferView;
use crate::tenant::{Tenant, TenantLimits};

#[test]
fn a_quota_is_never_exceeded_and_comes_back() {
    loom::model(|| {
        let limits = TenantLimits { bytes: Some(100), submissions: Some(1), ..TenantLimits::default() };
        let tenant = Tenant::new("t", limits, ManualClock::new());
        let take = |tenant: &Tenant| {
            let memory = tenant.charge_memory(60);
            let work = tenant.charge_work();
            let usage = tenant.usage();
            assert!(usage.bytes <= 100 && usage.submissions <= 1);
            if let Ok(work) = work {
                work.finish(Timing::default().ended_ns(5));
            }
            memory.is_ok()
        };
        let other = loom::thread::spawn({
            let tenant = tenant.clone();
            move || take(&tenant)
        });
        let first = take(&tenant);
        assert!(other.join().unwrap() || first);
        let usage = tenant.usage();
        assert_eq!((usage.bytes, usage.buffers, usage.submissions), (0, 0, 0));
    });
}

#[test]
fn two_batches_never_share_the_bytes_of_a_ring() {
    loom::model(|| {
        let device = TestDevice::new(1 << 20);
        let ring = StagingRing::new(&*device, 256).unwrap();
        let target = BufferView::of(device.buffer(&BufferDescriptor::shared(200)).unwrap());
        let upload = |ring: &StagingRing, target: &BufferView| {
            let mut batch = ring.batch();
            batch.upload(&[1; 200], target).ok()?;
            let source = CompletionSource::new(None);
            let submitted = batch.submit(|_commands| Ok(source.completion()));
            Some((source, submitted.is_ok()))
        };
        let other = loom::thread::spawn({
            let (ring, target) = (ring.clone(), target.clone());
            move || upload(&ring, &target)
        });
        let first = upload(&ring, &target);
        let second = other.join().unwrap();
        assert!(first.is_some() != second.is_some(), "the ring holds one of them, until it has ended");
        assert!(upload(&ring, &target).is_none());
        for (source, _) in [first, second].into_iter().flatten() {
            source.finish(Ok(Timing::default()));
        }
        assert!(upload(&ring, &target).is_some());
        let _kept: Arc<TestDevice> = device;
    });
}
