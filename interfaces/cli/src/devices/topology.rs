//! `anymetal devices --topology`: what copies between each two GPUs take, measured.

use anymetal::{Device, DeviceKind, Error};
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;
use crate::peer_copies::{LONG_BYTES, PeerCopies, best, gbps};

/// Copies of which the best counts.
const ROUNDS: u32 = 5;

/// What was measured of copies from one GPU to another.
struct Measured {
    path: &'static str,
    gbps: f64,
    microseconds: f64,
    /// Whether all bytes arrived.
    right: bool,
}

/// Two GPUs, in the order of copies.
struct Pair {
    from: String,
    to: String,
    measured: Result<Measured, Error>,
}

/// Measures and prints it.
pub(super) fn topology(as_json: bool) -> Result<(), Failure> {
    let mut gpus = Device::all()?;
    gpus.retain(|device| matches!(device.capabilities().kind, DeviceKind::Nvidia | DeviceKind::Apple));
    let pairs: Vec<Pair> = gpus
        .iter()
        .flat_map(|from| gpus.iter().map(move |to| (from, to)))
        .filter(|(from, to)| from.name() != to.name())
        .map(|(from, to)| Pair {
            from: from.name().to_owned(),
            to: to.name().to_owned(),
            measured: measure(from, to),
        })
        .collect();
    if as_json {
        let names: Vec<&str> = gpus.iter().map(Device::name).collect();
        let pairs: Vec<Value> = pairs.iter().map(describe).collect();
        return output::json(&json!({ "gpus": names, "bytes": LONG_BYTES, "pairs": pairs }));
    }
    match gpus.as_slice() {
        [] => output::line("There is no GPU, so there are no links between GPUs."),
        [only] => output::line(&format!("There is one GPU, {}, so there are no links.", only.name())),
        _ => output::line(&table(&pairs).to_string()),
    }
}

fn measure(from: &Device, to: &Device) -> Result<Measured, Error> {
    let copies = PeerCopies::new(from, to)?;
    let long = best(ROUNDS, || copies.long())?;
    // Short ones vary more, and cost nothing.
    let short = best(20 * ROUNDS, || copies.short())?;
    Ok(Measured {
        path: copies.path().word(),
        gbps: gbps(LONG_BYTES, long),
        microseconds: short.as_nanos() as f64 / 1e3,
        right: copies.is_right()?,
    })
}

fn describe(pair: &Pair) -> Value {
    let (from, to) = (&pair.from, &pair.to);
    match &pair.measured {
        Ok(Measured { path, gbps, microseconds, right }) => json!({
            "from": from,
            "to": to,
            "path": path,
            "gigabytes_per_second": gbps,
            "latency_microseconds": microseconds,
            "right": right,
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
            Ok(Measured { path, gbps, microseconds, right }) => table.add_row([
                from,
                to,
                (*path).to_owned(),
                format!("{gbps:.1} GB/s"),
                format!("{microseconds:.1} µs"),
                if *right { "yes" } else { "NO" }.to_owned(),
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
    fn each_pair_has_its_numbers_or_its_reason() {
        let measured = Measured { path: "staged", gbps: 21.04, microseconds: 15.55, right: true };
        let error = DeviceError::OutOfMemory { requested: 7 };
        let pair = |measured| Pair { from: "nvidia:0".to_owned(), to: "nvidia:1".to_owned(), measured };
        let pairs = [pair(Ok(measured)), pair(Err(error.clone().into()))];
        let text = table(&pairs).to_string();
        for part in ["staged", "21.0 GB/s", "µs", &format!("none: {error}")] {
            assert!(text.contains(part), "{text}");
        }
        assert_eq!(describe(&pairs[0])["gigabytes_per_second"], 21.04);
        assert_eq!(describe(&pairs[1])["error"], error.to_string());
    }
}
