//! Frames of recorded expositions (`tests/top`), in terminals of every size.

use std::path::PathBuf;
use std::time::Duration;

use super::samples::Samples;
use super::*;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/top").join(name)
}

fn recorded(name: &str) -> Samples {
    Samples::parse(&std::fs::read_to_string(path(name)).unwrap()).unwrap()
}

fn between() -> View {
    View::of(Some(&recorded("first.prom")), &recorded("second.prom"), Some(Duration::from_secs(2)))
}

/// Compares with a file; `ANYMETAL_BLESS=1` writes it.
#[track_caller]
fn assert_is(name: &str, text: &str) {
    if std::env::var_os("ANYMETAL_BLESS").is_some() {
        std::fs::write(path(name), text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path(name)).unwrap_or_default(), "{name}");
}

#[test]
fn a_frame_shows_rates_latencies_memory_and_what_is_wrong() {
    assert_is("second.txt", &frame(&between(), "http://127.0.0.1:9464/metrics"));
}

#[test]
fn a_first_look_has_no_rates() {
    let view = View::of(None, &recorded("first.prom"), None);
    assert!(view.devices.iter().all(|device| device.dispatches.is_none()));
    assert_is("first.txt", &frame(&view, "http://127.0.0.1:9464/metrics"));
}

#[test]
fn rates_and_latencies_are_of_the_time_between_two_looks() {
    let view = between();
    let device = view.devices.iter().find(|device| device.name == "cpu").unwrap();
    // (1800 + 400) - (1000 + 300) dispatches in two seconds.
    assert_eq!(device.dispatches, Some(450.0));
    let scale = view.kernels.iter().find(|row| row.kernel == "scale<float>").unwrap();
    assert_eq!((scale.dispatches, scale.total), (Some(400.0), 1800.0));
    // All of the new ones are between 10 and 100 microseconds.
    assert!((scale.latency.p50.unwrap() - 55e-6).abs() < 1e-9, "{:?}", scale.latency);
    assert_eq!(view.breakers, [("cpu attention".to_owned(), "open")]);
    assert_eq!(view.unhealthy, [("memory".to_owned(), "degraded")]);
    assert_eq!(view.cache_hits, Some(0.9));
}

#[test]
fn a_process_that_was_started_again_counts_from_zero() {
    let view =
        View::of(Some(&recorded("second.prom")), &recorded("first.prom"), Some(Duration::from_secs(1)));
    let device = view.devices.iter().find(|device| device.name == "cpu").unwrap();
    assert_eq!(device.dispatches, Some(1300.0));
}

#[test]
fn what_the_execution_manager_does_is_shown_where_there_is_one() {
    let text = |ok: u32, failed: u32| {
        format!(
            "# TYPE anymetal_executions_total counter\nanymetal_executions_total{{outcome=\"ok\"}} {ok}\n\
             anymetal_executions_total{{outcome=\"lost\"}} {failed}\n\
             # TYPE anymetal_manager_streams gauge\nanymetal_manager_streams{{device=\"gpu\"}} 4\n\
             # TYPE anymetal_degraded_mode gauge\nanymetal_degraded_mode{{device=\"gpu\"}} 1\n"
        )
    };
    let [before, now] = [text(100, 0), text(150, 2)].map(|text| Samples::parse(&text).unwrap());
    let view = View::of(Some(&before), &now, Some(Duration::from_secs(2)));
    let shown = frame(&view, "http://h/metrics");
    assert!(shown.contains("MANAGER   26/s  p50 -  p99 -  failed 2  streams  gpu 4 degraded"), "{shown}");
    assert!(!frame(&between(), "http://h/metrics").contains("MANAGER"));
}

#[test]
fn terminals_of_every_size_are_drawn() {
    let view = between();
    for width in [1, 7, 20, 40, 80, 200] {
        for height in [1, 2, 5, 11, 24, 60] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            for problem in [None, Some("connection refused")] {
                terminal.draw(|frame| draw::draw(frame, Some(&view), "http://h/metrics", problem)).unwrap();
                terminal.draw(|frame| draw::draw(frame, None, "http://h/metrics", problem)).unwrap();
            }
        }
    }
}

#[test]
fn a_process_that_does_not_answer_is_told_above_the_last_values() {
    let mut terminal = Terminal::new(TestBackend::new(100, 24)).unwrap();
    let view = between();
    terminal
        .draw(|frame| draw::draw(frame, Some(&view), "http://h/metrics", Some("connection refused")))
        .unwrap();
    let shown = terminal.backend().to_string();
    assert!(
        shown.contains("http://h/metrics  connection refused") && shown.contains("scale<float>"),
        "{shown}"
    );
}

#[test]
fn q_escape_and_control_c_quit() {
    use ratatui::crossterm::event::KeyEvent;
    let press = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
    assert!(
        quits(&press(KeyCode::Char('q'), KeyModifiers::NONE))
            && quits(&press(KeyCode::Esc, KeyModifiers::NONE))
    );
    assert!(quits(&press(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    assert!(!quits(&press(KeyCode::Char('c'), KeyModifiers::NONE)) && !quits(&Event::Resize(80, 24)));
}
