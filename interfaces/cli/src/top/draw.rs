//! A frame: the title, devices, memory, recovery, kernels, from the top down. What does not fit is left out
//! at the bottom, kernels first.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table};

use super::view::{DeviceRow, Executions, KernelRow, Latency, View};
use crate::report::figures::{number, time};

/// Draws all. `problem` is why there are no newer values.
pub(super) fn draw(frame: &mut Frame<'_>, view: Option<&View>, source: &str, problem: Option<&str>) {
    let devices = view.map_or(0, |view| view.devices.len().min(6)) as u16;
    let has_manager = view.is_some_and(|view| view.executions.is_some());
    let [title, rates, memory, recovery, kernels] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(devices + 2),
        Constraint::Length(devices + 2),
        Constraint::Length(if has_manager { 5 } else { 4 }),
        Constraint::Min(0),
    ])
    .areas(frame.area());
    draw_title(frame, title, view, source, problem);
    let Some(view) = view else { return };
    draw_devices(frame, rates, &view.devices);
    draw_memory(frame, memory, &view.devices);
    draw_recovery(frame, recovery, view);
    draw_kernels(frame, kernels, &view.kernels);
}

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn alarm() -> Style {
    Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)
}

fn draw_title(frame: &mut Frame<'_>, area: Rect, view: Option<&View>, source: &str, problem: Option<&str>) {
    let mut line = vec![Span::styled("anymetal top", bold()), Span::raw(format!("  {source}"))];
    match (problem, view.and_then(|view| view.between)) {
        (Some(problem), _) => line.push(Span::styled(format!("  {problem}"), alarm())),
        (None, Some(between)) => line.push(Span::raw(format!("  over {}", time(between.as_nanos() as f64)))),
        (None, None) if view.is_some() => line.push(Span::raw("  first look, rates follow")),
        (None, None) => line.push(Span::raw("  waiting for values")),
    }
    frame.render_widget(Paragraph::new(Line::from(line)), area);
}

/// A table whose first columns are texts, and the others numbers.
fn table<'a>(
    header: [&'a str; 9],
    texts: usize,
    widths: [Constraint; 9],
    rows: impl Iterator<Item = Row<'a>>,
) -> Table<'a> {
    let titles = header.into_iter().enumerate().map(|(column, title)| match column < texts {
        true => Line::from(title),
        false => Line::from(title).right_aligned(),
    });
    Table::new(rows, widths).header(Row::new(titles).style(bold())).column_spacing(1)
}

/// The first column takes what is left.
fn widths(others: [u16; 8]) -> [Constraint; 9] {
    let [a, b, c, d, e, f, g, h] = others.map(Constraint::Length);
    [Constraint::Min(8), a, b, c, d, e, f, g, h]
}

fn right(text: String) -> Line<'static> {
    Line::from(text).right_aligned()
}

fn draw_devices(frame: &mut Frame<'_>, area: Rect, devices: &[DeviceRow]) {
    let header = ["DEVICE", "disp/s", "p50", "p95", "p99", "flight", "queued", "err/s", ""];
    let row = |device: &DeviceRow| {
        let Latency { p50, p95, p99 } = device.latency;
        let cells = [
            rate(device.dispatches),
            seconds(p50),
            seconds(p95),
            seconds(p99),
            count(device.in_flight),
            count(device.waiting),
            rate(device.errors),
            String::new(),
        ];
        let style = if device.errors.is_some_and(|errors| errors > 0.0) { alarm() } else { Style::new() };
        Row::new(std::iter::once(Line::from(device.name.clone())).chain(cells.map(right))).style(style)
    };
    let rows = devices.iter().map(row);
    frame.render_widget(table(header, 1, widths([9, 9, 9, 9, 7, 7, 7, 0]), rows), area);
}

fn draw_memory(frame: &mut Frame<'_>, area: Rect, devices: &[DeviceRow]) {
    let header = ["MEMORY", "used", "of", "share", "buffers", "pool used", "pool free", "pool buf.", ""];
    let row = |device: &DeviceRow| {
        let (limit, share) = match device.memory_limit {
            Some(limit) if limit > 0.0 => {
                (bytes(limit), format!("{:.0} %", 100.0 * device.memory_bytes / limit))
            }
            _ => ("-".to_owned(), String::new()),
        };
        let cells = [
            bytes(device.memory_bytes),
            limit,
            share,
            count(device.buffers),
            bytes(device.pool_used),
            bytes(device.pool_free),
            count(device.pool_buffers),
            String::new(),
        ];
        Row::new(std::iter::once(Line::from(device.name.clone())).chain(cells.map(right)))
    };
    let rows = devices.iter().map(row);
    frame.render_widget(table(header, 1, widths([9, 9, 6, 8, 10, 10, 10, 0]), rows), area);
}

