//! The roofline picture: each workload's rate over its arithmetic intensity, under the machine's
//! measured ceilings (Williams, Waterman and Patterson, "Roofline", CACM 2009).

use super::DemoRow;
use crate::limits::Limits;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 540.0;
const LEFT: f64 = 80.0;
const BOTTOM: f64 = 470.0;
const TOP: f64 = 30.0;
const RIGHT: f64 = 870.0;

/// Decades shown: flop per byte, and GFLOP/s.
const INTENSITY: (f64, f64) = (-2.0, 4.0);
const RATE: (f64, f64) = (-1.0, 4.0);

fn x(intensity: f64) -> f64 {
    let t = (intensity.log10() - INTENSITY.0) / (INTENSITY.1 - INTENSITY.0);
    LEFT + t.clamp(0.0, 1.0) * (RIGHT - LEFT)
}

fn y(gflops: f64) -> f64 {
    let t = (gflops.log10() - RATE.0) / (RATE.1 - RATE.0);
    BOTTOM - t.clamp(0.0, 1.0) * (BOTTOM - TOP)
}

/// The picture as SVG text.
pub(super) fn svg(rows: &[DemoRow], limits: &Limits) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    axes(&mut out);
    ceilings(&mut out, limits);
    for row in rows {
        point(&mut out, row);
    }
    out.push_str("</svg>\n");
    out
}

fn axes(out: &mut String) {
    for decade in INTENSITY.0 as i32..=INTENSITY.1 as i32 {
        let at = x(10f64.powi(decade));
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{BOTTOM}\" stroke=\"#ddd\"/>"
        );
        let _ = writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"488\" text-anchor=\"middle\">{}</text>",
            10f64.powi(decade)
        );
    }
    for decade in RATE.0 as i32..=RATE.1 as i32 {
        let at = y(10f64.powi(decade));
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>"
        );
        let _ = writeln!(
            out,
            "<text x=\"72\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            at + 4.0,
            10f64.powi(decade)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"475\" y=\"512\" text-anchor=\"middle\">arithmetic intensity, flop per byte</text>"
    );
    let _ = writeln!(
        out,
        "<text transform=\"translate(22 250) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>"
    );
}

fn ceilings(out: &mut String, limits: &Limits) {
    let (peak, bandwidth) = (limits.flops / 1e9, limits.copy / 1e9);
    let ridge = peak / bandwidth;
    let first = 10f64.powf(INTENSITY.0);
    let _ = writeln!(
        out,
        "<polyline fill=\"none\" stroke=\"#a33\" stroke-width=\"2\" points=\"{:.1},{:.1} {:.1},{:.1} {RIGHT},{:.1}\"/>",
        x(first),
        y(first * bandwidth),
        x(ridge),
        y(peak),
        y(peak)
    );
    let _ = writeln!(
        out,
        "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#a33\">multiply-add {peak:.0} GFLOP/s, copy {bandwidth:.1} GB/s (measured)</text>",
        y(peak) - 8.0
    );
}

fn point(out: &mut String, row: &DemoRow) {
    let intensity = row.work.flops / row.work.bytes;
    let gflops = row.work.flops / row.time.as_secs_f64() / 1e9;
    let (px, py) = (x(intensity), y(gflops));
    let _ = writeln!(out, "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"5\" fill=\"#246\"/>");
    // Names are placed on the side with room.
    let (dx, anchor) = if px > RIGHT - 120.0 { (-9.0, "end") } else { (9.0, "start") };
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        px + dx,
        py + 4.0,
        row.name
    );
}
