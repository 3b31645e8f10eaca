//! What of a command buffer is in the stream and whose fault records have not been read.
//!
//! Owns [`Started`].

use std::sync::Arc;

use anymetal_hal::command::Command;
use anymetal_hal::error::DeviceError;
use anymetal_hal::fault;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::launch::RecordedFault;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::DispatchShape;

use crate::arena::Arena;
use crate::driver::DriverError;
use crate::graph::{Graph, NvidiaIndirect};
use crate::launch;
use crate::queue_streams::{CommandSlot, QueueStreams};

/// Dispatches and graphs in their order.
#[derive(Debug, Default)]
pub(crate) struct Started(Vec<StartedWork>);

#[derive(Debug)]
enum StartedWork {
    Dispatch { pipeline: Arc<dyn Pipeline>, shape: DispatchShape, record: Option<usize> },
    Graph { indirect: Arc<dyn IndirectCommandBuffer>, graph: Arc<Graph> },
}

impl Started {
    /// Adds a dispatch, with the number of its record if it can fault.
    pub(crate) fn dispatch(
        &mut self,
        pipeline: Arc<dyn Pipeline>,
        shape: DispatchShape,
        record: Option<usize>,
    ) {
        self.0.push(StartedWork::Dispatch { pipeline, shape, record });
    }

    /// Adds a graph of those commands.
    pub(crate) fn graph(&mut self, indirect: Arc<dyn IndirectCommandBuffer>, graph: Arc<Graph>) {
        self.0.push(StartedWork::Graph { indirect, graph });
    }

    /// The kernel that was started last.
    pub(crate) fn last_kernel(&self) -> Option<String> {
        let pipeline = match self.0.last()? {
            StartedWork::Dispatch { pipeline, .. } => pipeline,
            StartedWork::Graph { indirect, .. } => indirect.commands().iter().rev().find_map(pipeline_of)?,
        };
        Some(pipeline.kernel().name.clone())
    }

    /// The first fault, after all of it has ended. Clears the records of the slot and of graphs that have
    /// one. `label` gives the label of the buffer that begins at an address.
    pub(crate) fn first_fault(
        &self,
        streams: &QueueStreams,
        slot: &CommandSlot,
        label: &dyn Fn(u64) -> Option<String>,
    ) -> Result<Option<DeviceError>, DriverError> {
        let (records, arena) = (self.records(), &slot.arena);
        let (mut first, slot_has_one) = (None, arena.has_fault());
        if slot_has_one {
            fetch(streams, arena, records)?;
        }
        for work in &self.0 {
            match work {
                StartedWork::Dispatch { pipeline, shape, record } => {
                    let record = record.filter(|_| slot_has_one);
                    let Some(fault) = record.and_then(|record| arena.fault(record)) else { continue };
                    first = first.or_else(|| error_of(streams, pipeline, shape, fault, label));
                }
                StartedWork::Graph { indirect, graph } if graph.arena.has_fault() => {
                    first = first.or(fault_of_graph(streams, &**indirect, graph)?);
                }
                StartedWork::Graph { .. } => {}
            }
        }
        if slot_has_one {
            arena.clear(&streams.device, records, streams.stream())?;
        }
        Ok(first)
    }

    /// How many of the slot's records dispatches may have written.
    fn records(&self) -> usize {
        let end = |work: &StartedWork| match work {
            StartedWork::Dispatch { record: Some(record), .. } => record + 1,
            _ => 0,
        };
        self.0.iter().map(end).max().unwrap_or(0)
    }
}

/// The first fault of a graph's commands. Clears its records.
fn fault_of_graph(
    streams: &QueueStreams,
    indirect: &dyn IndirectCommandBuffer,
    graph: &Graph,
) -> Result<Option<DeviceError>, DriverError> {
    fetch(streams, &graph.arena, graph.records)?;
    let Some(indirect) = indirect.as_any().downcast_ref::<NvidiaIndirect>() else { return Ok(None) };
    let first = graph.faultable.iter().find_map(|(command, shape, record)| {
        let pipeline = pipeline_of(&indirect.commands[*command])?;
        error_of(streams, pipeline, shape, graph.arena.fault(*record)?, &|_| None)
    });
    graph.arena.clear(&streams.device, graph.records, streams.stream())?;
    Ok(first)
}

/// Copies an arena's first records to the host.
fn fetch(streams: &QueueStreams, arena: &Arena, records: usize) -> Result<(), DriverError> {
    arena.fetch(&streams.device, records, streams.stream())?;
    streams.device.driver.synchronise(streams.stream())
}

fn error_of(
    streams: &QueueStreams,
    pipeline: &Arc<dyn Pipeline>,
    shape: &DispatchShape,
    fault: RecordedFault,
    label: &dyn Fn(u64) -> Option<String>,
) -> Option<DeviceError> {
    let pipeline = launch::pipeline(&streams.device, pipeline).ok()?;
    Some(fault::describe(pipeline.artifact(), &pipeline.kernel().name, shape, fault, label))
}

fn pipeline_of(command: &Command) -> Option<&Arc<dyn Pipeline>> {
    match command {
        Command::Dispatch(dispatch) => Some(dispatch.pipeline()),
        _ => None,
    }
}
