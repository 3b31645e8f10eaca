//! Activations and their derivatives.
//!
//! Owns [`Activation`]. Invariant: the derivative at a kink is that of the side towards zero, as in
//! PyTorch.

use crate::context::Ops;
use crate::dtype::DType;
use crate::elementwise::Computed;
use crate::error::OpError;
use crate::tensor::Tensor;

/// An activation function of floating-point tensors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x`, below zero times the slope.
    LeakyRelu(f32),
    /// `x`, below zero `alpha * (exp(x) - 1)`.
    Elu(f32),
    /// The self-normalising form of [`Activation::Elu`].
    Selu,
    /// `x` times the normal distribution's cumulative probability of it.
    Gelu,
    /// [`Activation::Gelu`] approximated by a hyperbolic tangent.
    GeluTanh,
    /// `x * sigmoid(x)`.
    Silu,
    /// `x * tanh(softplus(x))`.
    Mish,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `log(1 + exp(x))`.
    Softplus,
    /// `x / 6 + 1/2` within 0 and 1.
    HardSigmoid,
    /// `x` times [`Activation::HardSigmoid`].
    HardSwish,
    /// `x` within -1 and 1.
    HardTanh,
    /// `x`, below zero `alpha * (exp(x / alpha) - 1)`.
    Celu(f32),
    /// `x / (1 + |x|)`.
    Softsign,
    /// The logarithm of [`Activation::Sigmoid`].
    LogSigmoid,
    /// `x` within 0 and 6.
    Relu6,
    /// `x * sigmoid(1.702 x)`.
    QuickGelu,
}

impl Activation {
    /// One of each.
    pub const ALL: [Activation; 19] = [
        Activation::Relu,
        Activation::LeakyRelu(0.01),
        Activation::Elu(1.0),
        Activation::Selu,
        Activation::Gelu,
        Activation::GeluTanh,
        Activation::Silu,
        Activation::Mish,
        Activation::Sigmoid,
        Activation::Tanh,
        Activation::Softplus,
        Activation::HardSigmoid,
        Activation::HardSwish,
        Activation::HardTanh,
        Activation::Celu(1.5),
        Activation::Softsign,
        Activation::LogSigmoid,
        Activation::Relu6,
        Activation::QuickGelu,
    ];

    /// Its name, and the functions in MSL: itself and the derivative.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Activation::Relu => ("relu", "op_relu", "back_relu"),
            Activation::LeakyRelu(_) => ("leaky_relu", "op_leaky_relu", "back_leaky_relu"),
            Activation::Elu(_) => ("elu", "op_elu", "back_elu"),
            Activation::Selu => ("selu", "op_selu", "back_selu"),
            Activation::Gelu => ("gelu", "op_gelu", "back_gelu"),
            Activation::GeluTanh => ("gelu_tanh", "op_gelu_tanh", "back_gelu_tanh"),
            Activation::Silu => ("silu", "op_silu", "back_silu"),
            Activation::Mish => ("mish", "op_mish", "back_mish"),
            Activation::Sigmoid => ("sigmoid", "op_sigmoid", "back_sigmoid"),
            Activation::Tanh => ("tanh", "op_tanh", "back_tanh"),
            Activation::Softplus => ("softplus", "op_softplus", "back_softplus"),
            Activation::HardSigmoid => ("hard_sigmoid", "op_hard_sigmoid", "back_hard_sigmoid"),
            Activation::HardSwish => ("hard_swish", "op_hard_swish", "back_hard_swish"),
            Activation::HardTanh => ("hard_tanh", "op_hard_tanh", "back_hard_tanh"),
            Activation::Celu(_) => ("celu", "op_celu", "back_celu"),
            Activation::Softsign => ("softsign", "op_softsign", "back_softsign"),
            Activation::LogSigmoid => ("logsigmoid", "op_logsigmoid", "back_logsigmoid"),
            Activation::Relu6 => ("relu6", "op_hard_tanh", "back_hard_tanh"),
            Activation::QuickGelu => ("quick_gelu", "op_quick_gelu", "back_quick_gelu"),
        }
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        self.names().0
    }

    /// The function in MSL.
    pub(crate) fn function(self) -> &'static str {
        self.names().1
    }

    pub(crate) fn parameters(self) -> [f32; 4] {
        match self {
            Activation::LeakyRelu(slope) => [slope, 0.0, 0.0, 0.0],
            Activation::Elu(alpha) | Activation::Celu(alpha) => [alpha, 0.0, 0.0, 0.0],
            Activation::Relu6 => [0.0, 6.0, 0.0, 0.0],
            Activation::HardTanh => [-1.0, 1.0, 0.0, 0.0],
            _ => [0.0; 4],
        }
    }
}

impl Ops {
    /// An activation of each element. Integers are converted to `f32`.
    pub fn activation(&self, activation: Activation, x: &Tensor) -> Result<Tensor, OpError> {
        let (name, function, _) = activation.names();
        let dtype = x.dtype().to_float();
        self.map(name, function, Computed { out: dtype, compute: dtype }, x, activation.parameters())
    }

    /// The gradient of an activation's input, from that input and the gradient of the output.
    pub fn activation_backward(
        &self,
        activation: Activation,
        x: &Tensor,
        gradient: &Tensor,
    ) -> Result<Tensor, OpError> {
        let (name, _, function) = activation.names();
        self.check_gradient(name, x, gradient)?;
        let computed = Computed { out: x.dtype(), compute: DType::F32 };
        self.map2(name, function, computed, [x, gradient], Some(activation.parameters()))
    }

    /// [`Activation::Relu`].
    pub fn relu(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.activation(Activation::Relu, x)
    }

    /// [`Activation::Gelu`].
    pub fn gelu(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.activation(Activation::Gelu, x)
    }

    /// [`Activation::Silu`].
    pub fn silu(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.activation(Activation::Silu, x)
    }

    /// [`Activation::Sigmoid`].
    pub fn sigmoid(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.activation(Activation::Sigmoid, x)
    }

    /// [`Activation::Tanh`].
    pub fn tanh(&self, x: &Tensor) -> Result<Tensor, OpError> {
        self.activation(Activation::Tanh, x)
    }
}
