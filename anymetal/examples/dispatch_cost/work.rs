//! The dispatches that are measured.

use std::io::{BufRead as _, Write as _};
use std::time::Instant;

use anymetal::{Buffer, Device, Error, Pipeline, Queue};

/// Measures once for each line of the input.
pub(crate) fn measure_lines(device: &Device) -> Result<(), Box<dyn std::error::Error>> {
    let work = Work::new(device)?;
    for line in std::io::stdin().lock().lines() {
        let _next = line?;
        let figures: Vec<String> = work.measure()?.iter().map(f64::to_string).collect();
        println!("{}", figures.join(" "));
        std::io::stdout().flush()?;
    }
    Ok(())
}

const SOURCE: &str = "
kernel void empty() {}
kernel void scale(device const float* x, device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i];
}
";
const THREADS: usize = 4096;
/// Dispatches of one measurement.
const SINGLE: usize = 4000;
const BATCHES: usize = 60;
const IN_A_BATCH: usize = 100;

struct Work {
    queue: Queue,
    empty: Pipeline,
    scale: Pipeline,
    x: Buffer<f32>,
    y: Buffer<f32>,
}

impl Work {
    fn new(device: &Device) -> Result<Self, Error> {
        let library = device.library_from_source(SOURCE)?;
        Ok(Work {
            queue: device.queue()?,
            empty: library.pipeline("empty")?,
            scale: library.pipeline("scale")?,
            x: device.buffer(&[1.0; THREADS])?,
            y: device.buffer_zeroed(THREADS)?,
        })
    }

    /// Nanoseconds for each dispatch: empty, of 4096 threads, and of 4096 threads in a command buffer of
    /// 100. Each is measured by the clock and by the submitting thread's processor time, which a busy
    /// machine changes less.
    fn measure(&self) -> Result<[f64; 6], Error> {
        let [empty, empty_processor] = each(SINGLE, || {
            self.queue.launch(&self.empty).threads(32).group_size(32).submit()?.wait().map(drop)
        })?;
        let [scale, scale_processor] = each(SINGLE, || {
            let launch = self.queue.launch(&self.scale).arg(&self.x).arg(&self.y).arg(2.0f32);
            launch.threads(THREADS).group_size(256).submit()?.wait().map(drop)
        })?;
        let batched = each(BATCHES, || self.batch())?.map(|whole| whole / IN_A_BATCH as f64);
        Ok([empty, empty_processor, scale, scale_processor, batched[0], batched[1]])
    }

    fn batch(&self) -> Result<(), Error> {
        let mut commands = self.queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&self.scale);
        encoder.set_buffer(0, &self.x, 0)?;
        encoder.set_buffer(1, &self.y, 0)?;
        encoder.set_argument(2, 2.0f32);
        for _ in 0..IN_A_BATCH {
            encoder.dispatch_threads(THREADS, 256)?;
        }
        encoder.end_encoding();
        commands.commit()?.wait().map(drop)
    }
}

/// Nanoseconds for each, by the clock and on a processor.
fn each(count: usize, work: impl Fn() -> Result<(), Error>) -> Result<[f64; 2], Error> {
    let (start, on_processor) = (Instant::now(), processor_ns());
    (0..count).try_for_each(|_| work())?;
    let spent = processor_ns() - on_processor;
    Ok([start.elapsed().as_nanos() as f64, spent].map(|nanoseconds| nanoseconds / count as f64))
}

/// The time that this thread has been on a processor, in nanoseconds; not a number where the system does not
/// tell.
fn processor_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(f64::NAN)
}
