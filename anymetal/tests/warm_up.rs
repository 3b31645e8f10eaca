//! Compiling ahead: no launch compiles what was warmed up, failures are told, and nothing waits for another
//! size.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use anymetal::config::{Layers, Size};
use anymetal::error::DeviceError;
use anymetal::memory::{CacheLimit, CacheUsage};
use anymetal::notice::{self, NoticeKind};
use anymetal::testing::NullDevice;
use anymetal::{Device, Error, Pipeline, PipelineDescriptor};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::Command;
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::pipeline::Pipeline as HalPipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

/// Runs nothing; counts the pipelines that are made, and makes some fail or wait.
#[derive(Debug, Default)]
struct Counting {
    null: NullDevice,
    made: AtomicUsize,
    failures: AtomicUsize,
    gate: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

impl HalDevice for Counting {
    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn HalPipeline>, DeviceError> {
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((arrived, go_on)) = gate {
            arrived.send(()).unwrap();
            go_on.recv().unwrap();
        }
        if self.failures.load(Ordering::SeqCst) > 0 {
            self.failures.fetch_sub(1, Ordering::SeqCst);
            return Err(DeviceError::OutOfMemory { requested: 1 });
        }
        self.made.fetch_add(1, Ordering::SeqCst);
        self.null.pipeline(artifact, kernel)
    }

    fn name(&self) -> &str {
        self.null.name()
    }

    fn capabilities(&self) -> &Capabilities {
        self.null.capabilities()
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.null.buffer(descriptor)
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        self.null.queue(descriptor)
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.null.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.null.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.null.heap(descriptor)
    }

    fn indirect_command_buffer(
        &self,
        commands: Vec<Command>,
    ) -> Result<Arc<dyn IndirectCommandBuffer>, DeviceError> {
        self.null.indirect_command_buffer(commands)
    }

