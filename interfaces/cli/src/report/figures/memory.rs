//! Bytes that buffers took, over time.

use std::fmt::Write;

use super::{Axis, LEFT, TOP, begin, caption, horizontal, number, time, vertical};
use crate::report::recorded::MemoryPoint;

const HEIGHT: f64 = 250.0;
const BOTTOM: f64 = 200.0;
const RIGHT: f64 = 940.0;
/// Steps of the line; more cannot be seen.
const MAX_STEPS: usize = 2000;

/// The figure; points are in order.
pub(crate) fn svg(points: &[MemoryPoint], end_ns: u64) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let most = points.iter().map(|point| point.bytes).max().unwrap_or(0) as f64 / MIB;
    let x = Axis::linear(0.0, end_ns as f64, LEFT, RIGHT);
    let y = Axis::linear(0.0, most * 1.1, BOTTOM, TOP);
    let mut out = begin(HEIGHT, "memory over time");
    horizontal(&mut out, &x, TOP, BOTTOM, time);
    vertical(&mut out, &y, LEFT, RIGHT, |mebibytes| format!("{} MiB", number(mebibytes)));
    caption(&mut out, (LEFT + RIGHT) / 2.0, BOTTOM + 38.0, "time since the start");
    let mut line = String::new();
    let mut before = None;
    for point in points.iter().step_by(points.len().div_ceil(MAX_STEPS).max(1)) {
        let (at, height) = (x.at(point.at_ns as f64), y.at(point.bytes as f64 / MIB));
        let _ = write!(line, "{at:.1},{:.1} {at:.1},{height:.1} ", before.unwrap_or(height));
        before = Some(height);
    }
    if let Some(last) = before {
        let _ = write!(line, "{RIGHT},{last:.1}");
    }
    let _ =
        writeln!(out, "<polyline fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\" points=\"{line}\"/>");
    out.push_str("</svg>\n");
    out
}
