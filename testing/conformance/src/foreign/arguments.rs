//! Launches of third-party kernels: arguments generated from their types and a seed.
//!
//! Sizes and strides cannot be guessed, so numbers are small and often multiples of eight or 32; what is out
//! of bounds nevertheless has an outcome (the IR's documentation says which). The same seed gives the same
//! launch.

use super::accesses::{Accesses, Facts};
use super::layout::{Layout, Leaf};
use crate::case::{Arg, Binding, Constant, Grid, Launch};
use anymetal_ir::{FunctionConstant, Module, Scalar};
use anymetal_msl::hir::{KernelParamKind, Program, ScalarTy};
use half::{bf16, f16};

/// Bytes of a buffer.
const BUFFER_BYTES: usize = 1 << 16;

/// What integers of parameters are chosen from; the second half of the seeds takes multiples of 32.
const SIZES: [u64; 16] = [1, 2, 3, 4, 5, 7, 8, 8, 16, 24, 31, 32, 33, 40, 64, 96];
const ROUND_SIZES: [u64; 8] = [32, 32, 64, 64, 128, 256, 1, 2];
/// The same for 64-bit ones, which often are distances in bytes.
const DISTANCES: [u64; 8] = [1, 2, 4, 32, 64, 128, 256, 512];

/// Threads per threadgroup, and threadgroups.
const SHAPES: [([u32; 3], [u32; 3]); 8] = [
    ([32, 1, 1], [3, 2, 1]),
    ([64, 1, 1], [2, 1, 2]),
    ([32, 4, 1], [1, 2, 1]),
    ([256, 1, 1], [2, 1, 1]),
    ([8, 8, 1], [2, 2, 1]),
    ([32, 2, 2], [2, 1, 1]),
    ([128, 1, 1], [1, 1, 3]),
    ([512, 1, 1], [1, 2, 1]),
];

