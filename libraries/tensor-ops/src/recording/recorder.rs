//! What a recording notes while the calls are made.
//!
//! Owns [`Recorder`], its [`Step`]s and the table of memory that they name. Invariant: the steps are in the
//! order of the calls; memory is numbered once, by where it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal::{Argument, Buffer, Extent, Pipeline};

use crate::context::IndexCheck;
use crate::counted::CallRecord;
use crate::elementwise::{MapCall, MapFunction};
use crate::random::Draw;
use crate::tensor::Tensor;

/// What a recorded kernel is given.
pub(crate) enum RecordedArgument {
    /// Bytes of a buffer.
    Memory { buffer: Buffer<u8>, offset: u64, length: u64 },
    /// A number, or several.
    Value(Box<dyn Argument + Send + Sync>),
    /// The place of blocks that each replay takes anew.
    Draw(Draw),
}

/// A kernel with its arguments and grid.
pub(crate) struct RecordedCall {
    pub(super) pipeline: Pipeline,
    pub(super) arguments: Vec<RecordedArgument>,
    /// The grid, and whether it is of threadgroups.
    pub(super) grid: Option<(Extent, bool)>,
    pub(super) group_size: Option<Extent>,
}

impl RecordedCall {
    pub(crate) fn new(pipeline: &Pipeline) -> RecordedCall {
        RecordedCall { pipeline: pipeline.clone(), arguments: Vec::new(), grid: None, group_size: None }
    }

    pub(crate) fn argument(mut self, argument: RecordedArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    pub(crate) fn threads(self, threads: Extent) -> Self {
        RecordedCall { grid: Some((threads, false)), ..self }
    }

    pub(crate) fn groups(self, groups: Extent) -> Self {
        RecordedCall { grid: Some((groups, true)), ..self }
    }

    pub(crate) fn group_size(self, size: Extent) -> Self {
        RecordedCall { group_size: Some(size), ..self }
    }
}

/// A tensor's part in a map, its shape being the map's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MapOperand {
    /// The memory's number.
    pub(super) memory: usize,
    pub(super) strides: Vec<isize>,
    pub(super) offset: usize,
}

/// An elementwise function with its operands, the output first.
#[derive(Debug)]
pub(super) struct MapStep {
    pub(super) operation: &'static str,
    pub(super) function: MapFunction,
    pub(super) shape: Vec<usize>,
    pub(super) operands: Vec<MapOperand>,
    pub(super) flop: u64,
    pub(super) bytes: u64,
}

/// One recorded piece of work.
pub(super) enum Step {
    Call { call: RecordedCall, operation: &'static str },
    Map(MapStep),
}

/// What is known of memory that steps name.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) buffer: Buffer<u8>,
    pub(super) role: Role,
}

/// What memory is to a recording.
#[derive(Debug)]
pub(super) enum Role {
    /// It was there before, or the host has written it: it is the same in every replay.
    Constant,
    /// An input, by number.
    Input(usize),
    /// The steps fill it. The tensors that see it have clones of the token.
    Made(Arc<()>),
}

/// All that was noted.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) memory: Vec<Memory>,
    numbers: BTreeMap<(usize, u64), usize>,
    pub(super) steps: Vec<Step>,
    pub(super) checks: Vec<Arc<IndexCheck>>,
    pub(super) calls: Vec<CallRecord>,
}

/// Notes calls until it is finished.
#[derive(Default)]
pub(crate) struct Recorder {
    recorded: Mutex<Option<Recorded>>,
}

impl Recorder {
    pub(super) fn begin() -> Arc<Recorder> {
        Arc::new(Recorder { recorded: Mutex::new(Some(Recorded::default())) })
    }

    fn recorded(&self) -> MutexGuard<'_, Option<Recorded>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether calls are still noted.
    pub(crate) fn is_open(&self) -> bool {
        self.recorded().is_some()
    }

    /// Ends the recording.
    pub(super) fn take(&self) -> Option<Recorded> {
        self.recorded().take()
    }

    /// Whether steps fill this memory, or an input does.
    pub(crate) fn fills(&self, buffer: &Buffer<u8>) -> bool {
        let recorded = self.recorded();
        let Some(recorded) = &*recorded else { return false };
        let number = recorded.numbers.get(&place(buffer));
        number.is_some_and(|&number| !matches!(recorded.memory[number].role, Role::Constant))
    }

    /// Numbers memory for results; gives the token of its tensors.
    pub(crate) fn add_made(&self, buffer: &Buffer<u8>) -> Option<Arc<()>> {
        let token = Arc::new(());
        let mut recorded = self.recorded();
        let recorded = recorded.as_mut()?;
        recorded.add(buffer, Role::Made(Arc::clone(&token)));
        Some(token)
    }

