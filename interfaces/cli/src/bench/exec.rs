//! `bench --suite exec`: what the execution layer costs and saves.
//!
//! Each figure is printed next to its plain alternative, measured by turns in the same run, so that the ratio
//! holds on a busy machine; and with large counts of everything whether memory stays flat. Nothing is
//! reported that was not measured here, and wrong results fail the command.

mod flatness;
mod graph;
mod grid_sync;
mod pool;
mod work;

use anymetal::error::DeviceError;
use anymetal::{Device, Error};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde::Serialize;

use super::{load_average, print_json};
use crate::failure::Failure;

/// One figure with its plain alternative.
#[derive(Debug, Serialize)]
struct Figure {
    name: &'static str,
    unit: &'static str,
    value: f64,
    plain_name: &'static str,
    plain_value: f64,
    /// What the plain alternative takes, in times of ours.
    plain_over_ours: f64,
    goal: Goal,
    met: bool,
}

/// The requirement on a figure.
#[derive(Debug, Clone, Copy, Serialize)]
enum Goal {
    /// Nothing.
    None,
    /// At most that many times the plain alternative.
    TimesPlain(f64),
    /// At least that much faster than the plain alternative.
    Faster(f64),
    /// At most that much.
    AtMost(f64),
    /// At least that much.
    AtLeast(f64),
}

impl Figure {
    fn new(
        name: &'static str,
        unit: &'static str,
        value: f64,
        plain: (&'static str, f64),
        goal: Goal,
    ) -> Figure {
        let (plain_name, plain_value) = plain;
        let met = match goal {
            Goal::None => true,
            Goal::TimesPlain(times) => value <= plain_value * times,
            Goal::Faster(times) => plain_value >= value * times,
            Goal::AtMost(most) => value <= most,
            Goal::AtLeast(least) => value >= least,
        };
        Figure { name, unit, value, plain_name, plain_value, plain_over_ours: plain_value / value, goal, met }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Goal::None => Ok(()),
            Goal::TimesPlain(times) => write!(formatter, "at most {times} of plain"),
            Goal::Faster(times) => write!(formatter, "{times}× faster"),
            Goal::AtMost(most) => write!(formatter, "at most {most}"),
            Goal::AtLeast(least) => write!(formatter, "at least {least}"),
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    device: String,
    /// How many queues the device was measured to be worth.
    default_queues: usize,
    figures: Vec<Figure>,
    left_out: Vec<LeftOut>,
    memory: Vec<flatness::Flatness>,
}

/// Figures that the device cannot have.
#[derive(Debug, Serialize)]
struct LeftOut {
    figures: &'static str,
    reason: String,
}

/// Runs the suite. Goals that are missed are shown, not failed: they depend on the machine.
pub(super) fn run(device: &Device, rounds: u32, json: bool) -> Result<bool, Failure> {
    let tell = |what: &str| {
        if !json {
            eprintln!("{what} …");
        }
    };
    let kernels = work::Kernels::new(device)?;
    let mut figures = Vec::new();
    tell("submissions");
    figures.extend(work::figures(device, &kernels, rounds)?);
    tell("pool");
    figures.extend(pool::figures(device, rounds)?);
    tell("graph");
    figures.extend(graph::figures(device, &kernels, rounds)?);
    tell("barriers of the grid");
    let mut left_out = Vec::new();
    match grid_sync::figures(device, rounds) {
        Ok(measured) => figures.extend(measured),
        Err(error) if is_unsupported(&error) => {
            left_out.push(LeftOut { figures: "barriers of the grid", reason: error.to_string() });
        }
        Err(error) => return Err(error.into()),
    }
    tell("memory");
    let report = Report {
        device: device.capabilities().hardware_name.clone(),
        default_queues: device.queues(None)?.len(),
        figures,
        left_out,
        memory: flatness::measure(device, &kernels)?,
    };
    let flat = report.memory.iter().all(|memory| memory.flat);
    print(&report, json);
    Ok(flat)
}

/// Whether the device says, before or after the compiler, that it cannot have such a thing at all.
fn is_unsupported(error: &Error) -> bool {
    match error {
        Error::Device(error) => matches!(error, DeviceError::Unsupported { .. }),
        Error::Compile(failure) => failure.id() == "unsupported",
        _ => false,
    }
}

fn print(report: &Report, json: bool) {
    if json {
        print_json(report);
        return;
    }
    println!("{}; {}; {} queues are worth it", report.device, load_average(), report.default_queues);
    let mut table = Table::new();
    let header = ["figure", "", "plain alternative", "", "plain / ours", "goal", "met"];
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header);
    for figure in &report.figures {
        let value =
            |value: f64| if value.is_nan() { String::new() } else { format!("{value:.3} {}", figure.unit) };
        let ratio = figure.plain_over_ours;
        table.add_row([
            figure.name.to_owned(),
            value(figure.value),
            figure.plain_name.to_owned(),
            value(figure.plain_value),
            if ratio.is_nan() { String::new() } else { format!("{ratio:.2}") },
            figure.goal.to_string(),
            match figure.goal {
                Goal::None => "",
                _ if figure.met => "yes",
                _ => "NO",
            }
            .to_owned(),
        ]);
    }
    for column in [1, 3, 4] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");
    for LeftOut { figures, reason } in &report.left_out {
        println!("left out: {figures}: {reason}");
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(["memory", "time", "resident before", "after", "flat"]);
    for memory in &report.memory {
        table.add_row([
            memory.name.to_owned(),
            format!("{:.2} s", memory.seconds),
            format!("{} KiB", memory.before_kib),
            format!("{} KiB", memory.after_kib),
            if memory.flat { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    println!("{table}");
}

/// Microseconds that the work took.
fn microseconds(work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let start = std::time::Instant::now();
    work()?;
    Ok(start.elapsed().as_nanos() as f64 / 1e3)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_left_out_for_what_a_device_cannot_have_and_for_nothing_else() {
        let (what, alternative) = ("cooperative launches".to_owned(), "split the kernel".to_owned());
        let cannot = DeviceError::Unsupported { device: "apple:0".to_owned(), what, alternative };
        assert!(is_unsupported(&cannot.into()));
        assert!(!is_unsupported(&DeviceError::OutOfMemory { requested: 1 }.into()));
    }
}
