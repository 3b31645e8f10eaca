//! Elementwise functions, activations, comparisons, copies.

use std::io::Write;

use anymetal_tensor_ops::{Activation, BinaryOp, Comparison, DType, OpError, PadMode, UnaryOp};

use crate::case::Cases;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

pub(crate) fn write(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    unary(cases)?;
    binary(cases)?;
    activations(cases)?;
    others(cases)
}

fn unary(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    let ops = cases.ops();
    for &op in UnaryOp::ALL {
        let (low, high) = match op {
            UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => (0.1, 9.0),
            UnaryOp::Recip => (0.2, 9.0),
            UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atanh | UnaryOp::Log1p => (-0.9, 0.9),
            UnaryOp::Acosh => (1.1, 9.0),
            UnaryOp::Tan => (-1.3, 1.3),
            UnaryOp::BitNot => continue,
            _ => (-4.0, 4.0),
        };
        let name = if op == UnaryOp::Recip { "reciprocal" } else { op.name() };
        for dtype in FLOATS {
            let x = cases.floats(&[5, 37], dtype, low, high)?;
            let y = ops.unary(op, &x)?;
            cases.forward(op.name(), format!("torch.{name}(x0)"), &[&x], &[&y])?;
        }
    }
    let x = cases.indices(&[40], 1000)?;
    let y = ops.bit_not(&x)?;
    cases.forward("bit_not", "~x0", &[&x], &[&y])
}

fn binary(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    let ops = cases.ops();
    let float = [
        (BinaryOp::Add, "x0 + x1"),
        (BinaryOp::Sub, "x0 - x1"),
        (BinaryOp::Mul, "x0 * x1"),
        (BinaryOp::Div, "x0 / x1"),
        (BinaryOp::Minimum, "torch.minimum(x0, x1)"),
        (BinaryOp::Maximum, "torch.maximum(x0, x1)"),
        (BinaryOp::Pow, "x0 ** x1"),
        (BinaryOp::Atan2, "torch.atan2(x0, x1)"),
        (BinaryOp::Hypot, "torch.hypot(x0, x1)"),
        (BinaryOp::Rem, "torch.fmod(x0, x1)"),
        (BinaryOp::Logaddexp, "torch.logaddexp(x0, x1)"),
        (BinaryOp::Copysign, "torch.copysign(x0, x1)"),
    ];
    for (op, expr) in float {
        for dtype in FLOATS {
            let (a, b) =
                (cases.floats(&[4, 1, 33], dtype, 0.3, 3.0)?, cases.floats(&[5, 1], dtype, 0.3, 3.0)?);
            let y = ops.binary(op, &a, &b)?;
            cases.forward(op.name(), expr, &[&a, &b], &[&y])?;
        }
    }
    let integer = [
        (BinaryOp::Div, "torch.div(x0, x1 + 1, rounding_mode='trunc')"),
        (BinaryOp::Rem, "torch.fmod(x0, x1 + 1)"),
        (BinaryOp::BitAnd, "x0 & (x1 + 1)"),
        (BinaryOp::BitOr, "x0 | (x1 + 1)"),
        (BinaryOp::BitXor, "x0 ^ (x1 + 1)"),
        (BinaryOp::Shl, "x0 << (x1 + 1)"),
        (BinaryOp::Shr, "x0 >> (x1 + 1)"),
        (BinaryOp::Pow, "x0 ** (x1 + 1)"),
    ];
    for (op, expr) in integer {
        let (a, b) = (cases.indices(&[4, 21], 900)?, cases.indices(&[21], 8)?);
        let one = ops.scalar(1i64)?;
        let y = ops.binary(op, &a, &ops.add(&b, &one)?)?;
        cases.forward(op.name(), expr, &[&a, &b], &[&y])?;
    }
    for &comparison in Comparison::ALL {
        let (a, b) = (cases.indices(&[4, 21], 3)?, cases.indices(&[21], 3)?);
        let function = match comparison {
            Comparison::Eq => "eq",
            Comparison::Ne => "ne",
            Comparison::Lt => "lt",
            Comparison::Le => "le",
            Comparison::Gt => "gt",
            Comparison::Ge => "ge",
            Comparison::And => "logical_and",
            Comparison::Or => "logical_or",
            Comparison::Xor => "logical_xor",
        };
        let y = ops.compare(comparison, &a, &b)?;
        cases.forward("compare", format!("torch.{function}(x0, x1)"), &[&a, &b], &[&y])?;
    }
    Ok(())
}

fn activations(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    let ops = cases.ops();
    for activation in Activation::ALL {
        let expr = match activation {
            Activation::LeakyRelu(slope) => format!("F.leaky_relu(x0, {slope})"),
            Activation::Elu(alpha) => format!("F.elu(x0, {alpha})"),
            Activation::Celu(alpha) => format!("F.celu(x0, {alpha})"),
            Activation::QuickGelu => "x0 * torch.sigmoid(1.702 * x0)".to_owned(),
            Activation::GeluTanh => "F.gelu(x0, approximate='tanh')".to_owned(),
            Activation::HardSigmoid => "F.hardsigmoid(x0)".to_owned(),
            Activation::HardSwish => "F.hardswish(x0)".to_owned(),
            Activation::HardTanh => "F.hardtanh(x0)".to_owned(),
            other => format!("F.{}(x0)", other.name()),
        };
        for dtype in FLOATS {
            let (x, g) =
                (cases.floats(&[6, 50], dtype, -5.0, 5.0)?, cases.floats(&[6, 50], dtype, -1.0, 1.0)?);
            let y = ops.activation(activation, &x)?;
            cases.forward(activation.name(), expr.as_str(), &[&x], &[&y])?;
            let of_x = ops.activation_backward(activation, &x, &g)?;
            cases.backward(activation.name(), expr.as_str(), &[&x], &g, &[&of_x])?;
        }
    }
    Ok(())
}

