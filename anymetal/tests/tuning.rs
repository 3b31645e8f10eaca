//! Tuning: what is measured, what is refused, what later launches do.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anymetal::tuning::{ShapeClass, Verdict, database};
use anymetal::{Device, Error};

const SOURCE: &str = "
kernel void size(device uint* y, uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) { y[i] = n; }
kernel void fixed(device uint* y, uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint shared[64];
    shared[t] = i;
    threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    y[i] = shared[t];
}
";

/// A source of its own for each test, so that tests do not see each other's entries.
fn library(device: &Device) -> anymetal::Library {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    device.library_from_source(&format!("constant uint number = {number};\n{SOURCE}")).unwrap()
}

#[test]
fn later_launches_have_the_size_that_was_found() {
    let device = Device::system_default().unwrap();
    let size = library(&device).pipeline("size").unwrap();
    let (queue, y) = (device.queue().unwrap(), device.buffer_zeroed::<u32>(5000).unwrap());
    // Only 64 passes the check, so that it must win.
    let sizes = y.clone();
    let check = move || match sizes.read().unwrap()[0] {
        64 | 256 => Ok(()),
        other => Err(format!("{other} is not allowed")),
    };
    let options = anymetal::tuning::SearchOptions::default().gain(-1000.0).rounds(2);
    let tuned = queue.tune(&size).options(options).check(check).run(|l| l.arg(&y).threads(5000)).unwrap();
    let refused = tuned.trials.iter().filter(|trial| matches!(trial.verdict, Verdict::Refused(_))).count();
    assert_eq!(refused, 4, "{:?}", tuned.trials);
    let best = tuned.best().size[0];
    queue.launch(&size).arg(&y).threads(4999).submit().unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap()[0], best, "the same class of grids");
    queue.launch(&size).arg(&y).threads(2048).submit().unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap()[0], 256, "another class");
    queue.launch(&size).arg(&y).threads(5000).group_size(96).submit().unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap()[0], 96, "a size that is given counts");
    let class = ShapeClass::of([5000, 1, 1], 1);
    assert!(database().entries().iter().any(|(key, entry)| key.shape == class && entry.size[0] == best));
}

#[test]
fn sizes_that_leave_a_threadgroup_array_are_refused() {
    let device = Device::system_default().unwrap();
    let fixed = library(&device).pipeline("fixed").unwrap();
    let (queue, y) = (device.queue().unwrap(), device.buffer_zeroed::<u32>(4096).unwrap());
    let failed = queue.tune(&fixed).run(|launch| launch.arg(&y).threads(4096)).unwrap_err();
    assert!(failed.to_string().contains("out of bounds of `shared`"), "the default size fails: {failed}");
}

#[test]
fn launches_that_cannot_be_tuned_say_why() {
    let device = Device::system_default().unwrap();
    let size = library(&device).pipeline("size").unwrap();
    let (queue, y) = (device.queue().unwrap(), device.buffer_zeroed::<u32>(64).unwrap());
    let why = |error: Error| error.to_string();
    let groups = queue.tune(&size).run(|launch| launch.arg(&y).groups(2)).unwrap_err();
    assert!(why(groups).contains("counts threadgroups"));
    assert!(matches!(queue.tune(&size).run(|launch| launch.arg(&y)), Err(Error::NoGrid { .. })));
    let outside = queue.tune(&size).budget(Duration::ZERO).run(|launch| launch.arg(&y).threads(65));
    assert!(matches!(outside, Err(Error::Device(_))), "{outside:?}");
}

#[test]
fn an_empty_grid_is_tuned_to_the_default() {
    let device = Device::system_default().unwrap();
    let size = library(&device).pipeline("size").unwrap();
    let (queue, y) = (device.queue().unwrap(), device.buffer_zeroed::<u32>(1).unwrap());
    let tuned = queue.tune(&size).run(|launch| launch.arg(&y).threads(0)).unwrap();
    assert_eq!(tuned.default().size, [256, 1, 1]);
}
