//! `anymetal top`: what a running process does, from its Prometheus endpoint.
//!
//! [`scrape`] fetches, [`samples`] parses, [`view`] turns two scrapes into what is shown, [`draw`] shows
//! it. This file has the loop. Invariant: fetching happens on a thread of its own, so that a process that
//! does not answer never makes the terminal wait.

mod draw;
mod histogram;
mod samples;
mod scrape;
mod view;

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anymetal::profile::{Clock, SystemClock};
use anymetal_driver::hal::clock::wait_for;
use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use crate::failure::Failure;
use crate::output;
use scrape::{Endpoint, Scrape};
use view::View;

/// The frame of `--once`.
const ONCE_SIZE: (u16, u16) = (80, 24);
/// How long the terminal waits for a key before it looks for new values.
const KEY_WAIT: Duration = Duration::from_millis(50);

/// Watch a running process.
///
/// Attaches to a process that serves metrics (setting telemetry.prometheus) and shows devices, dispatch
/// rates, latencies, memory, recovery and the kernels that take most time. Keys: q or Esc quits.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal top\n  anymetal top 10.0.0.7:9464 --interval 5\n  anymetal top --once"
)]
pub(crate) struct TopArgs {
    /// The process's endpoint
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:9464/metrics", value_parser = Endpoint::parse)]
    endpoint: Endpoint,
    /// Seconds between two looks; rates and latencies are of the time between them
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = parse_interval)]
    interval: Duration,
    /// Look twice, print one frame as text, and end
    #[arg(long)]
    once: bool,
}

fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(interval) if interval >= Duration::from_millis(10) => Ok(interval),
        _ => Err("looks are at least 0.01 seconds apart".to_owned()),
    }
}

/// Does it.
pub(crate) fn top(args: &TopArgs) -> Result<(), Failure> {
    if args.once { once(args) } else { watch(args) }
}

fn once(args: &TopArgs) -> Result<(), Failure> {
    let fetch = || {
        args.endpoint.fetch().map_err(|reason| {
            eprintln!("error: {}: {reason}", args.endpoint);
            Failure::Told(4)
        })
    };
    let before = fetch()?;
    let clock = SystemClock::shared();
    wait_for(&*clock, Some(clock.now() + args.interval), std::future::pending::<()>());
    let view = View::new(Some(&before), &fetch()?);
    output::write(&frame(&view, &args.endpoint.to_string()))
}

/// A frame as text, without what is empty at its end.
fn frame(view: &View, source: &str) -> String {
    let (width, height) = ONCE_SIZE;
    let mut terminal = match Terminal::new(TestBackend::new(width, height)) {
        Ok(terminal) => terminal,
        Err(never) => match never {},
    };
    match terminal.draw(|frame| draw::draw(frame, Some(view), source, None)) {
        Ok(_) => {}
        Err(never) => match never {},
    }
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    let rows: Vec<String> = (0..height).map(row).collect();
    rows.join("\n").trim_end().to_owned() + "\n"
}

type Fetched = Result<Scrape, String>;

/// Shows values until a key ends it.
fn watch(args: &TopArgs) -> Result<(), Failure> {
    let (send, fetched) = mpsc::channel();
    let (stop, stopped) = mpsc::channel();
    let (endpoint, interval) = (args.endpoint.clone(), args.interval);
    let thread = std::thread::Builder::new().name("scrape".to_owned());
    let thread = thread.spawn(move || fetch_all(&endpoint, interval, &send, &stopped));
    let thread = thread.map_err(|error| Failure::Input(format!("no thread: {error}")))?;
    let shown = show(&fetched, &args.endpoint.to_string());
    drop(stop);
    // A fetch that is under way has a limit of its own.
    drop(thread);
    shown.map_err(|error| Failure::Input(format!("the terminal cannot be used: {error}; try --once")))
}

/// Fetches again and again until nobody listens.
fn fetch_all(endpoint: &Endpoint, interval: Duration, send: &Sender<Fetched>, stopped: &Receiver<()>) {
    loop {
        let start = Instant::now();
        if send.send(endpoint.fetch()).is_err() {
            return;
        }
        match stopped.recv_timeout(interval.saturating_sub(start.elapsed())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn show(fetched: &Receiver<Fetched>, source: &str) -> std::io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let result = (|| {
        let (mut last, mut view, mut problem) = (None, None, None);
        loop {
            while let Ok(scrape) = fetched.try_recv() {
                match scrape {
                    Ok(scrape) => {
                        view = Some(View::new(last.as_ref(), &scrape));
                        (last, problem) = (Some(scrape), None);
                    }
                    // The last values stay on the screen.
                    Err(reason) => problem = Some(reason),
                }
            }
            terminal.draw(|frame| draw::draw(frame, view.as_ref(), source, problem.as_deref()))?;
            if event::poll(KEY_WAIT)? && quits(&event::read()?) {
                return Ok(());
            }
        }
    })();
    ratatui::try_restore()?;
    result
}

fn quits(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let interrupts = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (interrupts || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}

#[cfg(test)]
mod tests;
