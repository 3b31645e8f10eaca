//! The summary as a table for people and as CSV.

use clap::ValueEnum;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};

use super::recorded::Recorded;
use super::summary::{self, Row};

/// Columns of counted work over time, which, like the percentiles, `nsys` does not have.
const RATES: [&str; 2] = ["GFLOP/s", "GB/s"];

/// `--timeunit`, as `nsys stats` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnit {
    /// Nanoseconds
    Ns,
    /// Microseconds
    Us,
    /// Milliseconds
    Ms,
    /// Seconds
    S,
}

impl TimeUnit {
    fn name(self) -> &'static str {
        match self {
            TimeUnit::Ns => "ns",
            TimeUnit::Us => "us",
            TimeUnit::Ms => "ms",
            TimeUnit::S => "s",
        }
    }

    /// A time in this unit: no digit is invented, and none is lost.
    fn show(self, nanoseconds: f64) -> String {
        let (unit, digits) = match self {
            TimeUnit::Ns => (1.0, 0),
            TimeUnit::Us => (1e3, 3),
            TimeUnit::Ms => (1e6, 6),
            TimeUnit::S => (1e9, 9),
        };
        format!("{:.digits$}", nanoseconds / unit)
    }

    /// With rates where work was counted.
    fn header(self, rates: bool) -> Vec<String> {
        let unit = self.name();
        let timed = |what: &str| format!("{what} ({unit})");
        let mut header = vec![
            "Time (%)".to_owned(),
            timed("Total Time"),
            "Instances".to_owned(),
            timed("Avg"),
            timed("Med"),
            timed("Min"),
            timed("Max"),
            timed("StdDev"),
            timed("P95"),
            timed("P99"),
        ];
        if rates {
            header.extend(RATES.map(str::to_owned));
        }
        header.push("Name".to_owned());
        header
    }

    fn cells(self, row: &Row, rates: bool) -> Vec<String> {
        let average = match self {
            TimeUnit::Ns => format!("{:.1}", row.avg_ns),
            _ => self.show(row.avg_ns),
        };
        let mut cells = vec![
            format!("{:.1}", row.time_percent),
            self.show(row.total_ns as f64),
            row.instances.to_string(),
            average,
            self.show(row.med_ns as f64),
            self.show(row.min_ns as f64),
            self.show(row.max_ns as f64),
            self.show(row.stddev_ns as f64),
            self.show(row.p95_ns as f64),
            self.show(row.p99_ns as f64),
        ];
        if rates {
            let rate = |rate: Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:.2}"));
            cells.extend([rate(row.gflop_per_second), rate(row.gigabytes_per_second)]);
        }
        cells.push(row.name.clone());
        cells
    }
}

/// The cells of the summary with their header, for other forms.
pub(super) fn cells(recorded: &Recorded, unit: TimeUnit) -> (Vec<String>, Vec<Vec<String>>) {
    let rows = summary::rows(recorded);
    let rates = rows.iter().any(|row| row.gflop_per_second.or(row.gigabytes_per_second).is_some());
    (unit.header(rates), rows.iter().map(|row| unit.cells(row, rates)).collect())
}

/// For people.
pub(super) fn text(recorded: &Recorded, unit: TimeUnit) -> String {
    let mut text = format!("{} on {}", recorded.title, recorded.device);
    if let Some(used) = summary::utilisation(recorded) {
        let (busy, span) = (unit.show(used.busy_ns as f64), unit.show(used.span_ns as f64));
        text.push_str(&format!(": busy {busy} of {span} {} ({:.1} %)", unit.name(), used.percent()));
    }
    text.push('\n');
    let (header, rows) = cells(recorded, unit);
    let numbers = header.len() - 1;
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header).add_rows(rows);
    for column in table.column_iter_mut().take(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    text.push_str(&format!("{}\n", table.trim_fmt()));
    for failure in summary::failures(recorded) {
        text.push_str(&format!("failed: {failure}\n"));
    }
    if recorded.left_out > 0 {
        text.push_str(&format!("{} earlier submissions made room for these\n", recorded.left_out));
    }
    text
}

/// For programs.
pub(super) fn csv(recorded: &Recorded, unit: TimeUnit) -> String {
    let (header, rows) = cells(recorded, unit);
    let line =
        |cells: &Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(",") + "\n";
    std::iter::once(&header).chain(&rows).map(line).collect()
}

/// As RFC 4180 has it.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use anymetal::profile::TimeSource;

    use super::super::recorded::{Slice, Work};
    use super::*;

    fn recorded() -> Recorded {
        let mut recorded = Recorded::new("work", "cpu", TimeSource::Device);
        let slice = |name: &str, start_ns, duration_ns| Slice {
            queue: 0,
            name: name.into(),
            start_ns,
            duration_ns,
            work: None,
        };
        recorded.slices = vec![
            slice("scale<float, 4>", 0, 100),
            slice("[copy]", 100, 100),
            slice("scale<float, 4>", 200, 200),
            slice("scale<float, 4>", 400, 300),
        ];
        recorded
    }

    #[test]
    fn columns_are_those_of_nsys_and_add_up() {
        let csv = csv(&recorded(), TimeUnit::Ns);
        assert_eq!(
            csv,
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),P95 (ns),P99 (ns),Name\n\
             85.7,600,3,200.0,200,100,300,100,300,300,\"scale<float, 4>\"\n\
             14.3,100,1,100.0,100,100,100,0,100,100,[copy]\n"
        );
        let text = text(&recorded(), TimeUnit::Us);
        assert!(text.starts_with("work on cpu: busy 0.700 of 0.700 us (100.0 %)\n"), "{text}");
        assert!(text.contains("Total Time (us)"), "{text}");
        assert!(text.contains("0.600") && !text.contains("failed"), "{text}");
    }

    #[test]
    fn counted_work_has_rates_of_the_runs_that_it_is_of() {
        let mut work = recorded();
        // 600 ns in all: by each run, and by name.
        for (slice, flop) in
            work.slices.iter_mut().filter(|slice| slice.name != "[copy]").zip([300.0, 300.0, 600.0])
        {
            slice.work = Some(Work { flop, bytes: 0.0 });
        }
        work.work.insert("[copy]".to_owned(), Work { flop: 0.0, bytes: 250.0 });
        assert_eq!(
            csv(&work, TimeUnit::Ns),
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),P95 (ns),P99 (ns),GFLOP/s,\
             GB/s,Name\n\
             85.7,600,3,200.0,200,100,300,100,300,300,2.00,,\"scale<float, 4>\"\n\
             14.3,100,1,100.0,100,100,100,0,100,100,,2.50,[copy]\n"
        );
    }

    #[test]
    fn work_at_one_time_counts_once_for_utilisation() {
        let mut work = recorded();
        // In the gap there is nothing, and a second queue is busy with the first.
        for (slice, (start, duration)) in
            work.slices.iter_mut().zip([(0, 100), (50, 100), (60, 10), (300, 100)])
        {
            (slice.start_ns, slice.duration_ns) = (start, duration);
        }
        let used = summary::utilisation(&work).unwrap();
        assert_eq!((used.busy_ns, used.span_ns, used.percent()), (250, 400, 62.5));
    }

    #[test]
    fn nothing_recorded_is_a_table_without_rows() {
        let nothing = Recorded::new("nothing", "cpu", TimeSource::Host);
        assert_eq!(csv(&nothing, TimeUnit::S).lines().count(), 1);
        assert!(text(&nothing, TimeUnit::Ms).contains("Time (%)"));
    }
}