    /// Numbers the memory of an input.
    pub(super) fn add_input(&self, buffer: &Buffer<u8>, input: usize) {
        if let Some(recorded) = &mut *self.recorded() {
            recorded.add(buffer, Role::Input(input));
        }
    }

    /// Says that the host has written memory that was made for results.
    pub(crate) fn note_constant(&self, buffer: &Buffer<u8>) {
        if let Some(recorded) = &mut *self.recorded() {
            let number = recorded.number(buffer);
            recorded.memory[number].role = Role::Constant;
        }
    }

    pub(crate) fn add_call(&self, call: RecordedCall) {
        if let Some(recorded) = &mut *self.recorded() {
            for argument in &call.arguments {
                if let RecordedArgument::Memory { buffer, .. } = argument {
                    recorded.number(buffer);
                }
            }
            recorded.steps.push(Step::Call { call, operation: "" });
        }
    }

    pub(crate) fn add_map(&self, call: &MapCall<'_>) {
        if let Some(recorded) = &mut *self.recorded() {
            let mut operand = |tensor: &Tensor| MapOperand {
                memory: recorded.number(tensor.buffer()),
                strides: tensor.strides().to_vec(),
                offset: tensor.offset(),
            };
            let mut operands = vec![operand(call.out)];
            operands.extend(call.inputs.iter().map(|input| operand(input)));
            recorded.steps.push(Step::Map(MapStep {
                operation: call.operation,
                function: call.function.clone(),
                shape: call.out.shape().to_vec(),
                operands,
                flop: call.flop,
                bytes: call.bytes,
            }));
        }
    }

    /// Notes the work of the calls since the last time, and what they are called.
    pub(crate) fn count(&self, record: CallRecord) {
        if let Some(recorded) = &mut *self.recorded() {
            for step in recorded.steps.iter_mut().rev() {
                match step {
                    Step::Call { operation, .. } if operation.is_empty() => *operation = record.operation,
                    Step::Call { .. } | Step::Map(_) => break,
                }
            }
            recorded.calls.push(record);
        }
    }

    pub(crate) fn check_indices(&self, check: Arc<IndexCheck>) {
        if let Some(recorded) = &mut *self.recorded() {
            recorded.checks.push(check);
        }
    }
}

/// The recorders of the process that are open.
pub(crate) static OPEN: OpenRecorders =
    OpenRecorders { count: AtomicUsize::new(0), recorders: Mutex::new(Vec::new()) };

/// Recorders that are open.
pub(crate) struct OpenRecorders {
    count: AtomicUsize,
    recorders: Mutex<Vec<Arc<Recorder>>>,
}

/// Closes a recorder when it is dropped.
pub(super) struct Open {
    recorder: Arc<Recorder>,
}

impl OpenRecorders {
    pub(super) fn open(&self, recorder: &Arc<Recorder>) -> Open {
        self.recorders().push(Arc::clone(recorder));
        self.count.fetch_add(1, Ordering::Relaxed);
        Open { recorder: Arc::clone(recorder) }
    }

    /// Whether there may be any; most often there is none.
    pub(crate) fn are_there(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Whether one of them has this memory filled, another than `own`.
    pub(crate) fn fills(&self, buffer: &Buffer<u8>, own: Option<&Arc<Recorder>>) -> bool {
        let is_other = |recorder: &&Arc<Recorder>| own.is_none_or(|own| !Arc::ptr_eq(own, recorder));
        self.are_there() && self.recorders().iter().filter(is_other).any(|recorder| recorder.fills(buffer))
    }

    fn recorders(&self) -> MutexGuard<'_, Vec<Arc<Recorder>>> {
        self.recorders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.recorder.take();
        OPEN.recorders().retain(|other| !Arc::ptr_eq(other, &self.recorder));
        OPEN.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Recorded {
    fn add(&mut self, buffer: &Buffer<u8>, role: Role) {
        self.numbers.insert(place(buffer), self.memory.len());
        self.memory.push(Memory { buffer: buffer.clone(), role });
    }

    /// The memory's number; what is new is a constant.
    pub(super) fn number(&mut self, buffer: &Buffer<u8>) -> usize {
        if let Some(number) = self.known(buffer) {
            return number;
        }
        self.add(buffer, Role::Constant);
        self.memory.len() - 1
    }

    pub(super) fn known(&self, buffer: &Buffer<u8>) -> Option<usize> {
        self.numbers.get(&place(buffer)).copied()
    }
}

/// Where memory is: the allocation that it is cut from, and where in it. Buffers that are alive never share
/// it.
fn place(buffer: &Buffer<u8>) -> (usize, u64) {
    let region = buffer.region();
    (Arc::as_ptr(region.buffer()).cast::<()>() as usize, region.offset())
}
