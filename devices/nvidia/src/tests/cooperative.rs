//! Cooperative launches: parameters, the driver's call, what is refused.

use anymetal_hal::launch::nvidia::grid_barrier_words;

use super::*;
use crate::stand_in::RESIDENT_GROUPS;

/// The kernel `twice` with barriers of the grid.
fn meeting() -> Arc<Artifact> {
    let mut artifact = Artifact::clone(&artifact("fine"));
    artifact.kernels[0].grid_barriers = true;
    Arc::new(artifact)
}

/// Looks at the words of the barrier, and does what `multiply` does.
fn multiply_with_barrier(launch: &KernelLaunch<'_>, memory: &mut dyn FnMut(u64) -> *mut u8) {
    let p = launch.parameters;
    assert!(launch.cooperative);
    let (x, by, words) = (word(p, 0), word(p, 16), word(p, 48));
    assert!(words.is_multiple_of(8));
    let threads = u32::from_le_bytes(p[56..60].try_into().unwrap());
    // SAFETY: the addresses are those of the test's buffers and of the queue's memory.
    unsafe {
        let found = memory(words).cast::<[u8; 16]>().read();
        assert_eq!(found, grid_barrier_words(launch.groups.iter().product()));
        // A launch leaves other words than it found.
        memory(words).write_bytes(0xff, 16);
        let by = memory(by).cast::<u32>().read();
        for thread in 0..u64::from(threads) {
            let at = memory(x + thread * 4).cast::<u32>();
            at.write(at.read() * by);
        }
    }
}

fn cooperative(command: Command) -> Command {
    match command {
        Command::Dispatch(dispatch) => Command::Dispatch(dispatch.with_cooperation(true)),
        other => other,
    }
}

#[test]
fn each_launch_finds_words_of_its_own_and_is_cooperative() {
    let bench = Bench::new(multiply_with_barrier);
    let pipeline = bench.device.pipeline(&meeting(), "twice").unwrap();
    let x = bench.buffer(&[1; 96]);
    let commands = (0..2).map(|_| cooperative(dispatch(&pipeline, &x, 3, 96)));
    bench.run(commands.collect()).unwrap();
    assert_eq!(values(&x), [9; 96]);
    assert_eq!(bench.driver.calls(&["cooperative launch"]), ["cooperative launch [3, 1, 1] [32, 1, 1] 0"; 2]);
    assert_eq!(bench.driver.calls(&["resident"]), ["resident 32 0"; 2]);
}

#[test]
fn other_launches_and_grids_that_do_not_fit_are_refused() {
    let bench = Bench::new(multiply_with_barrier);
    let pipeline = bench.device.pipeline(&meeting(), "twice").unwrap();
    let x = bench.buffer(&[1; 512]);
    let refused = bench.run(vec![dispatch(&pipeline, &x, 3, 96)]).unwrap_err();
    assert_eq!(refused, DeviceError::NotCooperative { kernel: "twice".to_owned() });
    // The first command would run: all are checked before.
    let grids = [96, 512].map(|threads| cooperative(dispatch(&pipeline, &x, 3, threads)));
    let refused = bench.queue.submit(CommandList::new(grids.into())).unwrap_err();
    let (kernel, groups) = ("twice".to_owned(), 16);
    assert_eq!(refused, DeviceError::CooperativeGridTooLarge { kernel, groups, limit: RESIDENT_GROUPS });
    assert_eq!(values(&x), [1; 512]);
    assert_eq!(bench.driver.calls(&["cooperative launch"]).len(), 0);
}

#[test]
fn indirect_command_buffers_do_not_hold_cooperative_launches() {
    let bench = Bench::new(multiply_with_barrier);
    let pipeline = bench.device.pipeline(&meeting(), "twice").unwrap();
    let x = bench.buffer(&[1; 96]);
    let refused = bench.device.indirect_command_buffer(vec![cooperative(dispatch(&pipeline, &x, 3, 96))]);
    assert!(matches!(refused, Err(DeviceError::NotIndirect { .. })), "{refused:?}");
}
