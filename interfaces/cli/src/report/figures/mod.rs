//! Figures as SVG text: axes, colours, and what all figures share. Each figure is a file.
//!
//! Invariant: a figure is well-formed whatever its names contain, and no coordinate is infinite or not a
//! number, whatever was measured.

pub(crate) mod cdf;
pub(crate) mod memory;
pub(crate) mod roofline;
pub(crate) mod timeline;

use std::fmt::Write;

pub(crate) const WIDTH: f64 = 960.0;
/// The plot's edges.
pub(crate) const LEFT: f64 = 72.0;
pub(crate) const TOP: f64 = 16.0;

/// Colours that differ for people who see fewer of them (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#666666"];

/// The colour of the n-th name; the last is for all further ones.
pub(crate) fn colour(number: usize) -> &'static str {
    COLOURS[number.min(COLOURS.len() - 1)]
}

/// How many names have colours of their own.
pub(crate) const NAMES: usize = COLOURS.len() - 1;

/// Text in SVG and HTML.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no other control characters.
            char if char.is_control() => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

/// The first characters, if there are more than fit.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// A scale from values to pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Axis {
    /// From 0, or from `low` on.
    pub(crate) fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Axis { low, high, from, to, logarithmic: false }
    }

    /// Whole decades around positive values.
    pub(crate) fn logarithmic(low: f64, high: f64, from: f64, to: f64) -> Self {
        let positive = |value: f64| if value.is_finite() && value > 0.0 { value } else { 1.0 };
        let low = positive(low).log10().floor();
        let high = positive(high).log10().ceil().max(low + 1.0);
        Axis { low, high, from, to, logarithmic: true }
    }

    /// The pixel of a value; what is outside is at the edge.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + if share.is_nan() { 0.0 } else { share } * (self.to - self.from)
    }

    /// The least and the largest value.
    pub(crate) fn span(&self) -> (f64, f64) {
        if self.logarithmic { (10f64.powf(self.low), 10f64.powf(self.high)) } else { (self.low, self.high) }
    }

    /// Round values to label.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            // Few decades have room for more.
            let factors: &[f64] = if self.high - self.low <= 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let decades = self.low as i32..=self.high as i32;
            let ticks =
                decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)));
            return ticks.filter(|tick| tick.log10() <= self.high + 1e-9).collect();
        }
        let step = round_step((self.high - self.low) / 6.0);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|n| n as f64 * step).take_while(|&tick| tick <= self.high * (1.0 + 1e-9)).collect()
    }
}

/// 1, 2 or 5 times a power of ten.
fn round_step(at_least: f64) -> f64 {
    let decade = 10f64.powf(at_least.max(f64::MIN_POSITIVE).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * decade >= at_least).unwrap_or(10.0);
    step * decade
}

/// Begins a figure of that height, with a title for screen readers.
pub(crate) fn begin(height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        escape(title)
    )
}

/// Lines and labels of a horizontal axis whose plot is between two heights.
pub(crate) fn horizontal(
    out: &mut String,
    axis: &Axis,
    top: f64,
    bottom: f64,
    label: impl Fn(f64) -> String,
) {
    for tick in axis.ticks() {
        let at = axis.at(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{top}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            escape(&label(tick))
        );
    }
}

/// Lines and labels of a vertical axis whose plot is between two columns.
pub(crate) fn vertical(out: &mut String, axis: &Axis, left: f64, right: f64, label: impl Fn(f64) -> String) {
    for tick in axis.ticks() {
        let at = axis.at(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{left}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            escape(&label(tick))
        );
    }
}

/// The title of an axis below the plot.
pub(crate) fn caption(out: &mut String, x: f64, y: f64, text: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>", escape(text));
}

/// Nanoseconds, as people read them.
pub(crate) fn time(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n => (n / 1e9, "s"),
    };
    format!("{} {unit}", number(value))
}

/// A number with three digits that count.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_ticks_and_finite_places() {
        let axis = Axis::linear(0.0, 97.0, 0.0, 100.0);
        assert_eq!(axis.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0]);
        let decades = Axis::logarithmic(3.0, 250.0, 0.0, 100.0);
        assert_eq!(decades.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((decades.at(10.0) - 100.0 / 3.0).abs() < 1e-9);
        assert_eq!(Axis::logarithmic(2.0, 30.0, 0.0, 1.0).ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        for axis in [Axis::linear(0.0, 0.0, 0.0, 1.0), Axis::logarithmic(0.0, f64::NAN, 0.0, 1.0)] {
            for value in [0.0, -1.0, 1e300, f64::NAN, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&axis.at(value)), "{value}");
            }
            assert!(axis.ticks().len() < 20);
        }
    }

    #[test]
    fn texts_are_escaped_and_shortened_and_numbers_are_short() {
        assert_eq!(escape("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot; ");
        assert_eq!((shortened("äbc", 3), shortened("äbcd", 3)), ("äbc".into(), "äb…".into()));
        assert_eq!([0.0, 0.25, 5.0, 12.345, 1234.5].map(number), ["0", "0.25", "5", "12.3", "1234"]);
        assert_eq!([999.0, 1500.0, 2e9].map(time), ["999 ns", "1.5 µs", "2 s"]);
    }
}