fn others(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[4, 9, 11], DType::F32, -3.0, 3.0)?;
    let y = cases.floats(&[4, 9, 11], DType::F32, -3.0, 3.0)?;
    let z = cases.floats(&[11], DType::F32, -3.0, 3.0)?;
    cases.forward("affine", "x0 * 2.5 - 1.25", &[&x], &[&ops.affine(&x, 2.5, -1.25)?])?;
    cases.forward("clamp", "x0.clamp(-1, 2)", &[&x], &[&ops.clamp(&x, -1.0, 2.0)?])?;
    let between = ops.clamp_between(&x, &ops.neg(&ops.abs(&z)?)?, &ops.abs(&z)?)?;
    cases.forward("clamp_between", "x0.clamp(-x1.abs(), x1.abs())", &[&x, &z], &[&between])?;
    cases.forward("fma", "x0 * x1 + x2", &[&x, &y, &z], &[&ops.fma(&x, &y, &z)?])?;
    cases.forward("lerp", "torch.lerp(x0, x1, x2)", &[&x, &y, &z], &[&ops.lerp(&x, &y, &z)?])?;
    let chosen = ops.where_(&ops.compare(Comparison::Gt, &x, &z)?, &x, &y)?;
    cases.forward("where", "torch.where(x0 > x2, x0, x1)", &[&x, &y, &z], &[&chosen])?;
    cases.forward("cast", "x0.to(torch.int64)", &[&x], &[&ops.cast(&x, DType::I32)?])?;
    cases.forward("tril", "torch.tril(x0, -1)", &[&x], &[&ops.tril(&x, -1)?])?;
    cases.forward("triu", "torch.triu(x0, 2)", &[&x], &[&ops.triu(&x, 2)?])?;
    let joined = ops.concat(&[&x, &y.narrow(1, 2..5)?], 1)?;
    cases.forward("concat", "torch.cat([x0, x1[:, 2:5]], 1)", &[&x, &y], &[&joined])?;
    cases.forward("stack", "torch.stack([x0, x1], -1)", &[&x, &y], &[&ops.stack(&[&x, &y], -1)?])?;
    let padded = ops.pad(&x, &[(0, 1), (2, 0), (3, 4)], 1.5)?;
    cases.forward("pad", "F.pad(x0, (3, 4, 2, 0, 0, 1), value=1.5)", &[&x], &[&padded])?;
    let pads = [(1, 2), (0, 3), (4, 0)];
    for (mode, text) in [(PadMode::Reflect, "reflect"), (PadMode::Replicate, "replicate")] {
        let expr = format!("F.pad(x0[None], (4, 0, 0, 3, 1, 2), mode='{text}')[0]");
        let padded = ops.pad_with(&x, &pads, mode)?;
        cases.forward("pad_with", expr.as_str(), &[&x], &[&padded])?;
        let g = cases.floats(padded.shape(), DType::F32, -1.0, 1.0)?;
        cases.backward("pad_with", expr, &[&x], &g, &[&ops.pad_with_backward(&g, &pads, mode)?])?;
    }
    cases.forward("repeat", "x0.repeat(2, 1, 3, 2)", &[&x], &[&ops.repeat(&x, &[2, 1, 3, 2])?])?;
    cases.forward("diag", "torch.diag(x0, -2)", &[&z], &[&ops.diag(&z, -2)?])?;
    cases.forward("diag", "torch.diag(x0[1], 3)", &[&x], &[&ops.diag(&x.select(0, 1)?, 3)?])?;
    cases.forward(
        "nonzero",
        "(x0 > 1).nonzero()",
        &[&x],
        &[&ops.nonzero(&ops.compare(Comparison::Gt, &x, &ops.scalar(1.0f32)?)?)?],
    )?;
    let mask = ops.compare(Comparison::Gt, &z, &ops.scalar(0.0f32)?)?;
    cases.forward(
        "masked_select",
        "x0.masked_select(x1 > 0)",
        &[&x, &z],
        &[&ops.masked_select(&x, &mask)?],
    )?;
    cases.forward("roll", "torch.roll(x0, 3, 1)", &[&x], &[&ops.roll(&x, 3, 1)?])?;
    cases.forward("flip", "torch.flip(x0, [2])", &[&x], &[&x.flip(2)?])?;
    let permuted = ops.reshape(&x.permute(&[2, 0, 1])?, &[44, 9])?;
    cases.forward("permute", "x0.permute(2, 0, 1).reshape(44, 9)", &[&x], &[&permuted])?;
    cases.forward(
        "arange",
        "x0 * 0 + torch.arange(11) * 0.5 + 2",
        &[&z],
        &[&ops.arange(11, 2.0, 0.5, DType::F32)?],
    )?;
    cases.forward("eye", "torch.eye(11) + x0 * 0", &[&z], &[&ops.eye(11, DType::F32)?])
}
