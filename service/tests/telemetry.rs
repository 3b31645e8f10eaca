//! A program is observed by its settings alone: metrics at an address, probes of health.
//!
//! One test, because a process exports once.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use anymetal::command::IndirectCommandBufferDescriptor;
use anymetal::config::{Layer, Layers};
use anymetal::notice::{self, NoticeKind};
use anymetal::{Device, Error, Library, Queue};
use anymetal_service::ServiceLayers;
use anymetal_service::export::scrape::{ScrapedFamily, parse};

const SOURCE: &str = "
kernel void watched(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }
";

fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// The sum of the samples of that name with that label.
fn sum(families: &[ScrapedFamily], name: &str, label: (&str, &str)) -> f64 {
    let samples = families.iter().flat_map(|family| &family.samples).filter(|sample| sample.name == name);
    samples.filter(|sample| sample.label(label.0) == Some(label.1)).map(|sample| sample.value).sum()
}

/// Two launches that a command buffer finds in memory.
fn execute_encoded(device: &Device, library: &Library, queue: &Queue) -> Result<(), Error> {
    let watched = library.pipeline("watched")?;
    let (x, y) = (device.buffer(&[1f32; 8])?, device.buffer_zeroed::<f32>(8)?);
    let indirect = device.indirect_command_buffer(&IndirectCommandBufferDescriptor::new(2, 2))?;
    for number in 0..2 {
        let mut command = indirect.command(number)?;
        command.set_pipeline(&watched)?.set_buffer(0, &x, 0)?.set_buffer(1, &y, 0)?.dispatch_threads(8, 8)?;
    }
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&watched);
    encoder.use_buffer(&x);
    encoder.use_buffer(&y);
    encoder.execute_commands(&indirect, 0..2)?;
    encoder.end_encoding();
    commands.commit()?.wait()?;
    assert_eq!(y.read()?, [1.0; 8]);
    Ok(())
}

#[test]
fn settings_alone_make_a_program_observable() -> Result<(), Error> {
    let mut exporters = ServiceLayers::default();
    exporters.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
    anymetal_service::start_with(&exporters)?;
    let device = Device::with_settings(&Layers::default())?;
    let telemetry = anymetal_service::telemetry::running().unwrap();
    let address = telemetry.address().unwrap();
    let queue = device.queue()?;
    let library = device.library_from_source(SOURCE)?;
    let watched = library.pipeline("watched")?;
    let (x, y) = (device.buffer(&[1f32; 256])?, device.acquire::<f32>(256)?);
    for _ in 0..5 {
        queue.launch(&watched).arg(&x).arg(&y).threads(256).submit()?.wait()?;
    }
    let refused = queue.launch(&watched).arg(&x).arg(&y.view(0..3)?).threads(256).submit()?.wait();
    assert!(refused.is_err(), "a store out of bounds");
    execute_encoded(&device, &library, &queue)?;

    let (status, text) = get(address, "/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    let families = parse(&text).unwrap();
    let of_kernel = |name| sum(&families, name, ("kernel", "watched"));
    assert_eq!(of_kernel("anymetal_dispatches_total"), 5.0);
    assert_eq!(of_kernel("anymetal_dispatch_duration_seconds_count"), 5.0);
    assert!(of_kernel("anymetal_dispatch_duration_seconds_sum") > 0.0);
    assert_eq!(sum(&families, "anymetal_errors_total", ("class", "caller")), 1.0);
    assert_eq!(sum(&families, "anymetal_submissions_total", ("outcome", "failed")), 1.0);
    let encoded = |name: &str| sum(&families, &format!("anymetal_encoded_{name}"), ("device", "cpu"));
    assert_eq!((encoded("executions_total"), encoded("launches_total")), (1.0, 2.0));
    assert_eq!((encoded("depth_count"), encoded("depth_sum")), (1.0, 1.0));
    assert!(encoded("duration_seconds_sum") > 0.0);
    assert_eq!(sum(&families, "anymetal_pool_buffers", ("device", "cpu")), 1.0);
    assert!(sum(&families, "anymetal_pool_bytes", ("state", "used")) >= 1024.0);
    assert!(sum(&families, "anymetal_memory_bytes", ("device", "cpu")) >= 2048.0);
    assert!(sum(&families, "anymetal_memory_limit_bytes", ("device", "cpu")) > 0.0);
    assert!(sum(&families, "anymetal_buffers", ("device", "cpu")) >= 2.0);
    assert!(sum(&families, "anymetal_streams", ("device", "cpu")) >= 1.0);
    assert!(sum(&families, "anymetal_pipeline_creation_duration_seconds_count", ("device", "cpu")) >= 1.0);
    assert!(families.iter().any(|family| family.name == "anymetal_pipeline_cache_misses_total"));

    assert_eq!(get(address, "/livez").0, "HTTP/1.1 200 OK");
    assert_eq!(get(address, "/readyz"), ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned()));
    telemetry.flush();
    assert!(get(address, "/healthz").1.contains("\"memory\""));
    let families = parse(&get(address, "/metrics").1).unwrap();
    let health = families.iter().find(|family| family.name == "anymetal_health_state").unwrap();
    let components: Vec<_> = health.samples.iter().filter_map(|sample| sample.label("component")).collect();
    assert!(components.contains(&"memory") && components.contains(&"breakers"), "{components:?}");
    assert!(telemetry.health().unwrap().capacity().unwrap().to_string().contains("\ncpu\n"));

    exporters.code.telemetry.prometheus = Some(address);
    anymetal_service::start_with(&exporters)?;
    let mut settings = Layers::default();
    settings.code.memory.pool_buffers = Some(7);
    // A file that asks for an exporter is no mistake where the service is started.
    let (path, observed) = (Path::new("observed.toml"), "[telemetry]\nprometheus = '127.0.0.1:9464'\n");
    settings.file = Some((path.to_owned(), Layer::from_toml(observed, path)?));
    let second = Device::with_settings(&settings)?;
    assert!(!second.is_same(&device));
    let notices = notice::take();
    assert!(
        !notices.iter().any(|notice| notice.kind == NoticeKind::Telemetry),
        "the first one goes on: {notices:?}"
    );
    Ok(())
}
