//! A driver without a card: memory in the host, a log of calls, kernels that tests write in Rust.
//!
//! Owns [`StandIn`]. Work runs when it is put into a stream, so streams are always idle, unless a test says
//! that a kernel does not end. What a capture takes runs when its graph is launched.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal_hal::artifact::ScalarType;
use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};

use crate::driver::{Allocation, Card, Driver, DriverError, KernelLaunch, MemoryPlacement, Peer};

/// The threadgroups that the stand-in has room for at once.
pub(crate) const RESIDENT_GROUPS: u64 = 8;

/// What a launch does: its parameters and the memory, by address.
pub(crate) type Kernel = fn(&KernelLaunch<'_>, &mut dyn FnMut(u64) -> *mut u8);

/// See the module's documentation.
pub(crate) struct StandIn {
    card: Card,
    number: i32,
    kernel: Kernel,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    log: Vec<String>,
    live: BTreeMap<u64, usize>,
    last: u64,
    error: Option<DriverError>,
    /// A kernel goes on until the stop flag of the first allocation is set.
    hangs: bool,
    /// And then, too.
    never_stops: bool,
    /// While it goes on, calls that ask whether it has ended do not return.
    hangs_calls: bool,
    first: u64,
    /// What the stream that captures has taken.
    captured: Option<(u64, Vec<StreamWork>)>,
    graphs: BTreeMap<u64, Vec<StreamWork>>,
    fail_after: Option<usize>,
    handles: isize,
    reaches_peers: bool,
    /// Why it multiplies no matrices.
    lacks_products: Option<String>,
    /// The host does not reach managed memory.
    lacks_managed: bool,
}

/// Work of a stream.
#[derive(Clone)]
enum StreamWork {
    Launch {
        groups: [u32; 3],
        group_size: [u32; 3],
        shared_bytes: u32,
        cooperative: bool,
        function: u64,
        parameters: Vec<u8>,
    },
    Copy {
        to: u64,
        from: u64,
        bytes: u64,
    },
    Fill {
        to: u64,
        value: u8,
        bytes: u64,
    },
    Multiply(MatrixProduct<u64>),
}

impl StandIn {
    pub(crate) fn new(kernel: Kernel) -> Self {
        let card = Card {
            name: "a stand-in".to_owned(),
            sm: 90,
            memory_bytes: 1 << 30,
            multiprocessors: 1,
            max_threads_per_group: 1024,
            max_group_size: [1024, 1024, 64],
            max_shared_bytes: 232_448,
            driver_version: 12_040,
        };
        static MADE: AtomicI32 = AtomicI32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        StandIn { card, number, kernel, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, call: impl Into<String>) -> Result<MutexGuard<'_, State>, DriverError> {
        let mut state = self.lock();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if let Some(left) = &mut state.fail_after {
            if *left == 0 {
                return Err(DriverError::OutOfMemory);
            }
            *left -= 1;
        }
        state.log.push(call.into());
        Ok(state)
    }

    /// The calls so far.
    pub(crate) fn all_calls(&self) -> Vec<String> {
        self.lock().log.clone()
    }

    /// That many calls succeed, those that follow find no memory.
    pub(crate) fn fail_after(&self, calls: Option<usize>) {
        self.lock().fail_after = calls;
    }

    /// Streams, events and graphs that were not given back.
    pub(crate) fn live_handles(&self) -> isize {
        self.lock().handles
    }

    fn handle(&self, call: impl Into<String>) -> Result<u64, DriverError> {
        let mut state = self.log(call)?;
        state.last += 1;
        state.handles += 1;
        Ok(state.last)
    }

    /// Whether all work has ended, which is when no kernel hangs.
    fn looks_done(&self, call: &str) -> Result<bool, DriverError> {
        let mut state = self.log(call)?;
        if state.hangs && !state.never_stops {
            // SAFETY: the first allocation is the queue's, which begins with the stop flag.
            let flag = unsafe { AtomicU32::from_ptr(pointer(state.first).cast()) };
            if state.hangs_calls {
                // Others may look at the log meanwhile.
                drop(state);
                while flag.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
                state = self.lock();
            }
            state.hangs = flag.load(Ordering::Acquire) == 0;
        }
        Ok(!state.hangs)
    }

    /// Runs work, or keeps it if its stream captures.
    fn work(&self, stream: u64, work: StreamWork) {
        if let Some((captures, list)) = &mut self.lock().captured
            && *captures == stream
        {
            return list.push(work);
        }
        self.run(&work);
    }

    fn run(&self, work: &StreamWork) {
        match work {
            StreamWork::Launch { groups, group_size, shared_bytes, cooperative, function, parameters } => {
                let (groups, group_size, shared_bytes) = (*groups, *group_size, *shared_bytes);
                let (function, cooperative) = (*function, *cooperative);
                let launch =
                    KernelLaunch { function, groups, group_size, shared_bytes, cooperative, parameters };
                (self.kernel)(&launch, &mut |address| pointer(address));
            }
            // SAFETY: the device checked both ranges.
            StreamWork::Copy { to, from, bytes } => unsafe {
                pointer(*from).copy_to(pointer(*to), *bytes as usize);
            },
            StreamWork::Multiply(product) => multiply(product),
            // SAFETY: the device checked the range.
            StreamWork::Fill { to, value, bytes } => unsafe {
                pointer(*to).write_bytes(*value, *bytes as usize);
            },
        }
    }

    /// The calls so far that begin with one of the words.
    pub(crate) fn calls(&self, words: &[&str]) -> Vec<String> {
        let state = self.lock();
        let is_one = |call: &&String| words.iter().any(|word| call.starts_with(word));
        state.log.iter().filter(is_one).cloned().collect()
    }

    /// From now on every call fails.
    pub(crate) fn fail(&self, error: DriverError) {
        self.lock().error = Some(error);
    }

    /// From now on it reaches the memory of others.
    pub(crate) fn reach_peers(&self) {
        self.lock().reaches_peers = true;
    }

    /// From now on there is no library of matrix products.
    pub(crate) fn lack_products(&self, reason: &str) {
        self.lock().lacks_products = Some(reason.to_owned());
    }

    /// From now on the host does not reach managed memory. The stop flag is that of the next queue.
    pub(crate) fn lack_managed_memory(&self) {
        let mut state = self.lock();
        (state.lacks_managed, state.first) = (true, 0);
    }

    /// The next kernel does not end by itself.
    pub(crate) fn hang(&self) {
        self.lock().hangs = true;
    }

    /// The next kernel does not end by itself, and holds up the driver.
    pub(crate) fn hang_calls(&self) {
        let mut state = self.lock();
        (state.hangs, state.hangs_calls) = (true, true);
    }

    /// The next kernel does not even end when it is asked to.
    pub(crate) fn hang_for_ever(&self) {
        let mut state = self.lock();
        (state.hangs, state.never_stops) = (true, true);
    }

    pub(crate) fn live_allocations(&self) -> usize {
        self.lock().live.len()
    }
}

impl fmt::Debug for StandIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StandIn").finish_non_exhaustive()
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes.max(1), 256).expect("tests allocate little")
}

