//! `anymetal report`: what ran, as a table, as JSON or CSV, or as one HTML file with figures.
//!
//! [`recorded::Recorded`] is what every report is made of: from a workload that is run now, from a saved
//! report, or from a timeline of `anymetal trace`. [`summary`] adds up, [`table`] and [`html`] write.

mod ceilings;
mod chrome;
pub(crate) mod figures;
pub(crate) mod html;
pub(crate) mod recorded;
mod summary;
mod table;

use std::path::{Path, PathBuf};

use anymetal::{Device, Family};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::{output, trace};
pub(crate) use recorded::Ceilings;
use recorded::Recorded;
use table::TimeUnit;

/// The largest file that is read.
const MAX_BYTES: u64 = 1 << 30;

const EXAMPLES: &str = "\
Examples:
  anymetal report work.toml
  anymetal report work.toml -o report.html
  anymetal report work.toml -o saved.json && anymetal report saved.json --format csv
  anymetal report timeline.json --timeunit us       # of `anymetal trace`";

/// Report what ran, and how long it took.
///
/// Takes a workload of `anymetal trace`, which is run now, or the JSON file of a report or a timeline. The
/// table has the columns of `nsys stats`' cuda_gpu_kern_sum. The HTML file needs nothing else: latency
/// distribution, roofline under ceilings that were measured here, timeline, memory over time.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReportArgs {
    /// A workload, a saved report, or a timeline
    #[arg(value_name = "FILE.toml|FILE.json")]
    file: PathBuf,
    /// Write to this file; its ending (.html, .json, .csv, .txt) chooses the format
    #[arg(short, long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// The format, if the output's name does not say it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The unit of times in tables
    #[arg(long, value_enum, default_value_t = TimeUnit::Ns)]
    timeunit: TimeUnit,
    /// The device to use (see `anymetal devices`)
    #[arg(long)]
    device: Option<String>,
    /// Refuse what GPUs of that family refuse, see `anymetal devices --families`
    #[arg(long, value_name = "FAMILY")]
    family: Option<Family>,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// All that was recorded, to be read again by `anymetal report`
    Json,
    /// The table's columns, separated by commas
    Csv,
    /// One HTML file with figures
    Html,
}

impl Format {
    /// By a file's ending.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Format::Text),
            "json" => Some(Format::Json),
            "csv" => Some(Format::Csv),
            "html" | "htm" => Some(Format::Html),
            _ => None,
        }
    }

    fn write(self, recorded: &Recorded, unit: TimeUnit) -> Result<String, Failure> {
        Ok(match self {
            Format::Text => table::text(recorded, unit),
            Format::Csv => table::csv(recorded, unit),
            Format::Json => recorded.to_json()?,
            Format::Html => html::page(recorded),
        })
    }
}

/// Does it.
pub(crate) fn report(args: &ReportArgs) -> Result<(), Failure> {
    let by_name = args.out.as_deref().and_then(Format::of);
    let format = match (args.format.or(by_name), &args.out) {
        (Some(format), _) => format,
        (None, None) => Format::Text,
        (None, Some(out)) => {
            let shown = out.display();
            return Err(Failure::Usage(format!(
                "{shown}: give --format, or an ending .html, .json, .csv or .txt"
            )));
        }
    };
    let recorded = read(args, format)?;
    let text = format.write(&recorded, args.timeunit)?;
    match &args.out {
        Some(out) => output::file(out, &text),
        None => output::write(&text),
    }
}

/// Writes what was recorded to a file whose ending chooses the format.
pub(crate) fn save(recorded: &Recorded, out: &Path) -> Result<(), Failure> {
    let format = Format::of(out).ok_or_else(|| {
        let shown = out.display();
        Failure::Usage(format!("{shown}: a report's name ends in .html, .json, .csv or .txt"))
    })?;
    output::file(out, &format.write(recorded, TimeUnit::Ns)?)
}

/// The ceilings of the device, measured now.
pub(crate) fn ceilings_of(device: &Device) -> Result<Ceilings, Failure> {
    Ok(ceilings::measure(device)?)
}

/// The ceilings of the device, measured now, for the formats that show or keep them. Where the device has no
/// room for it, a note says why there are none.
pub(crate) fn measured_ceilings(device: &Device, format: Option<Format>) -> Option<Ceilings> {
    if !matches!(format, Some(Format::Json | Format::Html)) {
        return None;
    }
    let measured = ceilings::measure(device);
    measured.inspect_err(|error| eprintln!("note: the device's ceilings were not measured: {error}")).ok()
}

fn read(args: &ReportArgs, format: Format) -> Result<Recorded, Failure> {
    if args.file.extension().is_some_and(|ending| ending == "toml") {
        let ran = trace::run_traced(&args.file, args.device.as_deref(), args.family)?;
        let mut recorded = Recorded::of_trace(&ran.device, &ran.trace, &args.file.display().to_string());
        recorded.work = ran.work;
        recorded.ceilings = measured_ceilings(&ran.device, Some(format));
        return Ok(recorded);
    }
    if args.device.is_some() || args.family.is_some() {
        return Err(Failure::Usage("--device and --family are for workloads, which are run".to_owned()));
    }
    let wrong = |reason: String| Failure::Input(format!("{}: {reason}", args.file.display()));
    let text = anymetal_files::read_text(&args.file, MAX_BYTES).map_err(|error| wrong(error.reason()))?;
    recorded::parse(&text, &args.file.display().to_string()).map_err(wrong)
}
