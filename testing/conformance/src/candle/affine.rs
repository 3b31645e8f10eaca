//! `affine.metal`: `affine_TYPE`, `powf_TYPE`, `elu_TYPE`, each also `_strided`.

use super::input::Inputs;
use super::layout::{Layout, contiguous, layouts, shape_of};
use super::{guarded, launch, tiles, untouched};
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;
use anymetal_llvm::HostCpu;

const MUL: f32 = 1.5;
const ADD: f32 = 2.25;
const EXPONENT: f32 = 1.75;
const ALPHA: f32 = 0.7;

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let (name, strided) = kernel.strip_suffix("_strided").map_or((kernel, false), |name| (name, true));
    let (operation, dtype) = name.split_once('_')?;
    let dtype = Dtype::named(dtype)?;
    if !["affine", "powf", "elu"].contains(&operation) {
        return None;
    }
    let mut cases = Vec::new();
    for &count in level.sizes() {
        let shape = shape_of(count);
        let views = if strided { layouts(&shape) } else { vec![contiguous(&shape)] };
        cases.extend(views.iter().map(|layout| case(kernel, operation, dtype, strided, layout)));
    }
    Some(cases)
}

fn case(kernel: &str, operation: &str, dtype: Dtype, strided: bool, layout: &Layout) -> Case {
    let count = layout.count();
    let (low, high) = if operation == "powf" { (0.01, 30.0) } else { (-20.0, 60.0) };
    let (low, high) = if operation == "elu" { (-6.0, 6.0) } else { (low, high) };
    let input = Inputs::new(count as u64).numbers(dtype, layout.storage, low, high);
    let numbers = (0..count).map(|i| reference(operation, dtype, input.number(layout.absolute(i))));
    let expected = Data::from_numbers(dtype, numbers);
    let launch = if strided {
        let launch = launch(kernel, count).size(count).size(layout.shape.len());
        launch.sizes(&layout.shape).sizes(&layout.strides)
    } else {
        launch(kernel, tiles(count, dtype.size())).size(count)
    };
    let launch = match operation {
        "affine" => launch.scalar(MUL.to_le_bytes()).scalar(ADD.to_le_bytes()),
        "powf" => launch.scalar(EXPONENT.to_le_bytes()),
        _ => launch.scalar(ALPHA.to_le_bytes()),
    };
    let launch = launch.data_from(&input, layout.offset).data(&untouched(&expected));
    let index = launch.args.len() as u32 - 1;
    let tolerance = match operation {
        "affine" if dtype == Dtype::F32 && !has_fused_multiply_add() => Tolerance::rounding(dtype, 1.0, 64.0),
        "affine" => Tolerance::Exact,
        "powf" if dtype == Dtype::F32 => Tolerance::Ulps(13.0),
        "powf" => Tolerance::Ulps(1.5),
        _ => Tolerance::rounding(dtype, 6.0, 4.0),
    };
    let name = format!("{count} elements, {}", layout.name);
    Case::near(name, launch, index, guarded(expected), tolerance, tolerance)
        .through_library(operation != "affine")
}

/// Products and sums are fused where that is one instruction; both ways are right in fast math.
fn has_fused_multiply_add() -> bool {
    HostCpu::detect().is_ok_and(|processor| processor.vector.fma)
}

fn reference(operation: &str, dtype: Dtype, x: f64) -> f64 {
    let single = |value| Dtype::F32.round(value);
    match operation {
        "affine" => f64::from((single(x) as f32).mul_add(MUL, ADD)),
        "powf" => single(single(x).powf(EXPONENT.into())),
        _ if x > 0.0 => x,
        _ => single(f64::from(ALPHA) * dtype.round(dtype.round(x.exp()) - 1.0)),
    }
}
