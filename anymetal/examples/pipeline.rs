//! Images through upload → blur → histogram → download, overlapped on three queues.
//!
//! Makes a folder of images, runs each through the device, compares every pixel and every count with plain
//! Rust, and says how long three queues took and how long one. Exits with 1 if anything is wrong.
//!
//! `cargo run --release -p anymetal --example pipeline [-- IMAGES]`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anymetal::{Buffer, Device, Pipeline, Queue, Submission};

const SIDE: usize = 256;
const PIXELS: usize = SIDE * SIDE;
/// Images on their way at the same time.
const WINDOW: usize = 6;

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;

kernel void blur(device const uchar* image, device uchar* blurred, constant uint& side,
                 uint2 at [[thread_position_in_grid]]) {
    uint sum = 8;
    for (int dy = -1; dy <= 1; dy++) {
        for (int dx = -1; dx <= 1; dx++) {
            uint x = uint(clamp(int(at.x) + dx, 0, int(side) - 1));
            uint y = uint(clamp(int(at.y) + dy, 0, int(side) - 1));
            sum += uint(image[y * side + x]) * (2 - abs(dx)) * (2 - abs(dy));
        }
    }
    blurred[at.y * side + at.x] = uchar(sum / 16);
}

kernel void histogram(device const uchar* image, device atomic_uint* counts, constant uint& pixels,
                      uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                      uint threads [[threads_per_grid]]) {
    threadgroup atomic_uint local[256];
    atomic_store_explicit(&local[t], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint at = i; at < pixels; at += threads) {
        atomic_fetch_add_explicit(&local[image[at]], 1, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint count = atomic_load_explicit(&local[t], memory_order_relaxed);
    atomic_fetch_add_explicit(&counts[t], count, memory_order_relaxed);
}
";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pipeline: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let count = std::env::args().nth(1).map_or(Ok(24), |count| count.parse())?;
    let folder = tempfile::tempdir()?;
    let images = make_images(folder.path(), count)?;
    let machine = Machine::new()?;
    let [mut one, mut three] = [Duration::MAX; 2];
    for _ in 0..3 {
        one = one.min(machine.process(&images, &vec![machine.queues[0].clone(); 3])?);
        three = three.min(machine.process(&images, &machine.queues)?);
    }
    let ratio = one.as_secs_f64() / three.as_secs_f64();
    println!("{count} images of {SIDE}×{SIDE}, every pixel and count right");
    println!(
        "three queues {three:.1?}, one queue {one:.1?}, {ratio:.2} times; pool: {:?}",
        machine.hit_rate()
    );
    Ok(())
}

/// The device with what every image needs.
struct Machine {
    device: Device,
    blur: Pipeline,
    histogram: Pipeline,
    /// For uploads, kernels and downloads.
    queues: Vec<Queue>,
}

/// One image on its way. Its buffers go back to the pool with it.
struct Job {
    source: PathBuf,
    pixels: Vec<u8>,
    blurred: Buffer<u8>,
    counts: Buffer<u32>,
    done: Submission,
}

impl Machine {
    fn new() -> Result<Self, Failure> {
        let device = Device::system_default()?;
        let library = device.library_from_source(SOURCE)?;
        let (blur, histogram) = (library.pipeline("blur")?, library.pipeline("histogram")?);
        let queue = |label: &str| device.create_queue(&device.queue_descriptor().label(label));
        let queues = ["upload", "compute", "download"].into_iter().map(queue).collect::<Result<_, _>>()?;
        Ok(Machine { device, blur, histogram, queues })
    }

    fn hit_rate(&self) -> String {
        format!("{:.0} % of acquisitions were reuse", self.device.memory().pool.hit_rate() * 100.0)
    }

    /// Runs all images through the queues, at most so many at once, and checks each.
    fn process(&self, images: &[PathBuf], queues: &[Queue]) -> Result<Duration, Failure> {
        let start = Instant::now();
        let mut jobs = std::collections::VecDeque::new();
        for image in images {
            if jobs.len() == WINDOW {
                jobs.pop_front().map_or(Ok(()), check)?;
            }
            jobs.push_back(self.submit(image, queues)?);
        }
        jobs.into_iter().try_for_each(check)?;
        Ok(start.elapsed())
    }

    /// Starts one image. Nothing here waits: what comes later names what comes before.
    fn submit(&self, image: &Path, queues: &[Queue]) -> Result<Job, Failure> {
        let [upload, compute, download] = queues else { return Err("three queues are needed".into()) };
        let pixels = load(image)?;
        let staging = self.device.acquire::<u8>(PIXELS)?;
        staging.write(&pixels)?;
        let [source, blurred, blurred_out] =
            [self.device.acquire::<u8>(PIXELS)?, self.device.acquire(PIXELS)?, self.device.acquire(PIXELS)?];
        let [counts, counts_out] = [self.device.acquire::<u32>(256)?, self.device.acquire(256)?];

        let mut commands = upload.command_buffer()?.label("upload");
        commands.blit_encoder().copy(&staging.view(0..PIXELS)?, &source.view(0..PIXELS)?)?;
        let uploaded = commands.commit()?;

        let mut commands = compute.command_buffer()?.label("blur and histogram").after(&uploaded);
        commands.blit_encoder().fill(&counts.view(0..256)?, 0)?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&self.blur);
        encoder.set_buffer(0, &source, 0)?;
        encoder.set_buffer(1, &blurred, 0)?;
        encoder.set_argument(2, SIDE);
        encoder.dispatch_threads((SIDE, SIDE), (32usize, 8usize))?;
        encoder.set_pipeline(&self.histogram);
        encoder.set_buffer(0, &blurred, 0)?;
        encoder.set_buffer(1, &counts, 0)?;
        encoder.set_argument(2, PIXELS);
        encoder.dispatch_threadgroups(4usize, 256usize)?;
        encoder.end_encoding();
        let computed = commands.commit()?;

        let mut commands = download.command_buffer()?.label("download").after(&computed);
        let mut encoder = commands.blit_encoder();
        encoder.copy(&blurred.view(0..PIXELS)?, &blurred_out.view(0..PIXELS)?)?;
        encoder.copy(&counts.view(0..256)?, &counts_out.view(0..256)?)?;
        encoder.end_encoding();
        let done = commands.commit()?;
        // The buffers in between go back now; the pool hands them out again once the device is done with
        // them.
        Ok(Job { source: image.to_owned(), pixels, blurred: blurred_out, counts: counts_out, done })
    }
}

