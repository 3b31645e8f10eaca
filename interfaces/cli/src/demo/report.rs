//! What the tour prints and writes.

use super::{DemoRow, picture};
use crate::limits::Limits;
use crate::report::figures::roofline::{self, Point};
use crate::report::html;
use crate::report::recorded::{Ceilings, MemoryPoint, Recorded, Slice, Work};
use crate::workload::{Bound, Picture};
use anymetal::Device;
use anymetal::profile::TimeSource;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Lists the devices.
pub(super) fn devices(devices: &[Device]) {
    println!("Devices");
    for device in devices {
        let capabilities = device.capabilities();
        println!("  {}: {}", device.name(), capabilities.hardware_name);
    }
    println!();
}

fn milliseconds(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2} ms") } else { format!("{ms:.0} ms") }
}

fn cells(row: &DemoRow, limits: &Limits) -> Vec<String> {
    let (unit, of) = match row.bound {
        Bound::Memory => ("GB/s", "copy"),
        Bound::Compute => ("GFLOP/s", "peak"),
    };
    vec![
        row.name.to_owned(),
        row.size.clone(),
        milliseconds(row.compile_cold),
        milliseconds(row.compile_cached),
        milliseconds(row.time),
        format!("{:.1} {unit}", row.rate() / 1e9),
        format!("{:.0} % of {of}", 100.0 * row.rate() / row.limit(limits)),
        if row.verdict.correct { "yes".to_owned() } else { "NO".to_owned() },
    ]
}

const HEADER: [&str; 8] = ["kernel", "size", "compile", "again", "time", "rate", "of the limit", "verified"];

/// Prints the table.
pub(super) fn table(rows: &[DemoRow], limits: &Limits) {
    println!("Limits measured now: {limits}\n");
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(HEADER);
    for row in rows {
        table.add_row(cells(row, limits));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    for row in rows.iter().filter(|row| !row.verdict.correct) {
        println!("{} is wrong: {}", row.name, row.verdict.detail);
    }
}

/// Writes the report folder.
pub(super) fn write(
    folder: &Path,
    device: &Device,
    rows: &[DemoRow],
    pictures: &[Picture],
    limits: &Limits,
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for one in pictures {
        picture::write(folder, one)?;
    }
    let recorded = recorded(device, rows, limits);
    let point = |(colour, row): (usize, &DemoRow)| Point {
        name: row.name.to_owned(),
        flop: row.work.flops,
        bytes: row.work.bytes,
        seconds: row.time.as_secs_f64(),
        colour,
    };
    let points: Vec<Point> = rows.iter().enumerate().map(point).collect();
    std::fs::write(folder.join("roofline.svg"), roofline::svg(&points, &ceilings(limits)))?;
    std::fs::write(folder.join("report.html"), html::page(&recorded))?;
    std::fs::write(folder.join("report.md"), markdown(device, rows, pictures, limits))
}

fn ceilings(limits: &Limits) -> Ceilings {
    Ceilings { flop_per_second: limits.flops, bytes_per_second: limits.copy }
}

/// The tour's measured runs, for the HTML report.
fn recorded(device: &Device, rows: &[DemoRow], limits: &Limits) -> Recorded {
    let hardware = &device.capabilities().hardware_name;
    let name = format!("{} ({hardware})", device.name());
    let mut recorded = Recorded::new("anymetal demo", &name, TimeSource::Host);
    recorded.ceilings = Some(ceilings(limits));
    recorded.queues.insert(0, "tour".to_owned());
    let zero =
        rows.iter().flat_map(|row| row.runs.first()).map(|(start, _)| *start).min().unwrap_or_default();
    let nanoseconds = |time: Duration| time.as_nanos() as u64;
    for row in rows {
        let slice = |&(start, time): &(Duration, Duration)| Slice {
            queue: 0,
            name: row.name.to_owned(),
            start_ns: nanoseconds(start.saturating_sub(zero)),
            duration_ns: nanoseconds(time),
            work: None,
        };
        let before = recorded.slices.len();
        recorded.slices.extend(row.runs.iter().map(slice));
        let at = recorded.slices.get(before).map_or(0, |first| first.start_ns);
        recorded.memory.push(MemoryPoint { at_ns: at, bytes: row.memory_bytes });
        recorded.work.insert(row.name.to_owned(), Work { flop: row.work.flops, bytes: row.work.bytes });
    }
    recorded
}

fn markdown(device: &Device, rows: &[DemoRow], pictures: &[Picture], limits: &Limits) -> String {
    let mut out = String::from("# anymetal demo\n\n");
    let _ = writeln!(out, "Device: {} ({})\n", device.name(), device.capabilities().hardware_name);
    let _ = writeln!(out, "| {} |\n|{}", HEADER.join(" | "), "---|".repeat(HEADER.len()));
    for row in rows {
        let _ = writeln!(out, "| {} |", cells(row, limits).join(" | "));
    }
    out.push_str("\nHow each was verified:\n\n");
    for row in rows {
        let _ = writeln!(out, "- {}: {}", row.name, row.verdict.detail);
    }
    out.push_str("\n![roofline](roofline.svg)\n");
    for one in pictures {
        let _ = writeln!(out, "\n![{0}]({0}.png)", one.name);
    }
    out
}

/// Says where the report is.
pub(super) fn closing(folder: &Path, written: std::io::Result<()>, took: Duration) {
    match written {
        Ok(()) => println!(
            "\nReport in {} and {} ({:.1} s in all)",
            folder.join("report.html").display(),
            folder.join("report.md").display(),
            took.as_secs_f64()
        ),
        Err(error) => println!("\nThe report could not be written to {}: {error}", folder.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Verdict, Work};

    fn row(name: &'static str, at: u64, runs: u64, bound: Bound, flops: f64) -> DemoRow {
        let millis = Duration::from_millis;
        DemoRow {
            name,
            size: "1 M".to_owned(),
            bound,
            compile_cold: millis(80),
            compile_cached: millis(1),
            runs: (0..runs).map(|n| (millis(at + 10 * n), Duration::from_micros(4000 + 90 * n))).collect(),
            time: millis(5),
            memory_bytes: at << 20,
            work: Work { flops, bytes: 4e7 },
            verdict: Verdict { correct: true, detail: "bit for bit".to_owned() },
        }
    }

    #[test]
    fn the_folder_has_a_page_with_all_figures_and_a_roofline() {
        let folder = tempfile::tempdir().unwrap();
        let device = Device::by_name("cpu").unwrap();
        let rows = [
            row("saxpy", 1000, 40, Bound::Memory, 2e7),
            row("matmul", 2000, 20, Bound::Compute, 9e8),
            row("nbody", 2600, 3, Bound::Compute, 5e8),
        ];
        let limits = Limits { flops: 2e11, copy: 2e10, read: Some(3e10) };
        write(folder.path(), &device, &rows, &[], &limits).unwrap();
        let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
        assert_eq!(page.matches("<svg ").count(), 4);
        assert!(page.contains("63 runs in") && page.contains("the host's clock"), "{page}");
        let roofline = std::fs::read_to_string(folder.path().join("roofline.svg")).unwrap();
        assert!(rows.iter().all(|row| roofline.contains(&format!(">{}</text>", row.name))), "{roofline}");
    }
}
