//! `fill.metal`: `fill_TYPE(out, value, count)`.

use super::{guarded, launch, untouched};
use crate::case::Case;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let dtype = Dtype::named(kernel.strip_prefix("fill_")?)?;
    let case = |&count: &usize| {
        let value = Data::from_numbers(dtype, [42.5]);
        let expected = value.pick(std::iter::repeat_n(0, count));
        let launch = launch(kernel, count).data(&untouched(&expected)).scalar(&value.bytes).size(count);
        Case::exact(format!("{count} elements"), launch, 0, guarded(expected))
    };
    Some(level.sizes().iter().map(case).collect())
}
