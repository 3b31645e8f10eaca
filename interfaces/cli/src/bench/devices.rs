//! `bench --suite devices`: copies between two devices, and one kernel's work split over both.
//!
//! Contenders take turns in one run: our copy and the driver's own; the kernel on one device, split over two,
//! and split with the second part brought to the first device. Wrong bytes fail the command.

use std::time::Duration;

use anymetal::memory::Link;
use anymetal::memory::topology::{LONG_BYTES, PeerCopies, gbps};
use anymetal::{Buffer, Device, DeviceKind, Error, Pipeline, Queue};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::{load_average, median, print_json, timed};
use crate::failure::Failure;

/// A chain of operations for each thread; parts of it are for several devices.
const SOURCE: &str =
    "kernel void chain(device float* y, constant uint& first, uint i [[thread_position_in_grid]]) {
    float v = float((first + i) & 1023u) * 0.001f;
    for (uint n = 0; n < 8192u; n++) v = metal::fma(v, 0.999f, 0.001f);
    y[i] = v;
}";
const THREADS: usize = 1 << 24;

/// Goals: of the driver's own copy, and of the time on one device.
const OF_DRIVER: f64 = 0.9;
const TIMES_ONE: f64 = 1.8;

#[derive(Debug, Serialize)]
struct Copies {
    from: String,
    to: String,
    path: &'static str,
    long_gbps: f64,
    driver_long_gbps: f64,
    /// Our bandwidth over the driver's.
    of_driver: f64,
    short_us: f64,
    driver_short_us: f64,
    right: bool,
    met: bool,
}

#[derive(Debug, Serialize)]
struct Split {
    one_ms: f64,
    two_ms: f64,
    /// With the second part brought to the first device.
    gathered_ms: f64,
    times_one: f64,
    gathered_times_one: f64,
    right: bool,
    met: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    devices: [String; 2],
    hardware: [String; 2],
    copies: Vec<Copies>,
    split: Split,
}

/// Runs the suite on the two devices whose names a comma separates, or on the first two GPUs. Goals that are
/// missed are shown, not failed.
pub(super) fn run(names: Option<&str>, rounds: u32, json: bool) -> Result<bool, Failure> {
    let [first, second] = two(names)?;
    let name = |device: &Device| device.name().to_owned();
    let hardware = |device: &Device| device.capabilities().hardware_name.clone();
    let report = Report {
        copies: vec![copies(&first, &second, rounds)?, copies(&second, &first, rounds)?],
        split: split(&first, &second, rounds)?,
        devices: [name(&first), name(&second)],
        hardware: [hardware(&first), hardware(&second)],
    };
    print(&report, json);
    Ok(report.split.right && report.copies.iter().all(|copies| copies.right))
}

fn two(names: Option<&str>) -> Result<[Device; 2], Failure> {
    let devices: Vec<Device> = match names {
        Some(names) => names.split(',').map(|name| Device::by_name(name.trim())).collect::<Result<_, _>>()?,
        None => {
            let mut devices = Device::all()?;
            devices.retain(|device| device.capabilities().kind == DeviceKind::Nvidia);
            devices.truncate(2);
            devices
        }
    };
    let count = devices.len();
    devices.try_into().map_err(|_| {
        Failure::Usage(format!(
            "the suite `devices` needs two devices, as in `--device nvidia:0,nvidia:1`; there are {count}"
        ))
    })
}

fn copies(from: &Device, to: &Device, rounds: u32) -> Result<Copies, Error> {
    // Without a driver's own copy there is nothing to compare with: that is told before memory is taken.
    from.link_to(to)?.copy_by_driver(&from.buffer_zeroed::<u8>(1)?, &to.buffer_zeroed::<u8>(1)?)?;
    let copies = PeerCopies::new(from, to)?;
    copies.long_by_driver()?;
    let mut right = copies.is_right()?;
    copies.clear()?;
    copies.long()?;
    right &= copies.is_right()?;
    let mut times = [const { Vec::new() }; 4];
    for round in 0..rounds {
        // Which is first changes, as the first may find the links asleep.
        for contender in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let (long, short) = match contender {
                0 => (copies.long()?, copies.short()?),
                _ => (copies.long_by_driver()?, copies.short_by_driver()?),
            };
            times[contender].push(long);
            times[contender + 2].push(short);
        }
    }
    let [long, driver_long, short, driver_short] = times.map(median);
    let (ours, drivers) = (gbps(LONG_BYTES, long), gbps(LONG_BYTES, driver_long));
    Ok(Copies {
        from: from.name().to_owned(),
        to: to.name().to_owned(),
        path: copies.path().word(),
        long_gbps: ours,
        driver_long_gbps: drivers,
        of_driver: ours / drivers,
        short_us: short.as_nanos() as f64 / 1e3,
        driver_short_us: driver_short.as_nanos() as f64 / 1e3,
        right,
        met: ours / drivers >= OF_DRIVER,
    })
}

