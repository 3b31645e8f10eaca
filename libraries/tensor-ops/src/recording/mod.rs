//! Recordings: a sequence of operations, noted once and replayed with other inputs.
//!
//! Owns [`Recording`] and [`Ops::record`]. Invariant: a replay leaves what the recorded calls, made by own
//! kernels one by one, would have left; shapes and types are those of the recording.

mod fused_source;
mod fusion;
mod plan;
mod recorder;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use anymetal::graph::{Executable, ResourceId, ValueId};
use anymetal::{Buffer, BufferView};

use crate::context::{IndexCheck, Ops};
use crate::counted::CallRecord;
use crate::dtype::DType;
use crate::error::OpError;
use crate::random::Draw;
use crate::tensor::Tensor;
use plan::{Planned, plan};
pub(crate) use recorder::{OPEN, RecordedArgument, RecordedCall, Recorder};
use recorder::{Recorded, Role};

/// Operations that were recorded by [`Ops::record`], ready to be replayed.
///
/// ```
/// # fn main() -> Result<(), anymetal_tensor_ops::OpError> {
/// use anymetal_tensor_ops::Ops;
///
/// let ops = Ops::new(&anymetal::Device::system_default()?)?;
/// let (x, w) = (ops.tensor(&[1.0f32, -2.0], &[1, 2])?, ops.tensor(&[3.0f32, 1.0, 0.5, 4.0], &[2, 2])?);
/// let mut layer = ops.record("layer", &[&x], |ops, inputs| {
///     let y = ops.relu(&ops.matmul(&inputs[0], &w)?)?; // `w` is a constant of the recording
///     Ok(vec![ops.affine(&y, 2.0, 1.0)?])
/// })?;
/// assert_eq!(layer.replay(&[&x])?[0].to_vec::<f32>()?, [5.0, 1.0]);
/// let other = ops.tensor(&[0.0f32, 1.0], &[1, 2])?;
/// assert_eq!(layer.replay(&[&other])?[0].to_vec::<f32>()?, [2.0, 9.0]);
/// assert!(layer.replay(&[&w]).is_err(), "the shape is another");
/// # Ok(())
/// # }
/// ```
pub struct Recording {
    ops: Ops,
    name: String,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    results: Vec<Results>,
    executable: Option<Executable>,
    draws: Vec<(ValueId, Draw)>,
    checks: Vec<Arc<IndexCheck>>,
    calls: Vec<CallRecord>,
    kernels: Vec<String>,
    _held: Vec<Buffer<u8>>,
}

/// A tensor that each replay is given.
struct Input {
    dtype: DType,
    shape: Vec<usize>,
    /// `None`: no kernel takes it.
    parameter: Option<ResourceId>,
    bound: Option<BufferView<u8>>,
    /// What stands for it if it has no elements.
    placeholder: Option<Buffer<u8>>,
}

/// A tensor that each replay gives: where it is, and how it is seen there.
struct Output {
    source: Source,
    seen: Tensor,
}

/// Where an output is.
enum Source {
    /// In results, by number.
    Results(usize),
    Input(usize),
    Constant,
}

/// Memory that kernels fill and outputs are in.
struct Results {
    parameter: ResourceId,
    buffer: Buffer<u8>,
    is_bound: bool,
    /// The tensors that see the buffer have clones of it.
    token: Arc<()>,
}