    fn allocated_bytes(&self) -> u64 {
        self.null.allocated_bytes()
    }
}

const SOURCE: &str = "kernel void set(device uint* y, uint2 i [[thread_position_in_grid]]) { y[i.x] = i.y; }";

fn device() -> (Arc<Counting>, Device) {
    let counting = Arc::new(Counting::default());
    (counting.clone(), Device::from_hal(counting))
}

fn launch(device: &Device, pipeline: &Pipeline, threads: usize, size: usize) -> Result<(), Error> {
    let y = device.acquire::<u32>(threads)?;
    device.queue()?.launch(pipeline).arg(&y).threads(threads).group_size(size).submit()?.wait().map(drop)
}

#[test]
fn no_launch_compiles_what_was_warmed_up() -> Result<(), Error> {
    let (counting, device) = device();
    let made = || counting.made.load(Ordering::SeqCst);
    let set = device.library_from_source(SOURCE)?.pipeline("set")?;
    assert_eq!(made(), 0, "nothing is known of the size yet");
    set.warm_up([64, 32])?;
    set.warm_up([(8, 8)])?;
    assert_eq!(made(), 3);
    for threads in [64, 640, 100, 1] {
        launch(&device, &set, threads, 64)?;
        launch(&device, &set, threads, 32)?;
    }
    assert_eq!(made(), 3, "with an edge of the grid or without");
    launch(&device, &set, 128, 128)?;
    assert_eq!(made(), 4);
    Ok(())
}

#[test]
fn sizes_that_cannot_be_are_told() -> Result<(), Error> {
    let (_, device) = device();
    let set = device.library_from_source(SOURCE)?.pipeline("set")?;
    let too_large = set.warm_up([(64, 64)]).unwrap_err();
    assert!(matches!(too_large, Error::Device(DeviceError::GroupTooLarge { .. })), "{too_large}");
    assert!(set.warm_up([0]).is_err() && set.warm_up([u64::MAX]).is_err());
    set.warm_up([1, 2, 3, 4, 5, 6, 7, 8])?;
    let ninth = Error::TooManyGroupSizes { kernel: "set".into(), limit: 8 };
    assert_eq!(set.warm_up([9]), Err(ninth));
    launch(&device, &set, 9, 9)?;
    assert_eq!(set.warm_up([1, 8]), Ok(()), "those that are there are no more");
    Ok(())
}

#[test]
fn a_failed_specialisation_is_told_and_can_be_tried_again() -> Result<(), Error> {
    let (counting, device) = device();
    let library = device.library_from_source(SOURCE)?;
    let set = library.pipeline(PipelineDescriptor::new("set").label("setter"))?;
    counting.failures.store(1, Ordering::SeqCst);
    launch(&device, &set, 64, 64)?;
    let fallbacks = set.fallbacks();
    assert_eq!(fallbacks.len(), 1);
    assert_eq!(fallbacks[0].group_size, [64, 1, 1]);
    assert_eq!(fallbacks[0].error, Error::Device(DeviceError::OutOfMemory { requested: 1 }));
    let told = |notice: &anymetal::notice::Notice| {
        notice.kind == NoticeKind::NotSpecialised && notice.message.starts_with("kernel `setter` has no code")
    };
    assert_eq!(notice::take().iter().filter(|notice| told(notice)).count(), 1);
    launch(&device, &set, 64, 64)?;
    assert_eq!(set.fallbacks().len(), 1, "no launch tries again");

    counting.failures.store(1, Ordering::SeqCst);
    assert!(set.warm_up([64]).is_err(), "who warms up is told");
    set.warm_up([64])?;
    assert_eq!(set.fallbacks(), []);
    Ok(())
}

#[test]
fn launches_with_other_sizes_do_not_wait_for_a_compilation() -> Result<(), Error> {
    let (counting, device) = device();
    let set = device.library_from_source(SOURCE)?.pipeline("set")?;
    set.warm_up([32])?;
    let ((arrived, has_arrived), (go_on, may_go_on)) = (channel(), channel());
    *counting.gate.lock().unwrap() = Some((arrived, may_go_on));
    let warm_up = set.warm_up_async([64]);
    has_arrived.recv().unwrap();
    launch(&device, &set, 32, 32)?;
    launch(&device, &set, 16, 16)?;
    assert!(!warm_up.is_done());
    go_on.send(()).unwrap();
    warm_up.wait()
}

#[test]
fn pipelines_are_made_in_the_background() -> Result<(), Error> {
    let (counting, device) = device();
    let library = device.library_from_source(SOURCE)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let descriptor = PipelineDescriptor::new("set").group_sizes([64, 128]);
    let set = runtime.block_on(library.pipeline_async(descriptor))?;
    assert_eq!((set.label(), counting.made.load(Ordering::SeqCst)), ("set", 2));
    launch(&device, &set, 100, 64)?;
    let unknown = library.pipeline_async("sot").wait().unwrap_err();
    assert!(unknown.to_string().contains("did you mean `set`?"), "{unknown}");
    Ok(())
}

/// A device of its own that keeps that much code for threadgroup sizes.
fn keeping(bytes: u64) -> Result<Device, Error> {
    let mut settings = Layers::default();
    settings.code.memory.code_bytes = Some(Size(bytes));
    Device::with_settings(&settings)
}

fn kept_code(device: &Device) -> CacheUsage {
    let mut usage = device.cache_usage();
    usage.retain(|usage| usage.name == "code for threadgroup sizes");
    assert_eq!(usage.len(), 1, "{usage:?}");
    usage.remove(0)
}

#[test]
fn the_least_recently_used_code_is_evicted() -> Result<(), Error> {
    let bytes = {
        let device = keeping(1 << 30)?;
        let library = device.library_from_source(SOURCE)?;
        let (set, same) = (library.pipeline("set")?, library.pipeline("set")?);
        set.warm_up([32, 64, 128])?;
        let usage = kept_code(&device);
        assert_eq!((usage.entries, usage.limit), (3, CacheLimit::Bytes(1 << 30)));
        same.warm_up([32, 64, 128])?;
        assert_eq!(kept_code(&device), usage, "pipelines of one artifact share its code");
        drop((set, same));
        assert_eq!(kept_code(&device).entries, 0);
        usage.bytes
    };
    let device = keeping(bytes)?;
    let library = device.library_from_source(SOURCE)?;
    let (set, other) = (library.pipeline("set")?, library.pipeline("set")?);
    set.warm_up([32, 64, 128])?;
    launch(&device, &set, 64, 32)?;
    other.warm_up([256])?;
    let sizes = set.compiled_group_sizes();
    assert!(sizes.contains(&[32, 1, 1]) && !sizes.contains(&[64, 1, 1]), "{sizes:?}");
    assert!(kept_code(&device).bytes <= bytes);
    launch(&device, &set, 64, 64)?;
    assert!(set.compiled_group_sizes().contains(&[64, 1, 1]), "the launch compiled it again");
    Ok(())
}

/// Code in rows of SIMD-groups does not run a grid that is narrower than one; code in the threadgroups of the
/// launch runs grids of any width.
#[test]
fn a_narrow_grid_runs_what_there_is() -> Result<(), Error> {
    let device = keeping(1 << 30)?;
    let source = "#include <metal_stdlib>
        using namespace metal;
        kernel void set(device int* out [[buffer(0)]], uint2 id [[thread_position_in_grid]]) {
            out[id.y * 64 + id.x] = 1;
        }
        kernel void share(device int* out [[buffer(0)]], uint2 id [[thread_position_in_grid]],
                          uint index [[thread_index_in_threadgroup]]) {
            threadgroup int shared[64];
            shared[index] = 1;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            out[id.y * 64 + id.x] = shared[63 - index];
        }";
    let library = device.library_from_source(source)?;
    for (name, entries) in [("set", 2), ("share", 1)] {
        let pipeline = library.pipeline(name)?;
        for width in [64, 8] {
            let out = device.buffer(&[0i32; 64 * 64])?;
            let queue = device.queue()?;
            queue.launch(&pipeline).arg(&out).threads((width, 64)).group_size((8, 8)).submit()?.wait()?;
            assert_eq!(out.read()?.iter().sum::<i32>(), width * 64);
        }
        assert_eq!(kept_code(&device).entries, entries, "{name}");
    }
    Ok(())
}

/// Code that alone is beyond the bound runs, and is the only code that is kept.
#[test]
fn the_newest_code_stays() -> Result<(), Error> {
    let device = keeping(0)?;
    let set = device.library_from_source(SOURCE)?.pipeline("set")?;
    for size in [64, 32, 64] {
        launch(&device, &set, 100, size)?;
        assert_eq!(set.compiled_group_sizes(), [[size as u32, 1, 1]]);
    }
    Ok(())
}
