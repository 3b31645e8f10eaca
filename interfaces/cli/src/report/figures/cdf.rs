//! The distribution of times: which share of the runs took at most how long.

use std::fmt::Write;

use anymetal::profile::Profile;

use super::{Axis, LEFT, TOP, begin, caption, colour, escape, horizontal, shortened, time, vertical};

const HEIGHT: f64 = 380.0;
const BOTTOM: f64 = 330.0;
const RIGHT: f64 = 690.0;
/// Steps of a curve; more cannot be seen.
const MAX_STEPS: usize = 400;

/// One curve for each name.
pub(crate) fn svg(profiles: &[(&str, &Profile)]) -> String {
    let extremes = |percent: f64| {
        profiles.iter().map(move |(_, profile)| profile.percentile(percent).as_nanos().max(1) as f64)
    };
    let low = extremes(0.0).fold(f64::INFINITY, f64::min);
    let high = extremes(100.0).fold(0.0, f64::max);
    let x = Axis::logarithmic(low, high, LEFT, RIGHT);
    let y = Axis::linear(0.0, 100.0, BOTTOM, TOP);
    let mut out = begin(HEIGHT, "distribution of times");
    horizontal(&mut out, &x, TOP, BOTTOM, time);
    vertical(&mut out, &y, LEFT, RIGHT, |percent| format!("{percent:.0} %"));
    caption(&mut out, (LEFT + RIGHT) / 2.0, BOTTOM + 38.0, "time of one run");
    for (number, (name, profile)) in profiles.iter().enumerate() {
        curve(&mut out, &x, &y, profile, colour(number));
        legend(&mut out, number, name, profile);
    }
    out.push_str("</svg>\n");
    out
}

fn curve(out: &mut String, x: &Axis, y: &Axis, profile: &Profile, colour: &str) {
    let samples = profile.samples_ns();
    let steps = samples.len().min(MAX_STEPS);
    let mut points = String::new();
    let mut before = y.at(0.0);
    for step in 1..=steps {
        let last = step * samples.len() / steps - 1;
        let (at, share) =
            (x.at(samples[last] as f64), y.at(100.0 * (last + 1) as f64 / samples.len() as f64));
        let _ = write!(points, "{at:.1},{before:.1} {at:.1},{share:.1} ");
        before = share;
    }
    let _ = writeln!(
        out,
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>",
        points.trim_end()
    );
}

fn legend(out: &mut String, number: usize, name: &str, profile: &Profile) {
    let y = TOP + 14.0 + 36.0 * number as f64;
    let [p50, p99] = [50.0, 99.0].map(|percent| time(profile.percentile(percent).as_nanos() as f64));
    let _ = writeln!(
        out,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">p50 {p50}, p99 {p99}</text>",
        RIGHT + 20.0,
        y - 10.0,
        colour(number),
        RIGHT + 38.0,
        escape(&shortened(name, 32)),
        RIGHT + 38.0,
        y + 15.0,
    );
}
