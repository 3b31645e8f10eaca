//! The device over a stand-in for the driver: order, lifetimes, parameters, errors.

mod code;
#[cfg(feature = "nccl")]
mod collectives;
mod cooperative;
mod encoded;
mod graphs;
mod links;
mod pointers;
mod products;
mod stopping;
mod streams;

use std::sync::Arc;

use anymetal_hal::artifact::{
    Access, AccessKind, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ArtifactCode, ArtifactTarget,
    ElementType, FaultSite, KernelInfo, ScalarType,
};
use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, Command, CommandList, Dispatch, Grid,
};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::HeapDescriptor;
use anymetal_hal::host_pages::HostPages;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

use crate::driver::{DriverError, KernelLaunch};
use crate::stand_in::{Kernel, StandIn};
use crate::{NvidiaDevice, NvidiaOptions};

struct Bench {
    driver: Arc<StandIn>,
    device: NvidiaDevice,
    queue: Arc<dyn Queue>,
}

impl Bench {
    fn new(kernel: Kernel) -> Self {
        Self::with(kernel, &NvidiaOptions::default(), SystemClock::shared())
    }

    fn with(kernel: Kernel, options: &NvidiaOptions, clock: Arc<dyn Clock>) -> Self {
        let driver = Arc::new(StandIn::new(kernel));
        let shared: Arc<dyn crate::driver::Driver> = Arc::<StandIn>::clone(&driver);
        let device = NvidiaDevice::with_driver("nvidia:0".to_owned(), shared, options, clock);
        let queue = device.queue(&QueueDescriptor::default()).unwrap();
        Bench { driver, device, queue }
    }

    fn buffer(&self, values: &[u32]) -> Arc<dyn Buffer> {
        let buffer = self.device.buffer(&BufferDescriptor::shared(values.len() as u64 * 4)).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        buffer.write(0, &bytes).unwrap();
        buffer
    }

    fn pipeline(&self) -> Arc<dyn Pipeline> {
        self.device.pipeline(&artifact("fine"), "twice").unwrap()
    }

    fn run(&self, commands: Vec<Command>) -> Result<(), DeviceError> {
        let submission = CommandList::new(commands);
        self.queue.submit(submission)?.wait().map(drop)
    }
}

