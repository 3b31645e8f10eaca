//! `anymetal devices --topology`: what copies between each two devices take, measured.

use anymetal::memory::topology::{LONG_BYTES, MeasuredLink, measure};
use anymetal::{Device, Error};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// Two devices, in the order of copies.
struct Pair {
    from: String,
    to: String,
    measured: Result<MeasuredLink, Error>,
}

/// Measures and prints it.
pub(super) fn topology(as_json: bool) -> Result<(), Failure> {
    let devices = Device::all()?;
    let pairs: Vec<Pair> = devices
        .iter()
        .flat_map(|from| devices.iter().map(move |to| (from, to)))
        .filter(|(from, to)| from.name() != to.name())
        .map(|(from, to)| Pair {
            from: from.name().to_owned(),
            to: to.name().to_owned(),
            measured: measure(from, to),
        })
        .collect();
    if as_json {
        let names: Vec<&str> = devices.iter().map(Device::name).collect();
        let pairs: Vec<Value> = pairs.iter().map(describe).collect();
        return output::json(&json!({ "devices": names, "bytes": LONG_BYTES, "pairs": pairs }));
    }
    match devices.as_slice() {
        [only] => output::line(&format!("There is one device, {}, so there are no links.", only.name())),
        _ => output::line(&table(&pairs).to_string()),
    }
}

fn microseconds(link: &MeasuredLink) -> f64 {
    link.latency.as_nanos() as f64 / 1e3
}

fn describe(pair: &Pair) -> Value {
    let (from, to) = (&pair.from, &pair.to);
    match &pair.measured {
        Ok(link) => json!({
            "from": from,
            "to": to,
            "path": link.path.word(),
            "gigabytes_per_second": link.gigabytes_per_second,
            "latency_microseconds": microseconds(link),
            "right": link.is_right,
        }),
        Err(error) => json!({ "from": from, "to": to, "path": null, "error": error.to_string() }),
    }
}

fn table(pairs: &[Pair]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["from", "to", "path", "256 MiB", "4 bytes", "right"]);
    for pair in pairs {
        let (from, to) = (pair.from.clone(), pair.to.clone());
        match &pair.measured {
            Ok(link) => table.add_row([
                from,
                to,
                link.path.word().to_owned(),
                format!("{:.1} GB/s", link.gigabytes_per_second),
                format!("{:.1} µs", microseconds(link)),
                if link.is_right { "yes" } else { "NO" }.to_owned(),
            ]),
            Err(error) => table.add_row([from, to, format!("none: {error}")]),
        };
    }
    for column in table.column_iter_mut().skip(3).take(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use anymetal::error::DeviceError;

    use super::*;

    #[test]
    fn a_pair_without_a_link_has_its_reason() {
        let error = DeviceError::OutOfMemory { requested: 7 };
        let pair = Pair { from: "a".to_owned(), to: "b".to_owned(), measured: Err(error.clone().into()) };
        assert_eq!(describe(&pair)["error"], error.to_string());
        assert!(table(&[pair]).to_string().contains(&format!("none: {error}")));
    }
}