/// A small generator (`SplitMix64`), so that runs repeat.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.word() >> 33) % end
    }

    fn of(&mut self, choices: &[u64]) -> u64 {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.word() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// A launch and the layouts of its arguments, in the order of [`Launch::args`].
#[derive(Clone, Debug)]
pub(super) struct Made {
    /// The launch.
    pub(super) launch: Launch,
    /// The layouts; threadgroup memory has one too.
    pub(super) layouts: Vec<Layout>,
}

/// Values for the function constants of the program.
pub(super) fn constants(module: &Module, seed: u64) -> Vec<(u32, Constant)> {
    let mut random = Random(!seed);
    let value = |known: &FunctionConstant| (known.index, constant(known.ty, seed, &mut random));
    module.function_constants.iter().filter(|known| !known.is_hidden()).map(value).collect()
}

/// A launch of the program's kernel; each turn has another threadgroup size.
pub(super) fn make(program: &Program, facts: &Facts, seed: u64, turn: u64) -> Result<Made, String> {
    let mut random = Random(seed);
    let shape = (seed.wrapping_add(3 * turn) % SHAPES.len() as u64) as usize;
    let (group, grid) = shape_of(shape, program.kernel.max_threads, facts, &mut random);
    let mut launch = Launch::new(&program.kernel.name, grid, group);
    let mut layouts = Vec::new();
    for param in program.kernel.arguments() {
        let (binding, element, reference, threadgroup) = match &param.kind {
            KernelParamKind::Buffer { binding, element, is_reference } => {
                (binding, element, *is_reference, false)
            }
            KernelParamKind::ThreadgroupMemory { binding, element, is_reference } => {
                (binding, element, *is_reference, true)
            }
            KernelParamKind::Structure { .. } => unreachable!("its members are in its place"),
            KernelParamKind::Thread { .. } => continue,
            KernelParamKind::Resource { .. } => {
                return Err("it takes a texture or a sampler".to_owned());
            }
            KernelParamKind::StageIn { .. } => return Err("it takes stage-in data".to_owned()),
        };
        if binding.index_by.is_some() {
            return Err("function constants specify its indices".to_owned());
        }
        let index = binding.index;
        let layout = Layout::of(&program.types, element.ty)?;
        let accesses = facts.accesses.get(layouts.len()).cloned().unwrap_or_default();
        let binding = if threadgroup {
            let bytes = if reference { layout.size.next_multiple_of(16) } else { 8192 };
            Binding::Threadgroup(bytes as u64)
        } else if reference {
            Binding::Buffer {
                bytes: contents(&layout, 1, |scalar| parameter_bits(scalar, seed, &mut random)),
                offset: 0,
            }
        } else {
            let bytes = buffer(&layout, &accesses, seed, &mut random);
            Binding::Buffer { bytes, offset: 0 }
        };
        launch.args.push(Arg { index, binding });
        layouts.push(if layout.is_bytes() {
            Layout::of_bytes(&accesses.stored).unwrap_or(layout)
        } else {
            layout
        });
    }
    Ok(Made { launch, layouts })
}

/// Fills a buffer. Bytes that are read as something else are filled with that.
fn buffer(layout: &Layout, accesses: &Accesses, seed: u64, random: &mut Random) -> Vec<u8> {
    let mixed = layout.is_bytes() && accesses.loaded.len() > 1;
    if mixed && accesses.loaded.iter().any(|scalar| scalar.is_float()) {
        return moderate(random);
    }
    let typed = if layout.is_bytes() { Layout::of_bytes(&accesses.loaded) } else { None };
    let layout = typed.as_ref().unwrap_or(layout);
    let count = (BUFFER_BYTES / layout.size).max(1);
    contents(layout, count, |scalar| bits(scalar, seed, random))
}

/// Bytes that are moderate numbers as any type of float, where they are aligned.
fn moderate(random: &mut Random) -> Vec<u8> {
    let sign_and_exponent =
        |random: &mut Random| random.of(&[0x3c, 0x3d, 0x3e, 0x3f, 0xbc, 0xbd, 0xbe, 0xbf]) as u8;
    (0..BUFFER_BYTES)
        .map(|n| if n % 2 == 1 { sign_and_exponent(random) } else { random.word() as u8 })
        .collect()
}

fn shape_of(shape: usize, max_threads: Option<u32>, facts: &Facts, random: &mut Random) -> ([u32; 3], Grid) {
    let fits = |group: &[u32; 3]| group.iter().product::<u32>() <= max_threads.unwrap_or(1024);
    let (group, groups) = SHAPES[shape];
    let group = if fits(&group) { group } else { [max_threads.unwrap_or(32).min(32), 1, 1] };
    // Now and then the last threadgroup is not full.
    let missing =
        if random.below(4) == 0 && !facts.exchanges { random.below(u64::from(group[0])) as u32 } else { 0 };
    let threads = std::array::from_fn(|d| group[d] * groups[d] - if d == 0 { missing } else { 0 });
    (group, if missing > 0 { Grid::Threads(threads) } else { Grid::Groups(groups) })
}

/// The first seed sets what the corpus tool does: `true` and 2.
fn constant(scalar: Scalar, seed: u64, random: &mut Random) -> Constant {
    let first = seed == 0;
    match scalar {
        Scalar::Bool => Constant::Bool(first || random.below(2) == 0),
        scalar if scalar.is_float() => Constant::Float(if first { 2.0 } else { random.between(0.5, 4.0) }),
        _ => Constant::Integer(if first { 2 } else { random.of(&[1, 2, 4, 8, 16, 32, 64]) as i64 }),
    }
}

fn contents(layout: &Layout, count: usize, mut bits: impl FnMut(ScalarTy) -> u64) -> Vec<u8> {
    let mut bytes = vec![0; layout.size * count];
    for element in bytes.chunks_exact_mut(layout.size) {
        for &Leaf { offset, scalar } in &layout.leaves {
            let size = scalar.size() as usize;
            let bits = bits(scalar);
            if let Some(place) = element.get_mut(offset..offset + size) {
                place.copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
    }
    bytes
}

/// A scalar of a parameter: a size, a distance, a factor.
fn parameter_bits(scalar: ScalarTy, seed: u64, random: &mut Random) -> u64 {
    match scalar {
        ScalarTy::Bool => random.below(2),
        ScalarTy::F16 | ScalarTy::BF16 | ScalarTy::F32 => float_bits(scalar, random.between(0.25, 1.5)),
        ScalarTy::I64 | ScalarTy::U64 if seed % 4 < 3 => random.of(&DISTANCES),
        _ if seed % 2 == 1 => random.of(&ROUND_SIZES),
        _ => random.of(&SIZES),
    }
}

/// An element of a buffer. Bytes are all kinds of numbers, since quantised formats are made of them; wider
/// integers may be indices and are small, but for every eighth seed.
fn bits(scalar: ScalarTy, seed: u64, random: &mut Random) -> u64 {
    match scalar {
        ScalarTy::Bool => random.below(2),
        ScalarTy::F16 | ScalarTy::BF16 | ScalarTy::F32 => float_bits(scalar, random.between(-2.0, 2.0)),
        ScalarTy::I8 | ScalarTy::U8 => random.word(),
        _ if seed % 8 == 7 => random.word(),
        ScalarTy::I64 | ScalarTy::U64 => random.below(8),
        _ => random.below(48),
    }
}

fn float_bits(scalar: ScalarTy, value: f64) -> u64 {
    match scalar {
        ScalarTy::F16 => u64::from(f16::from_f64(value).to_bits()),
        ScalarTy::BF16 => u64::from(bf16::from_f64(value).to_bits()),
        _ => u64::from((value as f32).to_bits()),
    }
}
