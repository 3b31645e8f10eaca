//! The webhook: alerts arrive in order as JSON, are offered again, and are given up when the target is
//! absent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anymetal_hal::clock::ManualClock;
use anymetal_health::alert::{Alert, AlertKind, AlertSink, Severity};
use anymetal_health::webhook::{ATTEMPTS, Webhook};

/// Answers requests with those statuses by turns, the last one for ever, and tells of the bodies.
fn target(statuses: &'static [&'static str]) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/alerts", listener.local_addr().unwrap());
    let (sender, bodies) = channel();
    std::thread::spawn(move || {
        for (turn, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let body = body(&mut stream);
            let status = statuses[turn.min(statuses.len() - 1)];
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            // Before the answer: then the test finds the body.
            if sender.send(body).is_err() {
                return;
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, bodies)
}

fn body(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut piece = [0; 4096];
    loop {
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                return body.to_owned();
            }
        }
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "{text}");
        text.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
}

fn alert(message: &str) -> Alert {
    Alert {
        kind: AlertKind::State,
        severity: Severity::Critical,
        component: "memory".to_owned(),
        message: message.to_owned(),
        at_seconds: 2.5,
    }
}

#[test]
fn alerts_arrive_in_order_and_are_offered_again_after_a_longer_and_longer_time() {
    let (url, bodies) = target(&["503 Service Unavailable", "500 Internal Server Error", "200 OK"]);
    let clock = ManualClock::new();
    let webhook = Webhook::start(&url, clock.clone()).unwrap();
    webhook.send(&alert("first"));
    webhook.flush();
    webhook.send(&alert("second"));
    webhook.flush();
    assert_eq!(bodies.try_iter().count(), 1, "not again before its time");
    clock.advance(Duration::from_secs(1));
    webhook.flush();
    clock.advance(Duration::from_secs(2));
    webhook.flush();
    let arrived: Vec<serde_json::Value> =
        bodies.try_iter().map(|body| serde_json::from_str(&body).unwrap()).collect();
    let messages: Vec<&str> = arrived.iter().map(|alert| alert["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["first", "first", "second"]);
    assert_eq!((&arrived[2]["severity"], webhook.dropped()), (&"critical".into(), 0));
}

#[test]
fn a_target_that_is_not_there_costs_alerts_that_are_counted_and_no_time() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let clock = ManualClock::new();
    let webhook = Webhook::start(&format!("http://127.0.0.1:{port}/"), clock.clone()).unwrap();
    let start = Instant::now();
    (0..1000).for_each(|_| webhook.send(&alert("again")));
    assert!(start.elapsed() < Duration::from_secs(1), "sending does not wait");
    let full = webhook.dropped();
    assert!(full >= 1000 - 256 - 1, "{full}");
    for _ in 0..ATTEMPTS {
        webhook.flush();
        clock.advance(Duration::from_secs(60));
    }
    webhook.flush();
    assert!(webhook.dropped() > full, "given up after {ATTEMPTS} attempts");
    let dropped: Arc<dyn AlertSink> = Arc::new(webhook);
    drop(dropped);
}

#[test]
fn a_url_that_is_no_target_is_refused() {
    assert!(Webhook::start("https://example.org/", ManualClock::new()).is_err());
}