impl Ops {
    /// Records the operations that `body` calls on the context which it is handed, without running them.
    /// `inputs` say the shapes and types of what replays are given; `body` gets tensors that stand for them,
    /// and gives the outputs.
    ///
    /// Other tensors are constants: their memory is read anew by each replay. Chains of elementwise
    /// operations become one kernel; results that only such a kernel needs are not stored, unless a
    /// tensor of them outlives the recording. Products are made by own kernels. A generator of random
    /// numbers goes on from replay to replay if [`crate::Generator::within`] has brought it along; numbers
    /// that a generator of another context has made are constants. Indices are checked in each replay.
    /// What needs elements on the host meanwhile, as [`Tensor::to_vec`] and [`Ops::unique`] do, is refused
    /// with [`OpError::Recording`].
    pub fn record(
        &self,
        name: impl Into<String>,
        inputs: &[&Tensor],
        body: impl FnOnce(&Ops, &[Tensor]) -> Result<Vec<Tensor>, OpError>,
    ) -> Result<Recording, OpError> {
        if self.recorder().is_some() {
            return Err(OpError::recording("record", "a recording within a recording has no meaning"));
        }
        let mut places = Vec::with_capacity(inputs.len());
        for input in inputs {
            places.push(self.empty(input.shape(), input.dtype())?);
        }
        let recorder = Recorder::begin();
        let _open = OPEN.open(&recorder);
        for (number, place) in places.iter().enumerate() {
            recorder.add_input(place.buffer(), number);
        }
        let recording_ops = self.recorded_by(&recorder);
        let standing: Vec<Tensor> = places.iter().map(|place| place.in_context(&recording_ops)).collect();
        let outputs = body(&recording_ops, &standing);
        // However it ended: tensors of it are those of the outer context from here on.
        let recorded = recorder.take();
        let (outputs, Some(recorded)) = (outputs?, recorded) else {
            return Err(OpError::recording("record", "it was ended within"));
        };
        drop(standing);
        Recording::of(self, name.into(), recorded, outputs, places)
    }
}

impl Recording {
    fn of(
        ops: &Ops,
        name: String,
        recorded: Recorded,
        outputs: Vec<Tensor>,
        places: Vec<Tensor>,
    ) -> Result<Recording, OpError> {
        let number_of = |tensor: &Tensor| recorded.known(tensor.buffer());
        let is_made = |number: &usize| matches!(recorded.memory[*number].role, Role::Made(_));
        let made: BTreeSet<usize> = outputs.iter().filter_map(number_of).filter(is_made).collect();
        let Planned { executable, parameters, draws, calls, held, kernels } =
            plan(ops, &name, &recorded, &made)?;
        let mut results: Vec<Results> = Vec::new();
        let mut numbers = Vec::new();
        for (&number, &parameter) in parameters.iter().filter(|(number, _)| is_made(number)) {
            let buffer = recorded.memory[number].buffer.clone();
            numbers.push(number);
            results.push(Results { parameter, buffer, is_bound: false, token: Arc::new(()) });
        }
        let source = |tensor: &Tensor| match number_of(tensor).map(|number| &recorded.memory[number].role) {
            Some(Role::Input(input)) => Source::Input(*input),
            Some(Role::Made(_)) => {
                let number = number_of(tensor);
                let found = numbers.iter().position(|known| Some(*known) == number);
                // Nothing fills it: it has no elements.
                found.map_or(Source::Constant, Source::Results)
            }
            Some(Role::Constant) | None => Source::Constant,
        };
        let outputs: Vec<Output> = outputs
            .into_iter()
            .map(|tensor| Output { source: source(&tensor), seen: tensor.in_context(ops) })
            .collect();
        let inputs = places.into_iter().map(|place| {
            let number = number_of(&place);
            Input {
                dtype: place.dtype(),
                shape: place.shape().to_vec(),
                parameter: number.and_then(|number| parameters.get(&number).copied()),
                bound: None,
                placeholder: place.is_empty().then(|| place.buffer().clone()),
            }
        });
        let inputs = inputs.collect();
        let checks = recorded.checks;
        let ops = ops.clone();
        let _held = held;
        Ok(Recording {
            ops,
            name,
            inputs,
            outputs,
            results,
            executable,
            draws,
            checks,
            calls,
            kernels,
            _held,
        })
    }

