//! Short work runs inline on the submitting thread, where that is allowed.

use std::time::Duration;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::command::{CommandList, Deadline};
use anymetal_hal::device::Device;
use anymetal_hal::queue::QueueDescriptor;

use crate::kernels::{dispatch, pipeline, submission};

#[test]
fn short_work_runs_inline_if_allowed() {
    // One worker, and waiting threads do not help.
    let options =
        CpuDeviceOptions { threads: Some(1), lend_waiting_threads: false, ..CpuDeviceOptions::default() };
    let device = CpuDevice::new(&options).unwrap();
    let queue = || device.queue(&QueueDescriptor::default()).unwrap();
    let (empty, endless) = (pipeline(&device, "empty"), pipeline(&device, "endless"));
    let (short, busy) = (queue(), queue());
    let work =
        |may_run_inline| submission(vec![dispatch(&empty, vec![], 1, 1)]).may_run_inline(may_run_inline);
    // A busy machine may keep this thread from running for longer than short work takes: then once more.
    let ran_at_once = (0..20).any(|_| {
        for _ in 0..200 {
            short.submit(work(true)).unwrap().wait().unwrap();
        }
        let occupies = submission(vec![dispatch(&endless, vec![], 1, 1)])
            .deadline(Deadline::After(Duration::from_millis(300)));
        let occupied = busy.submit(occupies).unwrap();
        // The worker is busy, so whatever ends meanwhile was run by this thread.
        let done = short.submit(work(true)).unwrap().is_done();
        let others = short.submit(work(false)).unwrap();
        let (without_leave, still_busy) = (others.is_done(), !occupied.is_done());
        occupied.wait().unwrap_err();
        others.wait().unwrap();
        assert!(!(still_busy && without_leave), "it was run by a thread that did not allow it");
        still_busy && done
    });
    assert!(ran_at_once, "it was never run at once");
}

#[test]
fn work_that_waits_its_turn_keeps_it() {
    let device = CpuDevice::new(&CpuDeviceOptions::default()).unwrap();
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let endless = submission(vec![dispatch(&pipeline(&device, "endless"), vec![], 1, 1)])
        .deadline(Deadline::After(Duration::from_millis(50)));
    let first = queue.submit(endless).unwrap();
    // Nothing to do is as short as can be, but not before what was submitted first.
    let second = queue.submit(CommandList::default().may_run_inline(true)).unwrap();
    assert!(!second.is_done() || first.is_done());
    first.wait().unwrap_err();
    second.wait().unwrap();
}
