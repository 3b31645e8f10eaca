//! The timeline: one row for each queue, a rectangle for each thing that ran.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Axis, LEFT, TOP, begin, caption, colour, escape, horizontal, shortened, time};
use crate::report::recorded::Recorded;

const RIGHT: f64 = 940.0;
const ROW: f64 = 34.0;
const LABELS: f64 = LEFT + 40.0;
/// Rectangles; a page with more is slow to show.
pub(crate) const MAX_SLICES: usize = 5000;

/// The figure, with the colours of `names` in order.
pub(crate) fn svg(recorded: &Recorded, names: &[&str]) -> String {
    let slices = &recorded.slices[..recorded.slices.len().min(MAX_SLICES)];
    let end = slices.iter().map(|slice| slice.start_ns + slice.duration_ns).max().unwrap_or(0);
    let used: BTreeMap<u32, usize> = {
        let mut queues: Vec<u32> = slices.iter().map(|slice| slice.queue).collect();
        queues.sort_unstable();
        queues.dedup();
        queues.into_iter().zip(0..).collect()
    };
    let bottom = TOP + ROW * used.len() as f64;
    let x = Axis::linear(0.0, end as f64, LABELS, RIGHT);
    let mut out = begin(bottom + 50.0, "timeline");
    horizontal(&mut out, &x, TOP, bottom, time);
    caption(&mut out, (LABELS + RIGHT) / 2.0, bottom + 38.0, "time since the start");
    for (queue, row) in &used {
        let name = recorded.queues.get(queue).cloned().unwrap_or_else(|| format!("queue {queue}"));
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LABELS - 8.0,
            TOP + ROW * *row as f64 + 21.0,
            escape(&shortened(&name, 15))
        );
    }
    for slice in slices {
        let (from, to) = (x.at(slice.start_ns as f64), x.at((slice.start_ns + slice.duration_ns) as f64));
        let number = names.iter().position(|name| *name == slice.name).unwrap_or(usize::MAX);
        let _ = writeln!(
            out,
            "<rect x=\"{from:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill=\"{}\"><title>{}, {}</title></rect>",
            TOP + ROW * used[&slice.queue] as f64 + 6.0,
            (to - from).max(0.6),
            ROW - 12.0,
            colour(number),
            escape(&slice.name),
            time(slice.duration_ns as f64)
        );
    }
    out.push_str("</svg>\n");
    out
}