    /// Runs the recorded operations with these inputs, whose shapes and types are the recording's, and gives
    /// the outputs. It returns when the work is handed over. Outputs of an earlier replay keep their elements
    /// as long as they are held; memory of those that are not is used again.
    pub fn replay(&mut self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let inputs = self.checked(inputs)?;
        self.bind(&inputs)?;
        if let Some(executable) = &mut self.executable {
            for (value, draw) in &self.draws {
                executable.set_value(*value, draw.take())?;
            }
            self.ops.note_submission(self.ops.queue().submit_graph(executable)?);
            self.ops.note_replay(&self.calls, &self.checks);
        }
        Ok(self.outputs.iter().map(|output| self.output(output, &inputs)).collect())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernels that a replay runs, in order: operations, those that are one kernel joined by ` + `.
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// The inputs in contiguous form, if they are as recorded.
    fn checked(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        if self.ops.recorder().is_some() {
            return Err(OpError::recording("replay", "a replay within a recording cannot be recorded"));
        }
        if inputs.len() != self.inputs.len() {
            let problem = format!("{} inputs were given, {} were recorded", inputs.len(), self.inputs.len());
            return Err(OpError::argument("replay", problem));
        }
        let contiguous = |(known, given): (&Input, &&Tensor)| {
            if given.shape() != known.shape {
                let rule = "an input must have the shape that it was recorded with";
                return Err(OpError::shape("replay", &[given.shape(), &known.shape], rule));
            }
            if given.dtype() != known.dtype {
                let rule = "an input must have the type that it was recorded with";
                return Err(OpError::dtype("replay", &[given.dtype(), known.dtype], rule));
            }
            if self.ops.is_unfinished(given.buffer()) {
                return Err(OpError::unfinished());
            }
            self.ops.contiguous(given)
        };
        self.inputs.iter().zip(inputs).map(contiguous).collect()
    }

    /// Binds what is not bound yet: another buffer makes the device encode the graph anew.
    fn bind(&mut self, given: &[Tensor]) -> Result<(), OpError> {
        let Some(executable) = &mut self.executable else { return Ok(()) };
        let mut arguments = Vec::new();
        let mut bound = Vec::new();
        for (number, (input, tensor)) in self.inputs.iter().zip(given).enumerate() {
            let Some(parameter) = input.parameter else { continue };
            let view = match &input.placeholder {
                Some(placeholder) => placeholder.view(0..placeholder.len())?,
                None => tensor.part()?,
            };
            if !input.bound.as_ref().is_some_and(|bound| is_same(bound, &view)) {
                arguments.push((parameter, view.region()));
                bound.push((number, view));
            }
        }
        for results in &mut self.results {
            // One clone is this one.
            if Arc::strong_count(&results.token) > 1 {
                results.buffer = self.ops.device().acquire::<u8>(results.buffer.len())?;
                (results.token, results.is_bound) = (Arc::new(()), false);
            }
            if !results.is_bound {
                arguments.push((results.parameter, results.buffer.region()));
            }
        }
        if !arguments.is_empty() {
            executable.set_buffers(arguments)?;
        }
        for (number, view) in bound {
            self.inputs[number].bound = Some(view);
        }
        for results in &mut self.results {
            results.is_bound = true;
        }
        Ok(())
    }

    fn output(&self, output: &Output, inputs: &[Tensor]) -> Tensor {
        let seen = &output.seen;
        match output.source {
            Source::Results(number) => {
                let Results { buffer, token, .. } = &self.results[number];
                seen.in_memory(buffer, token)
            }
            Source::Input(number) => {
                let input = &inputs[number];
                let offset = input.offset() + seen.offset();
                input.seen_as(seen.shape().to_vec(), seen.strides().to_vec(), offset)
            }
            Source::Constant => seen.clone(),
        }
    }
}

fn is_same(a: &BufferView<u8>, b: &BufferView<u8>) -> bool {
    let (a, b) = (a.region(), b.region());
    Arc::ptr_eq(a.buffer(), b.buffer()) && a.offset() == b.offset() && a.length() == b.length()
}

impl fmt::Debug for Recording {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Recording `{}` of {} kernels", self.name, self.kernels.len())
    }
}
