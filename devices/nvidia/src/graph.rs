//! Indirect command buffers as CUDA graphs: one call puts all their commands into a stream.
//!
//! Owns [`NvidiaIndirect`] and [`Graph`]. A graph is made when its commands are executed the second time on
//! a queue, because making one costs as much as some executions. It holds addresses: if a buffer has moved
//! since, it is made anew. Commands that read their counts from a buffer, and those that load pointers
//! from memory, have no graph.

use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::command::{Command, Dispatch};
use anymetal_hal::error::DeviceError;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::validate::DispatchShape;

use crate::arena::{Arena, ArenaUse, Inline};
use crate::device_shared::DeviceShared;
use crate::driver::DriverError;
use crate::encode::{self, StreamCommand};
use crate::launch;
use crate::owned::OwnedGraph;
use crate::queue_streams::QueueStreams;
use crate::residency::Table;

/// Fewer commands are put into a stream one by one.
const MIN_COMMANDS: usize = 2;

/// The slot of command buffers with graphs, which are alone in the stream: a graph has one set of records.
pub(crate) const GRAPH_SLOT: usize = 0;

/// Commands, and their graph on each queue that executed them.
#[derive(Debug)]
pub(crate) struct NvidiaIndirect {
    pub(crate) commands: Vec<Command>,
    pub(crate) owner: Arc<DeviceShared>,
    queues: Mutex<BTreeMap<NonZero<usize>, Replays>>,
}

/// What a queue knows of them.
#[derive(Debug, Default)]
struct Replays {
    has_run: bool,
    /// The driver makes no graph of them.
    refused: bool,
    graph: Option<Arc<Graph>>,
}

/// A graph of one queue.
#[derive(Debug)]
pub(crate) struct Graph {
    graph: OwnedGraph,
    pub(crate) arena: Arena,
    /// The dispatches that can fault: their commands, and the records.
    pub(crate) faultable: Vec<(usize, DispatchShape, usize)>,
    pub(crate) records: usize,
    addresses: Vec<u64>,
}

impl NvidiaIndirect {
    pub(crate) fn new(commands: Vec<Command>, owner: &Arc<DeviceShared>) -> Self {
        NvidiaIndirect { commands, owner: Arc::clone(owner), queues: Mutex::default() }
    }

    /// The graph to launch on that queue's stream, if it is time for one. It looks at the stop flag of the
    /// [`GRAPH_SLOT`].
    pub(crate) fn graph(&self, streams: &QueueStreams) -> Result<Option<Arc<Graph>>, DeviceError> {
        // What is resident may differ each time.
        let varies = |command: &Command| match command {
            Command::Dispatch(dispatch) => dispatch.kernel().loads_pointers,
            command => matches!(command, Command::DispatchIndirect(_)),
        };
        if self.commands.len() < MIN_COMMANDS || self.commands.iter().any(varies) {
            return Ok(None);
        }
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let replays = queues.entry(streams.number).or_default();
        if !std::mem::replace(&mut replays.has_run, true) || replays.refused {
            return Ok(None);
        }
        let addresses = self.addresses()?;
        if let Some(graph) = replays.graph.as_ref().filter(|graph| graph.addresses == addresses) {
            return Ok(Some(Arc::clone(graph)));
        }
        // The old one may still run; whoever launched it holds it.
        replays.graph = None;
        match self.capture(streams, addresses)? {
            Ok(graph) => Ok(Some(Arc::clone(replays.graph.insert(Arc::new(graph))))),
            Err(DriverError::Lost(reason)) => {
                Err(DeviceError::DeviceLost { device: self.owner.name.clone(), reason })
            }
            Err(_) => {
                replays.refused = true;
                Ok(None)
            }
        }
    }

    /// Where the buffers are now.
    fn addresses(&self) -> Result<Vec<u64>, DeviceError> {
        let (mut addresses, mut is_foreign) = (Vec::new(), false);
        for command in &self.commands {
            command.each_buffer(&mut |buffer| match launch::own(&self.owner, buffer) {
                Some(own) => addresses.push(own.address()),
                None => is_foreign = true,
            });
        }
        if is_foreign { Err(self.owner.wrong_device("buffer")) } else { Ok(addresses) }
    }

    /// Makes the graph. What is wrong with the commands is the outer error, what the driver refuses the
    /// inner.
    fn capture(
        &self,
        streams: &QueueStreams,
        addresses: Vec<u64>,
    ) -> Result<Result<Graph, DriverError>, DeviceError> {
        let (device, stream) = (&self.owner, streams.stream());
        let dispatches = || {
            self.commands.iter().filter_map(|command| match command {
                Command::Dispatch(dispatch) => Some(dispatch),
                _ => None,
            })
        };
        let bytes = |dispatch: &Dispatch| encode::inline_bytes(dispatch.kernel(), dispatch.bindings());
        let inline = dispatches().map(bytes).sum();
        let arena = match Arena::new(device, dispatches().count(), inline, stream) {
            Ok(arena) => arena,
            Err(error) => return Ok(Err(error)),
        };
        let (mut room, mut uploads) = (ArenaUse::default(), Inline::default());
        let (mut steps, mut faultable, mut records) = (Vec::new(), Vec::new(), 0);
        for (at, command) in self.commands.iter().enumerate() {
            let Command::Dispatch(dispatch) = command else {
                steps.extend(encode::blit(device, command)?);
                continue;
            };
            let (pipeline, Some(shape)) = encode::shape_of(device, dispatch)? else { continue };
            let parts = (&arena, &mut room, &mut uploads);
            let signals = (streams.slot(GRAPH_SLOT).watch.flag().address(), Table::default());
            let encoded = encode::dispatch(device, pipeline, &shape, dispatch, signals, parts)?;
            if let Some(record) = encoded.record {
                faultable.push((at, shape, record));
                records = record + 1;
            }
            steps.push(encoded.launch);
        }
        if let Err(error) = uploads.upload(device, stream) {
            return Ok(Err(error));
        }
        let put = || steps.iter().try_for_each(|step: &StreamCommand| step.put(&*device.driver, stream));
        let graph = OwnedGraph::capture(device, stream, put);
        Ok(graph.map(|graph| Graph { graph, arena, faultable, records, addresses }))
    }
}

impl Graph {
    /// Puts all of it into the stream.
    pub(crate) fn launch(&self, device: &DeviceShared, stream: u64) -> Result<(), DriverError> {
        device.driver.launch_graph(self.graph.number, stream)
    }
}

impl IndirectCommandBuffer for NvidiaIndirect {
    fn commands(&self) -> &[Command] {
        &self.commands
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
