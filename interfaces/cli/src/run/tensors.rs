//! Shapes of the tensors of the command line.
//!
//! Invariant: when [`shapes`] succeeds, every tensor of the kernel has exactly one.

use anymetal::reflection::{ArgumentInfo, ArgumentKind, KernelInfo};
use anymetal::tensor::TensorShape;
use anymetal::texture::BindingRole;

use super::arguments::Bound;
use super::spec::{ArgumentSpec, Spec};
use crate::failure::Failure;

/// Parses `EXTENT[xEXTENT…][:STRIDE[xSTRIDE…]]`, the fastest dimension first.
pub(crate) fn parse_shape(text: &str) -> Result<TensorShape, String> {
    let numbers = |text: &str| -> Result<Vec<u64>, String> {
        let number = |word: &str| word.parse().map_err(|_| format!("`{word}` is no extent or stride"));
        text.split('x').map(number).collect()
    };
    let shape = match text.split_once(':') {
        Some((extents, strides)) => TensorShape::with_strides(&numbers(extents)?, &numbers(strides)?),
        None => TensorShape::new(&numbers(text)?),
    };
    shape.map_err(|error| error.to_string())
}

/// The shapes of all tensors by Metal's index: as given, or as the file of the elements says, or of one
/// dimension.
pub(crate) fn shapes(
    kernel: &KernelInfo,
    specs: &[ArgumentSpec],
    bound: &[Bound],
) -> Result<Vec<(u32, TensorShape)>, Failure> {
    let mut given: Vec<(u32, &TensorShape)> = Vec::new();
    for ArgumentSpec { which, spec } in specs {
        let Spec::Shape(shape) = spec else { continue };
        let argument = which.find(kernel, ArgumentKind::Buffer)?;
        let problem = match tensor_at(kernel, argument.index) {
            None => "it is no tensor",
            Some(_) if given.iter().any(|(index, _)| *index == argument.index) => "its shape is given twice",
            Some(_) => {
                given.push((argument.index, shape));
                continue;
            }
        };
        return Err(describe(kernel, argument, problem));
    }
    let arguments = kernel.arguments.iter().filter(|argument| argument.enabled);
    let tensors = arguments.filter_map(|argument| match argument.role() {
        BindingRole::TensorShape(index) => Some((index, argument)),
        _ => None,
    });
    let shape = |(index, argument): (u32, &ArgumentInfo)| {
        let shape = match given.iter().find(|(given, _)| *given == index) {
            Some((_, shape)) => Some((*shape).clone()),
            None => default_shape(kernel, argument, index, bound),
        };
        let missing = "its shape is missing: write I=shape:EXTENT[xEXTENT…]";
        shape.map(|shape| (index, shape)).ok_or_else(|| describe(kernel, argument, missing))
    };
    tensors.map(shape).collect()
}

fn tensor_at(kernel: &KernelInfo, index: u32) -> Option<&ArgumentInfo> {
    kernel.arguments.iter().find(|argument| argument.role() == BindingRole::TensorShape(index))
}

/// That of the array that the elements are; NumPy has the fastest dimension last.
fn default_shape(
    kernel: &KernelInfo,
    shape: &ArgumentInfo,
    index: u32,
    bound: &[Bound],
) -> Option<TensorShape> {
    let rank = shape.element_size / 16;
    let contents = &bound.iter().find(|bound| bound.index == index)?.contents;
    if let Some(extents) = contents.shape().filter(|extents| extents.len() as u64 == rank) {
        let extents: Vec<u64> = extents.iter().rev().copied().collect();
        return TensorShape::new(&extents).ok();
    }
    let elements = kernel.argument(ArgumentKind::Buffer, index)?;
    let count = contents.bytes().checked_div(elements.element_size)?;
    (rank == 1).then(|| TensorShape::new(&[count]).ok())?
}

fn describe(kernel: &KernelInfo, argument: &ArgumentInfo, problem: &str) -> Failure {
    Failure::Input(format!("kernel `{}`: argument `{}`: {problem}", kernel.name, argument.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_parsed() {
        let shape = parse_shape("4x3:1x8").expect("it is one");
        assert_eq!((shape.extents(), shape.strides()), (&[4, 3][..], &[1, 8][..]));
        assert_eq!(parse_shape("5").expect("it is one").strides(), [1]);
        for bad in ["", "4x", "4x3:1", "ax2", "4x3:1x8:2"] {
            assert!(parse_shape(bad).is_err(), "{bad}");
        }
    }
}
