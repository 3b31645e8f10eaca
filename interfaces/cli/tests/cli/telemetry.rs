//! The command line as any program on the library: observed by a variable, at a collector that is there and
//! at one that is not.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::{Bench, source};

/// Accepts every request, and gives it, head and body.
fn collector() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let (told, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let told = told.clone();
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
                while !is_whole(&bytes) {
                    match stream.read(&mut piece) {
                        Ok(0) | Err(_) => return,
                        Ok(read) => bytes.extend_from_slice(&piece[..read]),
                    }
                }
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .unwrap();
                let _gone = told.send(bytes);
            });
        }
    });
    (endpoint, requests)
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    bytes.len() >= end + 4 + length.unwrap_or(0)
}

fn has(requests: &[Vec<u8>], path: &str, text: &str) -> bool {
    let contains =
        |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    requests.iter().any(|request| request.starts_with(path.as_bytes()) && contains(request, text))
}

fn run(bench: &Bench) -> crate::support::Ran {
    let file = source("saxpy.metal");
    let arguments = ["run", &file, "-k", "saxpy", "--threads", "64", "--arg", "x=iota:f32:64"];
    let more = ["--arg", "1=zeros:f32:64", "--arg", "a=f32:2.5"];
    bench.run(&[&arguments[..], &more[..]].concat())
}

#[test]
fn a_collector_gets_metrics_and_spans_of_a_program_that_knows_nothing_of_it() {
    let (endpoint, requests) = collector();
    let mut bench = Bench::new();
    bench.set("ANYMETAL_TELEMETRY_OTLP", endpoint);
    bench.set("ANYMETAL_TELEMETRY_SAMPLE", "1");
    run(&bench).expect(0);
    let requests: Vec<Vec<u8>> = requests.try_iter().collect();
    assert!(has(&requests, "POST /v1/metrics", "anymetal_dispatches_total"), "{} requests", requests.len());
    assert!(has(&requests, "POST /v1/metrics", "saxpy"));
    for span in
        ["anymetal.pipeline", "anymetal.compile.parse", "anymetal.compile.lower", "anymetal.submission"]
    {
        assert!(has(&requests, "POST /v1/traces", span), "no span {span}");
    }
}

#[test]
fn a_collector_that_is_not_there_changes_nothing_but_the_time_to_give_up() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut bench = Bench::new();
    bench.set("ANYMETAL_TELEMETRY_OTLP", format!("http://127.0.0.1:{port}"));
    let ran = run(&bench).expect(0);
    assert!(
        ran.time < Duration::from_secs(30) && !ran.stderr.contains("OTLP"),
        "{:?} {}",
        ran.time,
        ran.stderr
    );
}

#[test]
fn an_address_that_cannot_be_listened_at_is_told_and_the_work_is_done() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut bench = Bench::new();
    bench.set("ANYMETAL_TELEMETRY_PROMETHEUS", address.clone());
    run(&bench).expect(0).says(&[&format!("no /metrics at {address}: ")]);
    bench.set("ANYMETAL_TELEMETRY_PROMETHEUS", "9464");
    run(&bench).expect(1).says(&["ANYMETAL_TELEMETRY_PROMETHEUS", "`9464` is not an address with a port"]);
}
