//! The `metal` crate's compute examples: a sum with atomics, with buffers and with an argument buffer.

use crate::candle::source;
use crate::case::{Case, Faults, Grid, Launch};
use crate::data::{Data, Dtype};
use crate::execute::Source;
use crate::suite::Level;

/// `shaders.metal`.
pub fn plain() -> Source {
    source("metal", "shaders.metal")
}

/// `compute-argument-buffer.metal`: the buffers' addresses are in a struct in a buffer.
pub fn argument_buffer() -> Source {
    source("metal", "compute-argument-buffer.metal")
}

/// The cases of `sum`: wrapping sums over whole threadgroups of 32.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    if kernel != "sum" {
        return None;
    }
    let case = |&count: &usize| {
        let groups = count.div_ceil(32);
        let data = Data::from_integers(Dtype::U32, (0..groups * 32).map(|i| (i as i128) * 0x0123_4567 + 1));
        let total = (0..data.len()).map(|i| data.integer(i)).sum();
        let launch = match groups {
            0 => Launch::new(kernel, Grid::Threads([0, 1, 1]), [1, 1, 1]),
            _ => Launch::new(kernel, Grid::Groups([groups as u32, 1, 1]), [32, 1, 1]),
        };
        let launch = launch.data(&data).data(&Data::zeros(Dtype::U32, 1));
        Case::exact(format!("{count} elements"), launch, 1, Data::from_integers(Dtype::U32, [total]))
    };
    Some(level.sizes().iter().map(case).collect())
}

/// The case of `sum` with an argument buffer. Executors bind no buffer addresses inside buffers yet, so the
/// struct holds null pointers; a launch must end with a fault instead of touching memory.
pub fn argument_buffer_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let launch = Launch::new(kernel, Grid::Groups([1, 1, 1]), [32, 1, 1]).data(&Data::zeros(Dtype::U64, 2));
    let untouched = Data::zeros(Dtype::U64, 2);
    Some(vec![Case { faults: Faults::Always, ..Case::exact("null addresses", launch, 0, untouched) }])
}