fn values(buffer: &Arc<dyn Buffer>) -> Vec<u32> {
    let mut bytes = vec![0; buffer.length() as usize];
    buffer.read(0, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// A kernel `twice(device uint* x, constant uint& by)`.
fn artifact(ptx: &str) -> Arc<Artifact> {
    let argument = |index: u32, name: &str, is_reference: bool| {
        ArgumentInfo::new(ArgumentKind::Buffer, index, name.to_owned())
            .address_space(if is_reference { AddressSpace::Constant } else { AddressSpace::Device })
            .type_name("uint")
            .element(ElementType::Scalar(ScalarType::U32))
            .element_size(4)
            .element_align(4)
            .min_bytes(if is_reference { 4 } else { 0 })
            .is_reference(is_reference)
            .access(if is_reference { Access::Read } else { Access::ReadWrite })
            .slot(index)
    };
    let mut kernel = KernelInfo::new("twice", "entry");
    kernel.arguments = vec![argument(0, "x", false), argument(1, "by", true)];
    let site = FaultSite::new("twice", AccessKind::Store)
        .argument(Some(0))
        .argument_name("x")
        .access_bytes(4)
        .element_bytes(4)
        .file("twice.metal")
        .line(3)
        .column(5);
    Arc::new(
        Artifact::new(ArtifactTarget::Nvidia { sm: 80 }, ArtifactCode::Ptx(Arc::from(ptx)), vec![kernel])
            .fault_sites(vec![site]),
    )
}

fn dispatch(pipeline: &Arc<dyn Pipeline>, x: &Arc<dyn Buffer>, by: u32, threads: u32) -> Command {
    Command::Dispatch(over(Grid::Threads([threads, 1, 1]), pipeline, x, by))
}

fn over(grid: Grid, pipeline: &Arc<dyn Pipeline>, x: &Arc<dyn Buffer>, by: u32) -> Dispatch {
    let buffer = BoundResource::Buffer { buffer: Arc::clone(x), offset: 0, length: None };
    Dispatch::new(Arc::clone(pipeline), grid, [32, 1, 1]).with_bindings(vec![
        Binding::new(0, buffer),
        Binding::new(1, BoundResource::Bytes(by.to_le_bytes().to_vec())),
    ])
}

fn word(parameters: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(parameters[at..at + 8].try_into().unwrap())
}

/// Multiplies each element that a thread has; a thread beyond the buffer records a fault.
fn multiply(launch: &KernelLaunch<'_>, memory: &mut dyn FnMut(u64) -> *mut u8) {
    let p = launch.parameters;
    let (x, bytes, by, record) = (word(p, 0), word(p, 8), word(p, 16), word(p, 32));
    assert_eq!(word(p, 24), 4, "inline bytes have their length");
    assert_eq!(p.len(), 60);
    let threads = u32::from_le_bytes(p[48..52].try_into().unwrap());
    // SAFETY: the addresses are those of the test's buffers and of the queue's memory.
    unsafe {
        let by = memory(by).cast::<u32>().read();
        for thread in 0..u64::from(threads) {
            if thread * 4 + 4 > bytes {
                let record = memory(record);
                record.cast::<u32>().write(1);
                record.add(8).cast::<u64>().write(thread * 4);
                record.add(16).cast::<u64>().write(bytes);
                record.add(24).cast::<u64>().write(thread / 32);
                record.add(32).cast::<u32>().write((thread % 32) as u32);
                memory(record.add(48).cast::<u64>().read()).cast::<u32>().write(1);
                return;
            }
            let element = memory(x + thread * 4).cast::<u32>();
            element.write(element.read() * by);
        }
    }
}

#[test]
fn commands_run_in_order_and_see_each_other() {
    let bench = Bench::new(multiply);
    let (pipeline, x, y) = (bench.pipeline(), bench.buffer(&[1, 2, 3]), bench.buffer(&[0; 3]));
    let copy = Command::Copy(BufferCopy::new(Arc::clone(&x), 4..12, Arc::clone(&y), 0).unwrap());
    let fill = Command::Fill(BufferFill::new(Arc::clone(&y), 8..12, 1).unwrap());
    let commands = vec![dispatch(&pipeline, &x, 5, 3), copy, fill, dispatch(&pipeline, &y, 2, 2)];
    bench.run(commands).unwrap();
    let calls = bench.driver.calls(&["launch", "copy", "download"]);
    let launch = "launch [1, 1, 1] [32, 1, 1] 0";
    assert_eq!(calls, [launch, "copy 8", launch]);
    assert_eq!((values(&x), values(&y)), (vec![5, 10, 15], vec![20, 30, 0x0101_0101]));
}

#[test]
fn a_fault_names_the_place_and_is_forgotten() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1; 40]));
    let error = bench.run(vec![dispatch(&pipeline, &x, 1, 50)]).unwrap_err();
    let DeviceError::OutOfBounds(fault) = error else { panic!("{error:?}") };
    assert_eq!((fault.element_index, fault.bound_elements, fault.line), (Some(40), Some(40), 3));
    assert_eq!((fault.group, fault.thread), ([1, 0, 0], [8, 0, 0]));
    bench.run(vec![dispatch(&pipeline, &x, 1, 40)]).unwrap();
}

#[test]
fn memory_lives_as_long_as_work_and_handles() {
    let bench = Bench::new(multiply);
    let own = bench.driver.live_allocations();
    let private = BufferDescriptor::shared(64).storage_mode(StorageMode::Private);
    let buffer = bench.device.buffer(&private).unwrap();
    assert_eq!((bench.driver.live_allocations(), bench.device.allocated_bytes()), (own + 1, 64));
    assert!(matches!(buffer.read(0, &mut [0]), Err(DeviceError::Unsupported { .. })));
    assert!(buffer.contents().is_none());
    drop(buffer);
    let heap = bench.device.heap(&HeapDescriptor::new(256)).unwrap();
    let first = heap.buffer(&BufferDescriptor::shared(64)).unwrap();
    let second = heap.buffer(&BufferDescriptor::shared(64)).unwrap();
    first.write(0, &[7; 64]).unwrap();
    assert_eq!(values(&second), [0; 16]);
    drop(first);
    assert_eq!(values(&heap.buffer(&BufferDescriptor::shared(64)).unwrap()), [0; 16], "it is zeroed again");
    drop((heap, second));
    assert_eq!((bench.driver.live_allocations(), bench.device.allocated_bytes()), (own, 0));
}