/// Products of `float` by their definition; those of other types are logged alone.
fn multiply(product: &MatrixProduct<u64>) {
    let MatrixProduct { left, right, result, rows, columns, inner, batches, alpha, beta, .. } = product;
    if left.element != ScalarType::F32 {
        return;
    }
    let at = |operand: &MatrixOperand<u64>, batch: u32, row: u32, column: u32| {
        let (row, column) = if operand.transposed { (column, row) } else { (row, column) };
        let element = u64::from(batch) * operand.batch_stride + u64::from(row) * operand.row_stride;
        pointer(operand.buffer + operand.offset + 4 * (element + u64::from(column))).cast::<f32>()
    };
    for batch in 0..*batches {
        for (row, column) in (0..*rows).flat_map(|row| (0..*columns).map(move |column| (row, column))) {
            // SAFETY: the device checked the ranges of all three matrices.
            let term = |k| unsafe { at(left, batch, row, k).read() * at(right, batch, k, column).read() };
            let sum: f32 = (0..*inner).map(term).sum();
            let to = at(result, batch, row, column);
            // SAFETY: as above.
            unsafe { to.write(alpha * sum + if *beta == 0.0 { 0.0 } else { beta * to.read() }) };
        }
    }
}

fn pointer(address: u64) -> *mut u8 {
    address as usize as *mut u8
}

