//! A report as one HTML file: no script, nothing from elsewhere.

use std::fmt::Write;

use anymetal::profile::{Profile, TimeSource};

use super::figures::roofline::Point;
use super::figures::{self, cdf, escape, memory, roofline, timeline};
use super::recorded::Recorded;
use super::summary;
use super::table::{self, TimeUnit};

const STYLE: &str = "body{font-family:sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse;font-size:.85em}\
th,td{padding:.25em .6em;text-align:right;white-space:nowrap}th{border-bottom:2px solid #888}\
td{border-bottom:1px solid #ddd}th:last-child,td:last-child{text-align:left;white-space:normal;word-break:break-word}\
svg{width:100%;height:auto;border:1px solid #ddd}.scroll{overflow-x:auto}.note{color:#555;font-size:.85em}.failed{color:#a00}";

/// The page.
pub(crate) fn page(recorded: &Recorded) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body><h1>{title}</h1>\n",
        title = escape(&recorded.title)
    );
    let clock = match recorded.source() {
        TimeSource::Device => "the device's clock",
        TimeSource::Host => "the host's clock",
    };
    let _ = writeln!(
        out,
        "<p>{}; {} runs in {} by {clock}.</p>",
        escape(&recorded.device),
        recorded.slices.len(),
        figures::time(recorded.end_ns() as f64)
    );
    for failure in summary::failures(recorded) {
        let _ = writeln!(out, "<p class=\"failed\">failed: {}</p>", escape(&failure));
    }
    if recorded.left_out > 0 {
        let _ = writeln!(
            out,
            "<p class=\"failed\">{} earlier submissions made room for these.</p>",
            recorded.left_out
        );
    }
    summary_table(&mut out, recorded);
    if recorded.slices.is_empty() {
        note(&mut out, "Nothing ran.");
    } else {
        with_figures(&mut out, recorded);
    }
    out.push_str("</body></html>\n");
    out
}

fn note(out: &mut String, text: &str) {
    let _ = writeln!(out, "<p class=\"note\">{}</p>", escape(text));
}

fn section(out: &mut String, title: &str) {
    let _ = writeln!(out, "<h2>{title}</h2>");
}

fn summary_table(out: &mut String, recorded: &Recorded) {
    section(out, "Summary");
    let (header, rows) = table::cells(recorded, TimeUnit::Us);
    let row = |cells: &[String], tag: &str| {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    out.push_str("<div class=\"scroll\"><table>\n");
    out.push_str(&row(&header, "th"));
    rows.iter().for_each(|cells| out.push_str(&row(cells, "td")));
    out.push_str("</table></div>\n");
}

fn with_figures(out: &mut String, recorded: &Recorded) {
    let profiles = summary::profiles(recorded);
    let rows = summary::rows(recorded);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).take(figures::NAMES).collect();
    let longest: Vec<(&str, &Profile)> = names.iter().map(|name| (*name, &profiles[name])).collect();
    section(out, "Latency");
    out.push_str(&cdf::svg(&longest));
    if rows.len() > longest.len() {
        note(out, &format!("The {} that took longest in all, of {}.", longest.len(), rows.len()));
    }
    section(out, "Roofline");
    roofline_figure(out, recorded, &profiles.into_iter().collect::<Vec<_>>(), &names);
    section(out, "Timeline");
    out.push_str(&timeline::svg(recorded, &names));
    let others = if rows.len() > names.len() { "; the others are grey" } else { "" };
    note(out, &format!("Colours as in the latency figure{others}."));
    note(
        out,
        "Runs too short to be told apart are one rectangle, whose height is the share of time that they take.",
    );
    section(out, "Memory");
    match recorded.memory.is_empty() {
        true => note(out, "The memory that buffers take was not recorded."),
        false => out.push_str(&memory::svg(&recorded.memory, recorded.end_ns())),
    }
}