#[test]
fn what_the_card_cannot_do_is_refused_before_it_runs() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let wide = over(Grid::Threadgroups([1, 70_000, 1]), &pipeline, &x, 1);
    assert!(matches!(bench.run(vec![Command::Dispatch(wide)]), Err(DeviceError::GridTooLarge { .. })));
    let broken = bench.device.pipeline(&artifact("broken"), "twice").map(drop).unwrap_err();
    assert!(matches!(&broken, DeviceError::UnloadableCode { reason, .. } if reason == "line 1: broken"));
    let mut newer = (*artifact("fine")).clone();
    newer.target = ArtifactTarget::Nvidia { sm: 120 };
    let newer = bench.device.pipeline(&Arc::new(newer), "twice").map(drop).unwrap_err();
    assert!(newer.to_string().contains("compiled for sm_120, and the card is sm_90"), "{newer}");
    let other = Bench::new(multiply);
    let foreign = bench.run(vec![dispatch(&pipeline, &other.buffer(&[1]), 1, 1)]);
    assert!(matches!(foreign, Err(DeviceError::WrongDevice { what: "buffer", .. })));
}

#[test]
fn a_driver_that_has_ended_loses_the_device() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.driver.fail(DriverError::Lost("an illegal address".to_owned()));
    let lost = bench.run(vec![dispatch(&pipeline, &x, 1, 1)]).unwrap_err();
    assert!(
        matches!(&lost, DeviceError::DeviceLost { reason, .. } if reason == "an illegal address"),
        "{lost}"
    );
    assert!(matches!(bench.device.buffer(&BufferDescriptor::shared(4)), Err(DeviceError::DeviceLost { .. })));
}

#[test]
fn an_empty_grid_and_an_empty_command_buffer_end_well() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.run(Vec::new()).unwrap();
    bench.run(vec![dispatch(&pipeline, &x, 1, 0)]).unwrap();
    assert_eq!(bench.driver.calls(&["launch"]), Vec::<String>::new());
}

#[test]
fn there_are_devices_or_a_reason_why_not() {
    assert_eq!(NvidiaDevice::why_none().is_none(), NvidiaDevice::count() > 0);
    let beyond = NvidiaDevice::open(NvidiaDevice::count(), &NvidiaOptions::default());
    assert!(matches!(beyond, Err(DeviceError::DeviceLost { .. })));
}

#[test]
fn a_buffer_whose_address_is_asked_for_moves_to_the_host() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1, 2]));
    assert_eq!(bench.driver.calls(&["allocate 8 Device"]).len(), 1);
    bench.run(vec![dispatch(&pipeline, &x, 3, 2)]).unwrap();
    let host = x.contents().unwrap();
    assert_eq!(bench.driver.calls(&["allocate 8 Host", "copy 8"]).len(), 2);
    // SAFETY: the buffer is alive, and no work uses it.
    unsafe { host.cast::<u32>().write(7) };
    bench.run(vec![dispatch(&pipeline, &x, 2, 2)]).unwrap();
    assert_eq!((values(&x), x.contents()), (vec![14, 12], Some(host)));
}

#[test]
fn mappings_show_the_bytes_and_write_them_back() {
    let bench = Bench::new(multiply);
    let x = bench.buffer(&[1, 2, 3]);
    let mut mapping = Arc::clone(&x).map(4..12, MapMode::Write).unwrap();
    assert_eq!(mapping.bytes(), [2, 0, 0, 0, 3, 0, 0, 0]);
    mapping.bytes_mut().unwrap()[0] = 9;
    let refused = bench.run(vec![dispatch(&bench.pipeline(), &x, 1, 1)]);
    assert!(matches!(refused, Err(DeviceError::BufferMapped { .. })));
    drop(mapping);
    assert_eq!(values(&x), [1, 9, 3]);
    let mut mapping = Arc::clone(&x).map(0..4, MapMode::Read).unwrap();
    assert!(mapping.bytes_mut().is_none());
}

#[test]
fn imported_memory_is_used_where_it_is() {
    let bench = Bench::new(multiply);
    let own = bench.driver.live_allocations();
    let mut pages = HostPages::zeroed(8).unwrap();
    pages.write(0, &[3, 0, 0, 0, 4]).unwrap();
    let start = pages.start();
    let x = bench.device.import(pages, "weights").unwrap();
    assert_eq!((x.contents(), x.label(), bench.device.allocated_bytes()), (Some(start), "weights", 0));
    bench.run(vec![dispatch(&bench.pipeline(), &x, 5, 2)]).unwrap();
    assert_eq!(values(&x), [15, 20]);
    drop(x);
    assert_eq!(bench.driver.live_allocations(), own);
    let refused = bench.device.import(HostPages::zeroed(0).unwrap(), "").unwrap_err();
    assert!(matches!(refused.error, DeviceError::Unsupported { .. }));
}