// SAFETY: memory comes from the process's allocator and lives until `free`.
unsafe impl Driver for StandIn {
    fn card(&self) -> &Card {
        &self.card
    }

    #[cfg(feature = "nccl")]
    fn make_current(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn allocate(&self, bytes: u64, place: MemoryPlacement) -> Result<Allocation, DriverError> {
        let mut state = self.log(format!("allocate {bytes} {place:?}"))?;
        // SAFETY: the size is not zero.
        let memory = unsafe { std::alloc::alloc(layout(bytes as usize)) };
        let address = memory as usize as u64;
        state.live.insert(address, bytes as usize);
        if state.first == 0 {
            state.first = address;
        }
        let place = match place {
            MemoryPlacement::Managed if state.lacks_managed => MemoryPlacement::Device,
            place => place,
        };
        let host = NonNull::new(memory).filter(|_| place != MemoryPlacement::Device);
        Ok(Allocation { address, host, place })
    }

    fn register(&self, host: NonNull<u8>, bytes: u64) -> Result<Allocation, DriverError> {
        let mut state = self.log(format!("register {bytes}"))?;
        let address = host.as_ptr() as usize as u64;
        state.live.insert(address, bytes as usize);
        Ok(Allocation { address, host: Some(host), place: MemoryPlacement::Registered })
    }

    fn free(&self, allocation: Allocation) {
        let mut state = self.lock();
        let bytes = state.live.remove(&allocation.address).expect("it is freed once");
        if allocation.place == MemoryPlacement::Registered {
            return;
        }
        // SAFETY: allocated above with this layout, and freed once.
        unsafe { std::alloc::dealloc(pointer(allocation.address), layout(bytes)) };
    }

    fn create_stream(&self, priority: i32) -> Result<u64, DriverError> {
        self.handle(format!("stream {priority}"))
    }

    fn destroy_stream(&self, _stream: u64) {
        self.lock().handles -= 1;
    }

    fn is_idle(&self, _stream: u64) -> Result<bool, DriverError> {
        self.looks_done("idle")
    }

    fn has_ended(&self, _event: u64) -> Result<bool, DriverError> {
        self.looks_done("ended")
    }

    fn synchronise(&self, stream: u64) -> Result<(), DriverError> {
        self.log(format!("synchronise {stream}")).map(drop)
    }

    fn create_event(&self) -> Result<u64, DriverError> {
        self.handle("event")
    }

    fn destroy_event(&self, _event: u64) {
        self.lock().handles -= 1;
    }

    fn record(&self, _event: u64, _stream: u64) -> Result<(), DriverError> {
        self.log("record").map(drop)
    }

    fn wait_event(&self, _stream: u64, _event: u64) -> Result<(), DriverError> {
        self.log("wait").map(drop)
    }

    fn elapsed(&self, _from: u64, _to: u64) -> Result<u64, DriverError> {
        Ok(1000)
    }

    fn compile(&self, ptx: &str) -> Result<Vec<u8>, DriverError> {
        if ptx.contains("broken") {
            return Err(DriverError::BadCode("line 1: broken".to_owned()));
        }
        drop(self.log("compile")?);
        Ok(format!("code of {ptx}").into_bytes())
    }

    fn load(&self, code: &[u8]) -> Result<u64, DriverError> {
        let mut state = self.log("load")?;
        if !code.starts_with(b"code of ") {
            return Err(DriverError::BadCode("it is damaged".to_owned()));
        }
        state.last += 1;
        Ok(state.last)
    }

    fn unload(&self, _module: u64) {
        self.lock().log.push("unload".to_owned());
    }

    fn function(&self, _module: u64, name: &str) -> Result<u64, DriverError> {
        let mut state = self.log(format!("function {name}"))?;
        state.last += 1;
        Ok(state.last)
    }

    fn allow_shared(&self, _function: u64, bytes: u32) -> Result<(), DriverError> {
        self.log(format!("shared {bytes}")).map(drop)
    }

    fn launch(&self, launch: KernelLaunch<'_>, stream: u64) -> Result<(), DriverError> {
        let KernelLaunch { function, groups, group_size, shared_bytes, cooperative, parameters } = launch;
        let word = if cooperative { "cooperative launch" } else { "launch" };
        drop(self.log(format!("{word} {groups:?} {group_size:?} {shared_bytes}"))?);
        let parameters = parameters.to_vec();
        let work = StreamWork::Launch { groups, group_size, shared_bytes, cooperative, function, parameters };
        self.work(stream, work);
        Ok(())
    }

    fn resident_groups(&self, _function: u64, threads: u32, shared_bytes: u32) -> Result<u64, DriverError> {
        drop(self.log(format!("resident {threads} {shared_bytes}"))?);
        Ok(RESIDENT_GROUPS)
    }

    fn can_multiply(&self) -> Result<(), DriverError> {
        let reason = self.lock().lacks_products.clone();
        reason.map_or(Ok(()), |reason| Err(DriverError::Refused(reason)))
    }

    fn multiply(&self, product: &MatrixProduct<u64>, stream: u64) -> Result<(), DriverError> {
        let MatrixProduct { rows, columns, inner, batches, .. } = product;
        let (from, to) = (product.left.element.msl_name(), product.result.element.msl_name());
        drop(self.log(format!("multiply {rows}x{inner}x{columns} by {batches}, {from} to {to}"))?);
        self.work(stream, StreamWork::Multiply(product.clone()));
        Ok(())
    }

    fn begin_capture(&self, stream: u64) -> Result<(), DriverError> {
        self.log("begin capture")?.captured = Some((stream, Vec::new()));
        Ok(())
    }

    fn end_capture(&self, _stream: u64) -> Result<u64, DriverError> {
        let graph = self.handle("end capture")?;
        let mut state = self.lock();
        let (_, work) = state.captured.take().ok_or(DriverError::Other("no capture".to_owned()))?;
        state.graphs.insert(graph, work);
        Ok(graph)
    }

    fn launch_graph(&self, graph: u64, _stream: u64) -> Result<(), DriverError> {
        let work = self.log("graph")?.graphs.get(&graph).cloned();
        work.ok_or(DriverError::Other("no such graph".to_owned()))?.iter().for_each(|work| self.run(work));
        Ok(())
    }

    fn destroy_graph(&self, graph: u64) {
        let mut state = self.lock();
        state.graphs.remove(&graph);
        state.handles -= 1;
    }

    fn peer(&self) -> Peer {
        Peer { number: self.number, context: 0 }
    }

    fn reach(&self, peer: Peer) -> Result<bool, DriverError> {
        let state = self.log("reach")?;
        Ok(state.reaches_peers || peer.number == self.number)
    }

    fn copy_to_peer(
        &self,
        to: u64,
        peer: Peer,
        from: u64,
        bytes: u64,
        stream: u64,
    ) -> Result<(), DriverError> {
        assert!(self.lock().reaches_peers || peer.number == self.number, "it was asked before");
        drop(self.log(format!("peer copy {bytes}"))?);
        self.work(stream, StreamWork::Copy { to, from, bytes });
        Ok(())
    }

    fn copy_to_peer_now(&self, to: u64, _peer: Peer, from: u64, bytes: u64) -> Result<(), DriverError> {
        drop(self.log(format!("peer copy {bytes} now"))?);
        self.run(&StreamWork::Copy { to, from, bytes });
        Ok(())
    }

    fn copy(&self, to: u64, from: u64, bytes: u64, stream: u64) -> Result<(), DriverError> {
        drop(self.log(format!("copy {bytes}"))?);
        self.work(stream, StreamWork::Copy { to, from, bytes });
        Ok(())
    }

    fn fill(&self, to: u64, value: u8, bytes: u64, stream: u64) -> Result<(), DriverError> {
        drop(self.log(format!("fill {value} {bytes}"))?);
        self.work(stream, StreamWork::Fill { to, value, bytes });
        Ok(())
    }

    fn upload(&self, to: u64, bytes: &[u8], _stream: u64) -> Result<(), DriverError> {
        drop(self.log(format!("upload {}", bytes.len()))?);
        // SAFETY: the device checked the range.
        unsafe { pointer(to).copy_from(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn download(&self, bytes: &mut [u8], from: u64, _stream: u64) -> Result<(), DriverError> {
        drop(self.log(format!("download {}", bytes.len()))?);
        // SAFETY: the device checked the range.
        unsafe { pointer(from).copy_to(bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }
}
