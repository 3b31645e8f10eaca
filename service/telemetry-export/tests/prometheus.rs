//! The endpoint as a scraper sees it: what the store holds arrives, in valid text, whatever the labels are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use anymetal_telemetry_export::exposition;
use anymetal_telemetry_export::scrape::{ScrapedFamily, parse};
use anymetal_telemetry_export::server::{Response, Server};
use anymetal_telemetry_export::store::Store;
use metrics::with_local_recorder;
use proptest::prelude::*;

fn family<'a>(families: &'a [ScrapedFamily], name: &str) -> &'a ScrapedFamily {
    families.iter().find(|family| family.name == name).unwrap()
}

#[test]
fn a_scrape_gives_what_was_recorded() {
    let store = Store::new();
    with_local_recorder(&store, || {
        metrics::describe_counter!("anymetal_retries_total", "Retries.");
        metrics::counter!("anymetal_retries_total", "reason" => "lost").increment(2);
        metrics::histogram!("anymetal_dispatch_duration_seconds", "kernel" => "k").record(0.003);
    });
    let its = store.clone();
    let routes = move |path: &str| {
        (path == "/metrics").then(|| Response {
            status: 200,
            content_type: exposition::CONTENT_TYPE,
            body: exposition::write(&its.snapshot()).into_bytes(),
        })
    };
    let server = Server::start("127.0.0.1:0", Arc::new(routes)).unwrap();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    let families = parse(body).unwrap();
    let retries = family(&families, "anymetal_retries_total");
    assert_eq!((retries.kind.as_str(), retries.help.as_str()), ("counter", "Retries."));
    assert_eq!((retries.samples[0].label("reason"), retries.samples[0].value), (Some("lost"), 2.0));
    let durations = family(&families, "anymetal_dispatch_duration_seconds");
    let up_to = |bound| {
        let sample = durations.samples.iter().find(|sample| sample.label("le") == Some(bound));
        sample.unwrap().value
    };
    assert_eq!([up_to("0.0025"), up_to("0.005"), up_to("+Inf")], [0.0, 1.0, 1.0]);
}

proptest! {
    #[test]
    fn any_names_and_labels_give_text_that_reads_back(
        metrics in prop::collection::vec((".{0,12}", ".{0,8}", ".{0,20}", any::<f64>(), 0..3u8), 0..12)
    ) {
        let store = Store::new();
        with_local_recorder(&store, || {
            for (name, label, value, number, kind) in metrics {
                let labels = [(label, value)];
                match kind {
                    0 => metrics::counter!(name, &labels).increment(number.abs() as u64),
                    1 => metrics::gauge!(name, &labels).set(number),
                    _ => metrics::histogram!(name, &labels).record(number),
                }
            }
        });
        let text = exposition::write(&store.snapshot());
        prop_assert!(parse(&text).is_ok(), "{}\n{:?}", text, parse(&text));
    }
}