fn draw_recovery(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let [retries, fallbacks, deadlines, losses] = view.recovery.map(count);
    let cache = view.cache_hits.map_or("-".to_owned(), |share| format!("{:.0} %", 100.0 * share));
    let mut lines: Vec<Line<'_>> = view.executions.iter().map(executions_line).collect();
    lines.push(Line::from(vec![
        Span::styled("RECOVERY", bold()),
        Span::raw(format!(
            "  retries {retries}  fallbacks {fallbacks}  deadlines {deadlines}  losses {losses}  cache hits {cache}"
        )),
    ]));
    lines.push(state_line("BREAKERS", view.breaker_count, "closed", &view.breakers));
    lines.push(state_line("HEALTH", view.component_count, "healthy", &view.unhealthy));
    frame.render_widget(Paragraph::new(lines), area);
}

/// What the execution manager does, and with how many streams.
fn executions_line(executions: &Executions) -> Line<'static> {
    let Executions { rate: per_second, latency: Latency { p50, p99, .. }, failed, devices } = executions;
    let told = format!("{}/s  p50 {}  p99 {}  failed ", rate(*per_second), seconds(*p50), seconds(*p99));
    let style = if *failed > 0.0 { alarm() } else { Style::new() };
    let mut line = vec![
        Span::styled("MANAGER ", bold()),
        Span::raw(format!("  {told}")),
        Span::styled(count(*failed), style),
        Span::raw("  streams"),
    ];
    for (device, streams, is_degraded) in devices {
        line.push(Span::raw(format!("  {device} {}", count(*streams))));
        if *is_degraded {
            line.push(Span::styled(" degraded", alarm()));
        }
    }
    Line::from(line)
}

/// All are well, or which are not.
fn state_line(
    title: &'static str,
    all: usize,
    well: &str,
    others: &[(String, &'static str)],
) -> Line<'static> {
    let mut line = vec![Span::styled(format!("{title:8}"), bold()), Span::raw("  ")];
    match (all, others) {
        (0, _) => line.push(Span::raw("none reported")),
        (all, []) => line.push(Span::raw(format!("all {all} {well}"))),
        (all, others) => {
            let told: Vec<String> = others.iter().map(|(name, state)| format!("{name} {state}")).collect();
            line.push(Span::styled(told.join(", "), alarm()));
            line.push(Span::raw(format!(", {} of {all} {well}", all - others.len())));
        }
    }
    Line::from(line)
}

fn draw_kernels(frame: &mut Frame<'_>, area: Rect, kernels: &[KernelRow]) {
    let header = ["KERNEL", "device", "runs as", "time", "disp/s", "p50", "p95", "p99", "total"];
    let row = |kernel: &KernelRow| {
        let Latency { p50, p95, p99 } = kernel.latency;
        let texts = [kernel.kernel.clone(), kernel.device.clone(), kernel.backend.clone()].map(Line::from);
        let cells = [
            format!("{:.0} %", 100.0 * kernel.time_share),
            rate(kernel.dispatches),
            seconds(p50),
            seconds(p95),
            seconds(p99),
            count(kernel.total),
        ];
        Row::new(texts.into_iter().chain(cells.map(right)))
    };
    let rows = kernels.iter().take(area.height as usize).map(row);
    frame.render_widget(table(header, 3, widths([8, 7, 5, 7, 8, 8, 8, 6]), rows), area);
}

fn rate(per_second: Option<f64>) -> String {
    per_second.map_or("-".to_owned(), count)
}

fn seconds(time_in_seconds: Option<f64>) -> String {
    time_in_seconds.filter(|time| time.is_finite()).map_or("-".to_owned(), |seconds| time(seconds * 1e9))
}

/// A count with a letter for thousands.
fn count(value: f64) -> String {
    match value {
        v if !v.is_finite() => "-".to_owned(),
        v if v >= 1e9 => format!("{}G", number(v / 1e9)),
        v if v >= 1e6 => format!("{}M", number(v / 1e6)),
        v if v >= 1e4 => format!("{}k", number(v / 1e3)),
        v => number(v),
    }
}

fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = if value.is_finite() { value.max(0.0) } else { 0.0 };
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", number(value), UNITS[unit])
}