fn roofline_figure(out: &mut String, recorded: &Recorded, profiles: &[(&str, Profile)], names: &[&str]) {
    let Some(ceilings) = &recorded.ceilings else {
        return note(out, "The machine's ceilings were not measured when this was recorded.");
    };
    let counted = summary::counted(recorded);
    let point = |(name, profile): &(&str, Profile)| {
        let colour = names.iter().position(|known| known == name).unwrap_or(usize::MAX);
        let (work, seconds) = match recorded.work.get(*name) {
            Some(work) => (*work, profile.median().as_secs_f64()),
            // Runs differ: all of them together.
            None => {
                let (work, nanoseconds) = counted.get(name)?;
                (*work, *nanoseconds as f64 / 1e9)
            }
        };
        Some(Point { name: (*name).to_owned(), flop: work.flop, bytes: work.bytes, seconds, colour })
    };
    let points: Vec<Point> = profiles.iter().filter_map(point).collect();
    out.push_str(&roofline::svg(&points, ceilings));
    note(
        out,
        "At the median time. The slope is the bandwidth of a copy that caches do not hold; what stays in caches can be above it.",
    );
    if points.len() < profiles.len() {
        let uncounted = profiles.len() - points.len();
        note(
            out,
            &format!("{uncounted} without counted work (flop and bytes of a step) are not in this figure."),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::recorded::{Ceilings, MemoryPoint, Slice, Work};
    use super::*;

    fn recorded(names: &[&str], runs: u64) -> Recorded {
        let mut recorded = Recorded::new("a <work> & more", "cpu", TimeSource::Device);
        for (queue, name) in (0u32..).zip(names) {
            recorded.queues.insert(queue, format!("queue <{queue}>"));
            for run in 0..runs {
                let (start_ns, duration_ns) = (1000 * run, 100 + run % 50 * u64::from(queue + 1));
                recorded.slices.push(Slice {
                    queue,
                    name: (*name).to_owned(),
                    start_ns,
                    duration_ns,
                    work: None,
                });
            }
            recorded.work.insert((*name).to_owned(), Work { flop: 1e6, bytes: 1e5 * f64::from(queue) });
        }
        recorded.ceilings = Some(Ceilings { flop_per_second: 1e11, bytes_per_second: 2e10 });
        recorded.memory = (0..10).map(|n| MemoryPoint { at_ns: n * 100, bytes: n << 20 }).collect();
        recorded
    }

    /// Whether every element that is opened is closed, in order.
    #[track_caller]
    fn assert_well_formed(page: &str) {
        let void = ["meta", "!DOCTYPE"];
        let mut open = Vec::new();
        for tag in page.split('<').skip(1) {
            let (tag, _) = tag.split_once('>').expect("a tag ends");
            let name = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !tag.ends_with('/') && !void.contains(&name) {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        assert!(!page.contains("NaN") && !page.contains("inf\""), "coordinates are finite");
    }

    #[test]
    fn a_page_has_all_figures_and_needs_nothing_from_elsewhere() {
        let page = page(&recorded(&["scale<float>", "[copy]", "\"sum\" & more"], 200));
        for title in ["Summary", "Latency", "Roofline", "Timeline", "Memory"] {
            assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
        }
        assert_eq!(page.matches("<svg ").count(), 4);
        let links = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!links.contains("http") && !page.contains("<script") && !page.contains("src="));
        assert_well_formed(&page);
    }

    #[test]
    fn pages_of_nothing_and_of_very_much_are_well_formed() {
        assert_well_formed(&page(&Recorded::new("nothing", "cpu", TimeSource::Host)));
        let names: Vec<String> = (0..30).map(|n| format!("kernel{n}")).collect();
        let many = page(&recorded(&names.iter().map(String::as_str).collect::<Vec<_>>(), 1000));
        assert_well_formed(&many);
        assert!(many.contains(">15 others<") && many.len() < 3 << 20, "{}", many.len());
        let mut odd = recorded(&["k"], 1);
        odd.slices[0].duration_ns = 0;
        odd.work.insert("k".to_owned(), Work { flop: 0.0, bytes: 0.0 });
        odd.ceilings = Some(Ceilings { flop_per_second: 0.0, bytes_per_second: 0.0 });
        assert_well_formed(&page(&odd));
    }
}
