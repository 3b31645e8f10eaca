//! What the tour prints and writes.

use super::{DemoRow, picture, roofline};
use crate::limits::Limits;
use crate::workload::{Bound, Picture};
use anymetal::Device;
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
    println!(
        "Limits measured now: multiply-add {:.0} GFLOP/s, copy {:.1} GB/s, read {:.1} GB/s\n",
        limits.flops / 1e9,
        limits.copy / 1e9,
        limits.read / 1e9
    );
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
    std::fs::write(folder.join("roofline.svg"), roofline::svg(rows, limits))?;
    std::fs::write(folder.join("report.md"), markdown(device, rows, pictures, limits))
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
            "\nReport in {} ({:.1} s in all)",
            folder.join("report.md").display(),
            took.as_secs_f64()
        ),
        Err(error) => println!("\nThe report could not be written to {}: {error}", folder.display()),
    }
}
