//! `ternary.metal`: `where_CONDITION_TYPE`, with function constants that say which operand is contiguous.

use super::input::Inputs;
use super::layout::{contiguous, layouts, shape_of};
use super::{guarded, launch, tiles, untouched};
use crate::case::{Case, Constant};
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let (condition, dtype) = kernel.strip_prefix("where_")?.split_once('_')?;
    let (condition, dtype) = (Dtype::named(condition)?, Dtype::named(dtype)?);
    let mut cases = Vec::new();
    for constants in [[true; 3], [false; 3], [true, false, true], [false, true, false]] {
        for &count in level.sizes() {
            cases.push(case(kernel, condition, dtype, count, constants));
        }
    }
    Some(cases)
}

fn case(kernel: &str, condition: Dtype, dtype: Dtype, count: usize, is_contiguous: [bool; 3]) -> Case {
    let shape = shape_of(count);
    let view = |operand: usize| match is_contiguous[operand] {
        true => contiguous(&shape),
        false => layouts(&shape).swap_remove(1 + operand),
    };
    let views = [view(0), view(1), view(2)];
    let mut inputs = Inputs::new(count as u64);
    let chosen = inputs.indices(condition, views[0].storage, 3);
    let values = [1, 2].map(|operand| inputs.numbers(dtype, views[operand].storage, -99.0, 99.0));
    let mut expected = Data::new(dtype);
    for number in 0..count {
        let operand = if chosen.integer(views[0].absolute(number)) != 0 { 0 } else { 1 };
        let at = views[1 + operand].absolute(number);
        expected.bytes.extend(values[operand].pick([at]).bytes);
    }
    let launch = launch(kernel, tiles(count, dtype.size())).size(count).size(shape.len()).sizes(&shape);
    let launch = views.iter().fold(launch, |launch, view| launch.sizes(&view.strides));
    let launch = launch.data_from(&chosen, views[0].offset);
    let launch = launch.data_from(&values[0], views[1].offset).data_from(&values[1], views[2].offset);
    let launch = launch.data(&untouched(&expected));
    let set = |launch: crate::case::Launch, (index, &value)| launch.constant(index, Constant::Bool(value));
    let launch = (0..).zip(&is_contiguous).fold(launch, set);
    Case::exact(format!("{count} elements, contiguous {is_contiguous:?}"), launch, 9, guarded(expected))
}
