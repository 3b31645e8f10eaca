//! Maps: one elementwise function over tensors of one shape, launched or kept by a recording.
//!
//! Owns [`MapFunction`], which says all about a function that a kernel is made of, and [`Ops::run_map`].
//! Invariant: an alone and a fused kernel of a function round its result to the stored type alike.

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::Walk;
use crate::layout::Operand;
use crate::tensor::Tensor;

/// Which kernel of `kernels/elementwise.metal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapForm {
    /// A function of one and of parameters.
    One,
    /// A function of two.
    Two,
    /// A function of two and of parameters.
    TwoWith,
    /// A function of three.
    Three,
    /// The second where the first, a `bool`, is true, else the third.
    Choose,
}

/// A function with its types, all as MSL names them.
#[derive(Debug, Clone)]
pub(crate) struct MapFunction {
    pub(crate) form: MapForm,
    /// Its name; of [`MapForm::Choose`] none.
    pub(crate) name: &'static str,
    /// What it computes in.
    pub(crate) compute: &'static str,
    /// Whose arithmetic wraps.
    pub(crate) wrapping: &'static str,
    /// The types of the output and of the inputs.
    pub(crate) stored: Vec<&'static str>,
    pub(crate) parameters: [f32; 4],
}

/// A function, its output, and its inputs, which have the output's shape.
pub(crate) struct MapCall<'a> {
    pub(crate) operation: &'static str,
    pub(crate) function: MapFunction,
    pub(crate) out: &'a Tensor,
    pub(crate) inputs: &'a [&'a Tensor],
    pub(crate) flop: u64,
    /// Of all tensors, each element once.
    pub(crate) bytes: u64,
}

impl MapFunction {
    pub(crate) fn new(form: MapForm, name: &'static str, compute: DType, stored: &[DType]) -> MapFunction {
        MapFunction {
            form,
            name,
            compute: compute.msl_compute(),
            wrapping: compute.msl_wrapping(),
            stored: stored.iter().map(|dtype| dtype.msl()).collect(),
            parameters: [0.0; 4],
        }
    }

    /// A copy of elements of that MSL type.
    pub(crate) fn copy(bits: &'static str) -> MapFunction {
        let stored = vec![bits; 2];
        let (form, name, parameters) = (MapForm::One, "op_copy", [0.0; 4]);
        MapFunction { form, name, compute: bits, wrapping: bits, stored, parameters }
    }

    pub(crate) fn with(self, parameters: [f32; 4]) -> MapFunction {
        MapFunction { parameters, ..self }
    }

    /// The kernel that it alone is an instance of.
    pub(crate) fn kernel(&self) -> &'static str {
        match self.form {
            MapForm::One => "map1",
            MapForm::Two => "map2",
            MapForm::TwoWith => "map2_with",
            MapForm::Three => "map3",
            MapForm::Choose => "choose",
        }
    }

    /// Whether its kernel takes the parameters.
    pub(crate) fn takes_parameters(&self) -> bool {
        matches!(self.form, MapForm::One | MapForm::TwoWith)
    }

    /// What its kernel is instantiated with, besides the strides.
    pub(crate) fn defines(&self) -> Defines {
        let mut defines = Defines::default().with("C", self.compute).with("W", self.wrapping);
        if !self.name.is_empty() {
            defines = defines.with("OP", self.name);
        }
        let stored = ["T0", "T1", "T2", "T3"].into_iter().zip(&self.stored);
        stored.fold(defines, |defines, (name, stored)| defines.with(name, stored))
    }
}

impl Ops {
    /// Runs a function over tensors, or has the recording keep it.
    pub(crate) fn run_map(&self, call: MapCall<'_>) -> Result<(), OpError> {
        if call.out.is_empty() {
            return Ok(());
        }
        if let Some(recorder) = self.recorder() {
            if call.inputs.iter().any(|input| self.is_unfinished(input.buffer())) {
                return Err(OpError::unfinished());
            }
            recorder.add_map(&call);
            return Ok(());
        }
        let MapCall { operation, function, out, inputs, flop, bytes } = call;
        let mut operands: Vec<Operand<'_>> = vec![out.into()];
        operands.extend(inputs.iter().map(|&input| Operand::from(input)));
        let walk = Walk::over(out.shape(), &operands);
        let mut tensors = vec![out];
        tensors.extend(inputs);
        let vectors = if self.takes_vectors(&tensors) { walk.in_vectors(tensors.len()) } else { None };
        let (most, rest) = vectors.unwrap_or((walk, None));
        for walk in [Some(most), rest].into_iter().flatten() {
            self.launch_map(&function, &tensors, walk)?;
        }
        self.count(operation, Path::Own, flop, bytes);
        Ok(())
    }
    /// Output and inputs are the tensors.
    fn launch_map(&self, function: &MapFunction, tensors: &[&Tensor], walk: Walk) -> Result<(), OpError> {
        let defines = function.defines().and(walk.defines(tensors.len()));
        let pipeline = self.pipeline(Source::Elementwise, function.kernel(), defines)?;
        let mut call = self.call(&pipeline);
        for tensor in tensors {
            call = call.arg(tensor.buffer());
        }
        call = call.arg(walk.argument());
        if function.takes_parameters() {
            call = call.arg(function.parameters);
        }
        self.submit(call.threads(walk.threads()).group_size(walk.group()))
    }
}
