//! Families of candle's kernels, with references.
//!
//! Each file is one source of `candle-metal-kernels`: it takes an entry point's name apart (operation, types,
//! variant), binds arguments as candle's host code does, and computes what must come out. A name that it does
//! not know is a failure of the suite, so that nothing is left out. Start with [`FAMILIES`].

pub mod affine;
pub mod attention;
pub mod binary;
pub mod cast;
pub mod convolution;
pub mod fill;
pub mod indexing;
pub mod input;
pub mod layout;
pub mod matrix;
pub mod mlx_sort;
pub mod quantized;
pub mod random;
pub mod reduce;
pub mod sort;
pub mod ternary;
pub mod unary;

use crate::case::{Grid, Launch};
use crate::data::Data;
use crate::execute::{Math, Source};
use crate::suite::CasesOf;
use anymetal_harness::corpus;
use std::path::Path;

/// A source with its references.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The file, without `.metal`.
    pub name: &'static str,
    /// Its references.
    pub cases_of: CasesOf,
}

/// All families.
pub const FAMILIES: &[Family] = &[
    Family { name: "fill", cases_of: fill::cases },
    Family { name: "cast", cases_of: cast::cases },
    Family { name: "affine", cases_of: affine::cases },
    Family { name: "unary", cases_of: unary::cases },
    Family { name: "binary", cases_of: binary::cases },
    Family { name: "ternary", cases_of: ternary::cases },
    Family { name: "indexing", cases_of: indexing::cases },
    Family { name: "sort", cases_of: sort::cases },
    Family { name: "random", cases_of: random::cases },
    Family { name: "conv", cases_of: convolution::cases },
    Family { name: "reduce", cases_of: reduce::cases },
    Family { name: "mlx_sort", cases_of: mlx_sort::cases },
    Family { name: "gemv", cases_of: matrix::gemv_cases },
    Family { name: "mlx_gemm", cases_of: matrix::gemm_cases },
    Family { name: "scaled_dot_product_attention", cases_of: attention::cases },
    Family { name: "quantized", cases_of: quantized::cases },
];

/// The family of that name.
///
/// # Panics
/// If there is none.
pub fn family(name: &str) -> Family {
    let found = FAMILIES.iter().find(|family| family.name == name);
    *found.unwrap_or_else(|| panic!("there is no family `{name}`"))
}

impl Family {
    /// Its source, from cargo's copy of candle.
    ///
    /// # Panics
    /// If cargo does not find it: the tests need the crate's sources.
    pub fn source(&self) -> Source {
        source("candle-metal-kernels", &format!("{}.metal", self.name))
    }
}

/// A corpus file as a source.
///
/// # Panics
/// If cargo does not find it.
pub fn source(package: &str, name: &str) -> Source {
    let files = corpus::files(package).unwrap_or_else(|error| panic!("{error}"));
    let file = files.into_iter().find(|file| file.name == name);
    let file = file.unwrap_or_else(|| panic!("{package} has no {name}"));
    let text = std::fs::read_to_string(&file.path).unwrap_or_else(|error| panic!("{name}: {error}"));
    let folder = file.path.parent().map(Path::to_path_buf);
    let include_dirs = folder.into_iter().chain(file.include_dirs).collect();
    Source { name: name.to_owned(), text, include_dirs, math: Math::Fast, ..Source::default() }
}

/// Elements after an output that must not change.
const GUARD: usize = 8;

/// What outputs hold before a launch.
const UNTOUCHED: u8 = 0x5a;

/// candle's `linear_split`: threadgroups of up to 1024 threads.
fn linear(threads: usize) -> (Grid, [u32; 3]) {
    let width = threads.clamp(1, 1024) as u32;
    match threads {
        // candle launches nothing then.
        0 => (Grid::Threads([0, 1, 1]), [1, 1, 1]),
        _ => (Grid::Groups([(threads as u32).div_ceil(width), 1, 1]), [width, 1, 1]),
    }
}

/// candle's tiles: threads that each do about 8 bytes.
fn tiles(count: usize, element_size: usize) -> usize {
    count.div_ceil((8 / element_size).max(1))
}

/// A launch of that many threads.
fn launch(kernel: &str, threads: usize) -> Launch {
    let (grid, group) = linear(threads);
    Launch::new(kernel, grid, group)
}

/// An output buffer before the launch: `count` elements and a guard.
pub(crate) fn untouched(expected: &Data) -> Data {
    let size = expected.dtype.size();
    Data { dtype: expected.dtype, bytes: vec![UNTOUCHED; expected.bytes.len() + GUARD * size] }
}

/// What an output buffer must hold: the elements, and the guard as it was.
pub(crate) fn guarded(mut expected: Data) -> Data {
    let size = expected.dtype.size();
    expected.bytes.extend(std::iter::repeat_n(UNTOUCHED, GUARD * size));
    expected
}
