//! The comparison as a table or as JSON.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table};

use super::Report;

pub(super) fn print(report: &Report, json: bool) {
    if json {
        super::super::print_json(report);
        return;
    }
    println!("{}; {}", report.device, super::super::load_average());
    println!(
        "Times of the peers over ours (more than 1: we are faster), by medians; in brackets by processor time"
    );
    let mut header = vec!["kernel".to_owned(), "size".to_owned(), "ours".to_owned()];
    header.extend(report.geometric_means.iter().map(|mean| mean.runtime.clone()));
    let unchecked = report.workloads.iter().any(|row| row.unchecked.is_some());
    if unchecked {
        header.push("without checks".to_owned());
    }
    let rust = report.workloads.iter().any(|row| row.rust.is_some());
    if rust {
        header.push("Rust, all cores".to_owned());
    }
    header.push("verified".to_owned());
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header);
    for row in &report.workloads {
        let mut cells =
            vec![row.name.to_owned(), row.size.clone(), format!("{:.2} ms", row.ours.median_ns as f64 / 1e6)];
        for mean in &report.geometric_means {
            let duel = row.peers.iter().find(|duel| duel.runtime == mean.runtime);
            cells.push(
                duel.map_or_else(|| "–".to_owned(), |duel| ratio_cell(duel.ratio, duel.processor_ratio)),
            );
        }
        if unchecked {
            let ratio = row.peers.first().and_then(|duel| duel.unchecked_ratio);
            cells.push(ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}×")));
        }
        if rust {
            cells.push(row.rust_ratio.map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}×")));
        }
        cells.push(if row.verified { "yes" } else { "NO" }.to_owned());
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    for mean in &report.geometric_means {
        println!(
            "geometric mean of {} kernels: {} {} ({})",
            mean.workloads,
            ratio_cell(Some(mean.ratio), mean.processor_ratio),
            mean.runtime,
            mean.version
        );
        if let Some(ratio) = mean.unchecked_ratio {
            println!("the same with our checks off: {ratio:.2}×");
        }
    }
    for (row, duel) in report.workloads.iter().flat_map(|row| row.peers.iter().map(move |duel| (row, duel))) {
        if let Some(failure) = &duel.failure {
            println!("{} on {}: {failure}", row.name, duel.runtime);
        }
    }
}

fn ratio_cell(ratio: Option<f64>, processor: Option<f64>) -> String {
    match (ratio, processor) {
        (Some(ratio), Some(processor)) => format!("{ratio:.2}× ({processor:.2})"),
        (Some(ratio), None) => format!("{ratio:.2}×"),
        _ => "failed".to_owned(),
    }
}
