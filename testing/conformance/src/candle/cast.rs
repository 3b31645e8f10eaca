//! `cast.metal`: `cast_FROM_TO[_strided]`.

use super::input::Inputs;
use super::layout::{Layout, contiguous, layouts, shape_of};
use super::{guarded, launch, tiles, untouched};
use crate::case::Case;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("cast_")?;
    let (name, strided) = name.strip_suffix("_strided").map_or((name, false), |name| (name, true));
    let (from, to) = name.split_once('_')?;
    let (from, to) = (Dtype::named(from)?, Dtype::named(to)?);
    let mut cases = Vec::new();
    for &count in level.sizes() {
        let shape = shape_of(count);
        let views = if strided { layouts(&shape) } else { vec![contiguous(&shape)] };
        cases.extend(views.iter().map(|layout| case(kernel, from, to, strided, layout)));
    }
    Some(cases)
}

fn case(kernel: &str, from: Dtype, to: Dtype, strided: bool, layout: &Layout) -> Case {
    let count = layout.count();
    let input = input(from, layout.storage);
    let mut expected = Data::new(to);
    for number in 0..count {
        let at = layout.absolute(number);
        match from.is_float() {
            true => expected.push_number(input.number(at)),
            false => expected.push_integer(input.integer(at)),
        }
    }
    let launch = if strided {
        let launch = launch(kernel, count).size(count).size(layout.shape.len());
        launch.sizes(&layout.shape).sizes(&layout.strides).data_from(&input, layout.offset)
    } else {
        launch(kernel, tiles(count, from.size())).size(count).data(&input)
    };
    let launch = launch.data(&untouched(&expected));
    let index = if strided { 5 } else { 2 };
    Case::exact(format!("{count} elements, {}", layout.name), launch, index, guarded(expected))
}

/// Typical values first, then ones that do not fit everywhere.
fn input(dtype: Dtype, count: usize) -> Data {
    let mut inputs = Inputs::new(count as u64);
    if !dtype.is_float() {
        return inputs.integers(dtype, count);
    }
    let special =
        [0.0, -0.0, 0.5, -0.75, 1.0, 255.0, 256.0, -1.0, 65504.0, 1e5, -3e9, 1e19, -1e19, 2.5e-8, 3e38];
    let number = |i: usize| match special.get(i % 40) {
        Some(&number) => number,
        None => inputs.between(-300.0, 300.0),
    };
    Data::from_numbers(dtype, (0..count).map(number).collect::<Vec<_>>())
}