/// Waits for an image and compares it with what plain Rust makes of it.
fn check(job: Job) -> Result<(), Failure> {
    job.done.wait()?;
    let (blurred, counts) = (job.blurred.read()?, job.counts.read()?);
    let expected = blurred_by_host(&job.pixels);
    let wrong = |what: &str| Err(format!("{}: wrong {what}", job.source.display()).into());
    if blurred != expected {
        return wrong("pixels");
    }
    let mut expected_counts = [0u32; 256];
    expected.iter().for_each(|pixel| expected_counts[usize::from(*pixel)] += 1);
    if counts != expected_counts {
        return wrong("counts");
    }
    save(&job.source.with_extension("blurred.png"), &blurred)
}

fn blurred_by_host(pixels: &[u8]) -> Vec<u8> {
    let at = |x: usize, dx: usize| (x + dx).saturating_sub(1).min(SIDE - 1);
    let pixel = |place: usize| {
        let (x, y) = (place % SIDE, place / SIDE);
        let around = (0..9usize).map(|tap| (tap % 3, tap / 3));
        let weigh = |(dx, dy): (usize, usize)| {
            let weight = [1, 2, 1][dx] * [1, 2, 1][dy];
            u32::from(pixels[at(y, dy) * SIDE + at(x, dx)]) * weight
        };
        ((8 + around.map(weigh).sum::<u32>()) / 16) as u8
    };
    (0..PIXELS).map(pixel).collect()
}

/// Rings, stripes and noise, different in each image.
fn make_images(folder: &Path, count: usize) -> Result<Vec<PathBuf>, Failure> {
    let image = |number: usize| {
        let mut random = number as u32 + 1;
        let pixel = |place: usize| {
            let (x, y) = ((place % SIDE) as i64 - 128, (place / SIDE) as i64 - 128);
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let rings = (x * x + y * y) / (40 + number as i64);
            (rings ^ (x * number as i64)) as u8 ^ (random >> 28) as u8
        };
        let path = folder.join(format!("{number:04}.png"));
        save(&path, &(0..PIXELS).map(pixel).collect::<Vec<u8>>())?;
        Ok(path)
    };
    (0..count).map(image).collect()
}

fn save(path: &Path, pixels: &[u8]) -> Result<(), Failure> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), SIDE as u32, SIDE as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(())
}

fn load(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut reader = png::Decoder::new(BufReader::new(File::open(path)?)).read_info()?;
    let mut pixels = vec![0; PIXELS];
    reader.next_frame(&mut pixels)?;
    Ok(pixels)
}
