//! The roofline: each kernel's rate over its arithmetic intensity, under the machine's measured ceilings
//! (Williams, Waterman and Patterson, "Roofline", CACM 2009).

use std::fmt::Write;

use super::{Axis, LEFT, TOP, begin, caption, colour, escape, horizontal, number, shortened, vertical};
use crate::report::recorded::Ceilings;

const HEIGHT: f64 = 480.0;
const BOTTOM: f64 = 425.0;
const RIGHT: f64 = 930.0;
/// Keeps names readable where a line crosses them.
const HALO: &str = "stroke=\"white\" stroke-width=\"3\" paint-order=\"stroke\"";

/// A kernel with counted work.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) name: String,
    /// Of one run.
    pub(crate) flop: f64,
    /// Of one run.
    pub(crate) bytes: f64,
    /// Of one run.
    pub(crate) seconds: f64,
    /// The number of its colour.
    pub(crate) colour: usize,
}

impl Point {
    fn intensity(&self) -> f64 {
        self.flop / self.bytes
    }

    fn gflops(&self) -> f64 {
        self.flop / self.seconds / 1e9
    }

    fn can_be_shown(&self) -> bool {
        [self.intensity(), self.gflops()].iter().all(|value| value.is_finite() && *value > 0.0)
    }
}

/// A rectangle that a label takes.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// The figure; points without operations or bytes have no place in it.
pub(crate) fn svg(points: &[Point], ceilings: &Ceilings) -> String {
    let peak = ceilings.flop_per_second / 1e9;
    let shown: Vec<&Point> = points.iter().filter(|point| point.can_be_shown()).collect();
    let ridge = ceilings.ridge();
    let bounds = |values: &dyn Fn(&Point) -> f64, roof: f64| {
        let all = shown.iter().map(|point| values(point)).chain([roof]);
        all.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (low, high) = bounds(&Point::intensity, ridge);
    let x = Axis::logarithmic(low / 2.0, high * 4.0, LEFT, RIGHT);
    let (low, high) = bounds(&Point::gflops, peak);
    let y = Axis::logarithmic(low / 2.0, high * 2.0, BOTTOM, TOP);
    let mut out = begin(HEIGHT, "roofline");
    horizontal(&mut out, &x, TOP, BOTTOM, number);
    vertical(&mut out, &y, LEFT, RIGHT, number);
    caption(&mut out, (LEFT + RIGHT) / 2.0, BOTTOM + 40.0, "arithmetic intensity, flop per byte");
    let _ = writeln!(
        out,
        "<text transform=\"translate(16 {:.0}) rotate(-90)\" text-anchor=\"middle\">GFLOP/s</text>",
        (TOP + BOTTOM) / 2.0
    );
    let mut taken = ceiling(&mut out, &x, &y, ceilings);
    let places: Vec<(f64, f64)> =
        shown.iter().map(|point| (x.at(point.intensity()), y.at(point.gflops()))).collect();
    taken.extend(places.iter().map(|&(x, y)| Area {
        left: x - 6.0,
        top: y - 6.0,
        right: x + 6.0,
        bottom: y + 6.0,
    }));
    for (point, place) in shown.iter().zip(&places) {
        draw(&mut out, point, *place, &mut taken);
    }
    out.push_str("</svg>\n");
    out
}

/// Draws the roof and its label, and tells where the label is.
fn ceiling(out: &mut String, x: &Axis, y: &Axis, ceilings: &Ceilings) -> Vec<Area> {
    let (peak, bandwidth) = (ceilings.flop_per_second / 1e9, ceilings.bytes_per_second / 1e9);
    // Where the slope enters the plot: at its left edge or at its bottom.
    let from = x.span().0.max(y.span().0 / bandwidth);
    let (ridge_x, roof_y) = (x.at(ceilings.ridge()), y.at(peak));
    let _ = writeln!(
        out,
        "<polyline fill=\"none\" stroke=\"#a33\" stroke-width=\"2\" points=\"{:.1},{:.1} {ridge_x:.1},{roof_y:.1} {RIGHT},{roof_y:.1}\"/>",
        x.at(from),
        y.at(from * bandwidth),
    );
    let label = format!("multiply-add {} GFLOP/s, copy {} GB/s (measured)", number(peak), number(bandwidth));
    let _ = writeln!(
        out,
        "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#a33\">{label}</text>",
        roof_y - 7.0
    );
    let width = label.chars().count() as f64 * 6.6;
    vec![Area { left: RIGHT - width, top: roof_y - 20.0, right: RIGHT, bottom: roof_y + 2.0 }]
}

/// A point, and its name beside it where nothing else is.
fn draw(out: &mut String, point: &Point, (x, y): (f64, f64), taken: &mut Vec<Area>) {
    let name = shortened(&point.name, 28);
    let width = name.chars().count() as f64 * 6.8;
    let beside = [(9.0, 4.0), (-9.0 - width, 4.0), (-width / 2.0, -10.0), (-width / 2.0, 20.0)];
    let further =
        [24.0, -18.0, 38.0, -32.0, 52.0, 66.0].into_iter().flat_map(|dy| [(9.0, dy), (-9.0 - width, dy)]);
    let area = |(dx, dy): (f64, f64)| Area {
        left: x + dx,
        top: y + dy - 11.0,
        right: x + dx + width,
        bottom: y + dy + 3.0,
    };
    let free = |area: &Area| {
        let inside = area.left >= LEFT && area.right <= RIGHT && area.top >= TOP && area.bottom <= BOTTOM;
        inside && !taken.iter().any(|other| area.meets(other))
    };
    let chosen = beside.into_iter().chain(further).map(area).find(free).unwrap_or_else(|| area(beside[0]));
    taken.push(chosen);
    let _ = writeln!(
        out,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{}\"><title>{}: {} GFLOP/s, {} flop/byte</title></circle>\
         <text x=\"{:.1}\" y=\"{:.1}\" {HALO}>{}</text>",
        colour(point.colour),
        escape(&point.name),
        number(point.gflops()),
        number(point.intensity()),
        chosen.left,
        chosen.bottom - 3.0,
        escape(&name)
    );
}
