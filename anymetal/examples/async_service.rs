//! A service: 1,000 requests at once under tokio, on the accounts of four tenants with quotas.
//!
//! Each request acquires buffers on its tenant's account, launches a kernel on its tenant's queue, awaits the
//! end, and compares the answer. Who is over quota is refused, backs off and tries again; a request that no
//! quota can ever hold is refused for good. Exits with 1 if an answer is wrong, a quota was exceeded or
//! something leaks.
//!
//! `cargo run --release -p anymetal --example async_service`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::error::Error as StdError;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anymetal::command::Priority;
use anymetal::error::ErrorClass;
use anymetal::tenant::{Tenant, TenantLimits, TimeShare};
use anymetal::{BufferDescriptor, Device, Error, Pipeline, Queue};

const REQUESTS: usize = 1000;

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;
kernel void answer(device const float* question, device float* answer, constant float& factor,
                   uint i [[thread_position_in_grid]]) {
    answer[i] = question[i] * factor + 1;
}
";

type Failure = Box<dyn StdError + Send + Sync>;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build();
    let outcome = runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(serve()));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("async_service: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A tenant with its queue, as a service keeps it.
struct Client {
    tenant: Tenant,
    limits: TenantLimits,
    queue: Queue,
    /// The most that was seen at once.
    most_submissions: AtomicUsize,
}

async fn serve() -> Result<(), Failure> {
    let device = Device::system_default()?;
    let pipeline = Arc::new(device.library_from_source(SOURCE)?.pipeline("answer")?);
    let clients = Arc::new(clients(&device)?);
    let start = Instant::now();
    let requests: Vec<_> = (0..REQUESTS)
        .map(|number| {
            let (device, pipeline, clients) = (device.clone(), Arc::clone(&pipeline), Arc::clone(&clients));
            tokio::spawn(async move {
                request(&device, &pipeline, &clients[number % clients.len()], number).await
            })
        })
        .collect();
    for request in requests {
        request.await??;
    }
    let elapsed = start.elapsed();
    never_fits(&device, &clients[0])?;
    report(&clients, elapsed)?;
    if !device.live_buffers().is_empty() {
        return Err("buffers were not given back".into());
    }
    Ok(())
}

fn clients(device: &Device) -> Result<Vec<Client>, Error> {
    let bytes = |kibibytes: u64| kibibytes << 10;
    let share = TimeShare { time: Duration::from_millis(500), per: Duration::from_secs(1) };
    let all = [
        // Little memory: its requests take turns.
        ("small", TenantLimits::new().bytes(bytes(64)), Priority::Normal),
        // Few submissions that are not done.
        ("few", TenantLimits::new().submissions(8), Priority::Normal),
        // Half of the device's time, and no more than two at a time.
        ("fair", TenantLimits::new().in_flight(2).device_time(share), Priority::Normal),
        ("urgent", TenantLimits::new().buffers(200), Priority::High),
    ];
    let client = |(name, limits, priority): (&str, TenantLimits, Priority)| {
        let tenant = device.tenant(name, limits);
        let queue = device.create_queue(
            &device.queue_descriptor().label(name).tenant(Some(tenant.clone())).priority(priority),
        )?;
        Ok(Client { tenant, limits, queue, most_submissions: AtomicUsize::new(0) })
    };
    all.into_iter().map(client).collect()
}

/// One request: tries until its tenant's quota allows it.
async fn request(
    device: &Device,
    pipeline: &Pipeline,
    client: &Client,
    number: usize,
) -> Result<(), Failure> {
    let length = 256 + number % 1000;
    let question: Vec<f32> = (0..length).map(|at| (at + number) as f32).collect();
    let factor = 1.0 + (number % 7) as f32;
    let mut pause = Duration::from_micros(100);
    let answer = loop {
        match attempt(device, pipeline, client, &question, factor).await {
            Ok(answer) => break answer,
            Err(error) if error.class() == ErrorClass::Exhausted => tokio::time::sleep(pause).await,
            Err(error) => return Err(error.into()),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let right = answer.iter().zip(&question).all(|(answer, question)| *answer == question * factor + 1.0);
    if right && answer.len() == length {
        Ok(())
    } else {
        Err(format!("request {number}: wrong answer").into())
    }
}

async fn attempt(
    device: &Device,
    pipeline: &Pipeline,
    client: &Client,
    question: &[f32],
    factor: f32,
) -> Result<Vec<f32>, Error> {
    let acquire = || {
        device.create_buffer(
            &BufferDescriptor::<f32>::uninitialized(question.len()).tenant(&client.tenant).pooled(),
        )
    };
    let (input, output) = (acquire()?, acquire()?);
    input.write(question)?;
    let launch = client.queue.launch(pipeline).arg(&input).arg(&output).arg(factor);
    let submission = launch.threads(question.len()).submit()?;
    client.most_submissions.fetch_max(client.tenant.usage().submissions as usize, Ordering::Relaxed);
    submission.await?;
    output.read()
}

/// More than the whole quota is refused however long one waits, and nothing of it stays.
fn never_fits(device: &Device, client: &Client) -> Result<(), Failure> {
    let before = client.tenant.usage();
    let refused =
        device.create_buffer(&BufferDescriptor::<u8>::uninitialized(1 << 20).tenant(&client.tenant).pooled());
    let after = client.tenant.usage();
    match refused {
        Err(Error::Memory(error)) if (after.bytes, after.buffers) == (before.bytes, before.buffers) => {
            println!("refused for good: {error}");
            Ok(())
        }
        other => Err(format!("1 MiB on an account of 64 KiB: {other:?}").into()),
    }
}

fn report(clients: &[Client], elapsed: Duration) -> Result<(), Failure> {
    println!("{REQUESTS} requests in {elapsed:.1?}, every answer right");
    for Client { tenant, limits, most_submissions, .. } in clients {
        let (usage, most) = (tenant.usage(), most_submissions.load(Ordering::Relaxed) as u64);
        println!("{:8} {} refusals, device time {:.1?}", tenant.name(), usage.refusals, usage.device_time);
        if limits.submissions.is_some_and(|limit| most > limit) {
            return Err(format!("{}: {most} submissions at once", tenant.name()).into());
        }
        if (usage.bytes, usage.buffers, usage.submissions, usage.in_flight) != (0, 0, 0, 0) {
            return Err(format!("{}: something was not given back: {usage:?}", tenant.name()).into());
        }
    }
    let refused = clients[..2].iter().all(|client| client.tenant.usage().refusals > 0);
    if refused { Ok(()) } else { Err("the quotas of `small` and `few` were never reached".into()) }
}
