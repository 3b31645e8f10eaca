//! `anymetal top --once` against endpoints that answer, answer with something else, or do not answer.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::support::Bench;

/// Serves one body after the other, each to one request; gives the address.
fn serve(bodies: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for body in bodies {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    address
}

fn recorded(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/top").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn one_frame_is_printed_of_two_looks() {
    let bench = Bench::new();
    let address = serve(vec![recorded("first.prom"), recorded("second.prom")]);
    let frame = bench.run(&["top", &address, "--once", "--interval", "0.05"]).expect(0).stdout;
    assert!(frame.starts_with(&format!("anymetal top  http://{address}/metrics  over ")), "{frame}");
    for part in
        ["DEVICE", "nvidia:0", "scale<float>", "cpu attention open", "memory degraded", "cache hits 90 %"]
    {
        assert!(frame.contains(part), "no `{part}` in\n{frame}");
    }
    assert!(frame.lines().count() <= 24 && frame.lines().all(|line| line.chars().count() <= 80), "{frame}");
}

#[test]
fn what_does_not_answer_with_metrics_ends_with_4() {
    let bench = Bench::new();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    bench.run(&["top", &closed, "--once"]).expect(4).says(&["error: http://", "/metrics: "]);
    let page = serve(vec!["<html>hello</html>\n".to_owned()]);
    bench.run(&["top", &page, "--once"]).expect(4).says(&["line 1 is no metric"]);
    bench.run(&["top", "https://h", "--once"]).expect(2).says(&["`https` is not http"]);
    bench.run(&["top", "--once", "--interval", "0"]).expect(2);
}
