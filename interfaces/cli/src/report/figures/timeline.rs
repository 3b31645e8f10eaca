//! The timeline: one row for each queue, a rectangle for each thing that ran.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write;

use super::{Axis, LEFT, TOP, begin, caption, colour, escape, horizontal, shortened, time};
use crate::report::recorded::{Recorded, Slice};

const RIGHT: f64 = 940.0;
const ROW: f64 = 34.0;
const LABELS: f64 = LEFT + 40.0;
/// The least width of a rectangle. Runs that are shorter share one with their neighbours.
const NARROWEST: f64 = 0.6;
/// Columns of all rows together; a page with more rectangles is slow to show.
const MAX_COLUMNS: f64 = 5000.0;

/// The width of a column, of so many rows.
fn column(rows: usize) -> f64 {
    ((RIGHT - LABELS) * rows as f64 / MAX_COLUMNS).max(NARROWEST)
}

/// A rectangle: one run, or several that are too short to be told apart.
struct Mark {
    from: f64,
    width: f64,
    row: usize,
    /// The name of the first.
    name: usize,
    runs: u64,
    duration_ns: u64,
}

/// The most rows; queues with less time share the last one.
const MAX_ROWS: usize = 16;

/// The rows of queues, in the order of their numbers.
struct Rows {
    own: BTreeMap<u32, usize>,
    count: usize,
    others: usize,
}

impl Rows {
    fn of_queues(slices: &[Slice]) -> Rows {
        let mut busy: BTreeMap<u32, u64> = BTreeMap::new();
        for slice in slices {
            let time = busy.entry(slice.queue).or_default();
            *time = time.saturating_add(slice.duration_ns);
        }
        let mut queues: Vec<u32> = busy.keys().copied().collect();
        let mut others = 0;
        if queues.len() > MAX_ROWS {
            queues.sort_by_key(|queue| std::cmp::Reverse(busy[queue]));
            others = queues.len() - (MAX_ROWS - 1);
            queues.truncate(MAX_ROWS - 1);
            queues.sort_unstable();
        }
        let count = queues.len() + usize::from(others > 0);
        Rows { own: queues.into_iter().zip(0..).collect(), count, others }
    }

    fn of(&self, queue: u32) -> usize {
        self.own.get(&queue).copied().unwrap_or(self.own.len())
    }

    fn names(&self, recorded: &Recorded) -> Vec<String> {
        let name =
            |queue: &u32| recorded.queues.get(queue).cloned().unwrap_or_else(|| format!("queue {queue}"));
        let others = (self.others > 0).then(|| format!("{} others", self.others));
        self.own.keys().map(name).chain(others).collect()
    }
}

/// What is drawn: no more for each queue than there are columns, however many runs there were.
fn marks(slices: &[Slice], rows: &Rows, x: &Axis, names: &[&str], column: f64) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut columns: BTreeMap<(usize, i64), usize> = BTreeMap::new();
    for slice in slices {
        let (from, to) =
            (x.at(slice.start_ns as f64), x.at((slice.start_ns.saturating_add(slice.duration_ns)) as f64));
        let name = names.iter().position(|name| *name == slice.name).unwrap_or(usize::MAX);
        let (row, duration_ns) = (rows.of(slice.queue), slice.duration_ns);
        let mark = Mark { from, width: (to - from).max(NARROWEST), row, name, runs: 1, duration_ns };
        if to - from >= column {
            marks.push(mark);
            continue;
        }
        match columns.entry((row, (from / column).floor() as i64)) {
            Entry::Vacant(first) => {
                first.insert(marks.len());
                marks.push(mark);
            }
            Entry::Occupied(there) => {
                let there = &mut marks[*there.get()];
                there.width = column;
                there.runs += 1;
                there.duration_ns = there.duration_ns.saturating_add(duration_ns);
            }
        }
    }
    marks
}

impl Mark {
    /// Its share of a row's height: that of the column's time which its runs take.
    fn height(&self, column_ns: f64) -> f64 {
        match self.runs {
            1 => 1.0,
            _ => (self.duration_ns as f64 / column_ns).clamp(0.1, 1.0),
        }
    }

    fn title(&self, names: &[&str]) -> String {
        let (name, took) = (names.get(self.name).copied().unwrap_or("other"), time(self.duration_ns as f64));
        match self.runs {
            1 => format!("{name}, {took}"),
            runs => format!("{runs} runs from {name} on, {took}"),
        }
    }
}

/// The figure, with the colours of `names` in order.
pub(crate) fn svg(recorded: &Recorded, names: &[&str]) -> String {
    let slices = recorded.slices.as_slice();
    let end = slices.iter().map(|slice| slice.start_ns.saturating_add(slice.duration_ns)).max().unwrap_or(0);
    let rows = Rows::of_queues(slices);
    let bottom = TOP + ROW * rows.count as f64;
    let x = Axis::linear(0.0, end as f64, LABELS, RIGHT);
    let mut out = begin(bottom + 50.0, "timeline");
    horizontal(&mut out, &x, TOP, bottom, time);
    caption(&mut out, (LABELS + RIGHT) / 2.0, bottom + 38.0, "time since the start");
    for (row, name) in rows.names(recorded).iter().enumerate() {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LABELS - 8.0,
            TOP + ROW * row as f64 + 21.0,
            escape(&shortened(name, 15))
        );
    }
    let column = column(rows.count);
    let column_ns = end as f64 * column / (RIGHT - LABELS);
    for mark in marks(slices, &rows, &x, names, column) {
        let height = (ROW - 12.0) * mark.height(column_ns);
        let _ = writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{height:.1}\" fill=\"{}\"><title>{}</title></rect>",
            mark.from,
            TOP + ROW * (mark.row + 1) as f64 - 6.0 - height,
            mark.width,
            colour(mark.name),
            escape(&mark.title(names))
        );
    }
    out.push_str("</svg>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_runs_share_a_column_and_all_of_them_are_shown() {
        let slice = |start_ns, duration_ns| Slice {
            queue: 1,
            name: "k".to_owned(),
            start_ns,
            duration_ns,
            work: None,
        };
        let mut slices: Vec<Slice> = (0..100_000).map(|number| slice(number * 10, 5)).collect();
        slices.push(slice(2_000_000, 1_000_000));
        let marks = marks(
            &slices,
            &Rows::of_queues(&slices),
            &Axis::linear(0.0, 3e6, LABELS, RIGHT),
            &["k"],
            column(1),
        );
        assert!(marks.len() < 600, "{} marks", marks.len());
        assert_eq!(marks.iter().map(|mark| mark.runs).sum::<u64>(), 100_001);
        let column_ns = 3e6 * NARROWEST / (RIGHT - LABELS);
        let half = |mark: &&Mark| (0.4..0.6).contains(&mark.height(column_ns));
        assert!(marks.iter().filter(half).count() > marks.len() - 10, "they take half of the time");
        assert_eq!(marks.last().unwrap().title(&["k"]), "k, 1 ms");
    }

    #[test]
    fn many_queues_share_a_row() {
        let slice = |queue: u32| Slice {
            queue,
            name: "k".to_owned(),
            start_ns: 0,
            duration_ns: queue.into(),
            work: None,
        };
        let slices: Vec<Slice> = (0..100).map(slice).collect();
        let rows = Rows::of_queues(&slices);
        assert_eq!((rows.count, rows.of(85), rows.of(99), rows.of(0)), (16, 0, 14, 15));
        assert_eq!(
            rows.names(&Recorded::new("t", "cpu", anymetal::profile::TimeSource::Device))[15],
            "85 others"
        );
    }
}