/// The kernel on one device, with room for a part of the results.
struct Part {
    queue: Queue,
    pipeline: Pipeline,
    y: Buffer<f32>,
}

impl Part {
    fn new(device: &Device, count: usize) -> Result<Self, Error> {
        let pipeline = device.library_from_source(SOURCE)?.pipeline("chain")?;
        Ok(Part { queue: device.queue()?, pipeline, y: device.buffer_zeroed(count)? })
    }

    /// Starts so many threads from a first one.
    fn start(&self, first: usize, count: usize) -> Result<anymetal::Submission, Error> {
        self.queue.launch(&self.pipeline).arg(&self.y).arg(first as u32).threads(count).submit()
    }
}

fn on_both(one: &Part, other: &Part) -> Result<(), Error> {
    let half = THREADS / 2;
    let (first, second) = (one.start(0, half)?, other.start(half, half)?);
    first.wait()?;
    second.wait()?;
    Ok(())
}

fn gathered(one: &Part, other: &Part, back: &Link) -> Result<(), Error> {
    on_both(one, other)?;
    back.copy(&other.y, &one.y.view(THREADS / 2..THREADS)?)?;
    Ok(())
}

fn split(first: &Device, second: &Device, rounds: u32) -> Result<Split, Error> {
    let (one, other) = (Part::new(first, THREADS)?, Part::new(second, THREADS / 2)?);
    let back = second.link_to(first)?;
    one.start(0, THREADS)?.wait()?;
    let expected = one.y.read()?;
    one.y.write(&vec![0.0; THREADS])?;
    gathered(&one, &other, &back)?;
    let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
    let right = one.y.read()?.iter().zip(&expected).all(same);
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        times[0].push(timed(|| one.start(0, THREADS)?.wait().map(drop))?);
        times[1].push(timed(|| on_both(&one, &other))?);
        times[2].push(timed(|| gathered(&one, &other, &back))?);
    }
    let [alone, both, gathered] = times.map(median).map(|time: Duration| time.as_secs_f64() * 1e3);
    Ok(Split {
        one_ms: alone,
        two_ms: both,
        gathered_ms: gathered,
        times_one: alone / both,
        gathered_times_one: alone / gathered,
        right,
        met: alone / both >= TIMES_ONE,
    })
}

fn yes(met: bool) -> &'static str {
    if met { "yes" } else { "NO" }
}

fn print(report: &Report, json: bool) {
    if json {
        print_json(report);
        return;
    }
    println!("{}; {}", report.hardware.join(", "), load_average());
    println!("copies: medians; goal {OF_DRIVER} of the bandwidth of the driver's own");
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header([
        "from", "to", "path", "256 MiB", "driver's", "ratio", "4 bytes", "driver's", "right", "met",
    ]);
    for row in &report.copies {
        table.add_row([
            row.from.clone(),
            row.to.clone(),
            row.path.to_owned(),
            format!("{:.1} GB/s", row.long_gbps),
            format!("{:.1} GB/s", row.driver_long_gbps),
            format!("{:.3}", row.of_driver),
            format!("{:.1} µs", row.short_us),
            format!("{:.1} µs", row.driver_short_us),
            yes(row.right).to_owned(),
            yes(row.met).to_owned(),
        ]);
    }
    for column in table.column_iter_mut().skip(3).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    let split = &report.split;
    println!(
        "a kernel on one device {:.2} ms, split over two {:.2} ms ({:.2}×, goal {TIMES_ONE}×: {}), \
         with the second half brought to the first {:.2} ms ({:.2}×); results right: {}",
        split.one_ms,
        split.two_ms,
        split.times_one,
        yes(split.met),
        split.gathered_ms,
        split.gathered_times_one,
        yes(split.right),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_kernel_make_the_whole() {
        let device = Device::by_name("cpu").unwrap();
        let (one, other) = (Part::new(&device, 96).unwrap(), Part::new(&device, 48).unwrap());
        one.start(0, 96).unwrap().wait().unwrap();
        other.start(48, 48).unwrap().wait().unwrap();
        let (whole, second) = (one.y.read().unwrap(), other.y.read().unwrap());
        assert_eq!(whole[48..], second);
        assert!(whole.iter().all(|value| *value > 0.0), "{whole:?}");
    }
}
