//! `mul_mv.metal` and `mul_mm.metal`: products where numbers choose the matrix, as in a mixture of experts,
//! the lists of tokens that each expert gets, and the measure that large numbers are scaled by.

use super::kargs::Kargs;
use super::launch::{dispatch, ends_with, output};
use super::matrix::Rows;
use super::tensor::{Order, Tensor};
use crate::candle::input::Inputs;
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Faults};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::suite::Level;

const F32: Dtype = Dtype::F32;
const I32: Dtype = Dtype::I32;

/// Parts that the largest number is looked for in.
const PARTS: usize = 256;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    if let Some(used) = kernel.strip_prefix("kernel_mul_mm_id_map0_ne20_") {
        let used: usize = used.parse().ok()?;
        return Some(
            [(32, 5), (24, 70)].map(|(experts, tokens)| lists(kernel, used, experts, tokens)).into(),
        );
    }
    match kernel {
        "kernel_mul_mm_id_amax_part_f32" => {
            return Some([[1, 1, 1], [33, 9, 2], [300, 40, 10]].map(|size| parts(kernel, size)).into());
        }
        "kernel_mul_mm_id_amax_f32" => {
            return Some([0.0, 1000.0, 40_000.0, 3e7].map(|largest| scales(kernel, largest)).into());
        }
        _ => {}
    }
    let name = kernel.strip_prefix("kernel_mul_m")?;
    let is_vector = name.starts_with('v');
    let types = name.strip_prefix(if is_vector { "v_id_" } else { "m_id_" })?;
    let types = types.strip_suffix("_4").unwrap_or(types);
    let (first, second) = types.rsplit_once('_')?;
    let (first, second) = (Format::named(first)?, Format::named(second)?);
    let unit = first.elements.max(if is_vector { 64 } else { 32 });
    // Rows that are no multiple of anything, where a format allows them.
    let ragged = match (first.plain().is_some(), is_vector) {
        (true, true) if !kernel.ends_with("_4") => 131,
        (true, true) => 132,
        (true, false) => 48,
        (false, _) => 2 * unit,
    };
    let shape = |k, n, tokens, used, shared, large| Shape { k, n, tokens, used, shared, large };
    let shapes = match is_vector {
        true => vec![shape(unit, 13, 3, 2, false, false), shape(ragged, 35, 2, 3, true, false)],
        false => vec![
            shape(unit, 70, 40, 2, false, false),
            shape(ragged, 64, 9, 3, true, false),
            shape(unit, 5, 70, 1, false, second.name == "f32"),
        ],
    };
    let case = |shape| product(kernel, is_vector, first, second, shape);
    Some(shapes.into_iter().map(case).collect())
}

/// What differs between the cases of a product.
#[derive(Clone, Copy, Debug)]
struct Shape {
    k: usize,
    n: usize,
    tokens: usize,
    /// Experts that each token has.
    used: usize,
    /// All experts of a token get the same vector.
    shared: bool,
    /// Numbers are larger than `half` can hold.
    large: bool,
}

const EXPERTS: usize = 5;

/// Different experts for each token.
fn choices(used: usize, experts: usize, tokens: usize) -> Tensor {
    let mut inputs = Inputs::new(451);
    let chosen = (0..tokens).flat_map(|_| inputs.permutation(experts)[..used].to_vec());
    let ids = Data::from_integers(I32, chosen.map(|expert| expert as i128).collect::<Vec<_>>());
    Tensor::of_data(&ids, [used, tokens, 1, 1], Order::Padded)
}

fn product(kernel: &str, is_vector: bool, first: Format, second: Format, shape: Shape) -> Case {
    let Shape { k, n, tokens, used, shared, large } = shape;
    let a = Tensor::random(first, 452, [k, n, EXPERTS, 1], Order::Contiguous);
    let vectors = if shared { 1 } else { used };
    let b = match large {
        true => Tensor::between(F32, 453, [k, vectors, tokens, 1], Order::Contiguous, -1e5, 1e5),
        false => Tensor::random(second, 453, [k, vectors, tokens, 1], Order::Padded),
    };
    let ids = choices(used, EXPERTS, tokens);
    let ne = [n, used, tokens, 1];
    let (mut expected, mut magnitude) = (Data::new(F32), 0.0f64);
    for [row, slot, token, _] in Tensor::places(ne) {
        let expert = ids.at([slot, token, 0, 0]) as usize;
        let terms = (0..k).map(|i| a.at([i, row, expert, 0]) * b.at([i, slot, token, 0]));
        magnitude = magnitude.max(terms.clone().map(f64::abs).sum());
        expected.push_number(terms.sum());
    }
    let out = Tensor::shape(ne, 4);
    let of = |name| Kargs::new(name).tensor("0", &a).tensor("1", &b).tensor("2", &ids).tensor("", &out);
    let rounding = match first.name {
        _ if is_vector => 2e-6,
        "bf16" | "mxfp4" => Dtype::BF16.epsilon(),
        _ => 1.5 * Dtype::F16.epsilon(),
    };
    let tolerance = Tolerance::Near { relative: 0.0, absolute: rounding * magnitude };
    let name = format!("{shape:?}");
    if is_vector {
        let rows = Rows::of(first, k, false);
        let kargs = of("mul_mv_id")
            .set("nei0", used)
            .set("nei1", tokens)
            .set("nbi1", ids.nb[1])
            .set("nr0", rows.rows);
        let groups = [n.div_ceil(rows.of_group), 1, used * tokens];
        let launch = dispatch(kernel, groups, [32, rows.groups, 1], &kargs).scalar(&a.bytes).scalar(&b.bytes);
        let launch = rows.bind(launch.data(&untouched(&expected)).scalar(&ids.bytes), [1, 1, 1]);
        let case = Case::near(name, launch, 3, guarded(expected), tolerance, tolerance);
        // The last threadgroup reads rows after the last one.
        return Case { faults: Faults::Harmless, ..case };
    }
    let kargs = of("mul_mm_id").set("r2", 1).set("r3", 1);
    let [counts, tokens_of] = lists_of(&ids, EXPERTS);
    let launch = dispatch(kernel, [tokens.div_ceil(32), n.div_ceil(64), EXPERTS], [128, 1, 1], &kargs);
    let launch = launch.scalar(&a.bytes).scalar(&b.bytes).data(&counts).data(&tokens_of);
    let scale = scale_of(if large { 1e5 } else { 0.0 });
    let launch = launch.data(&untouched(&expected)).data(&Data::from_numbers(F32, [1.0 / scale, scale]));
    let launch = launch.threadgroup(0, 8192).constant(700, Constant::Bool(!k.is_multiple_of(32)));
    let launch = launch.constant(706, Constant::Bool(large));
    Case::near(name, launch, 5, guarded(expected), tolerance, tolerance)
}

/// How many tokens each expert has, and which: as numbers of all choices, rows as long as there are tokens.
///
/// What follows a list is what the kernel leaves there: the last token, if it is none of the expert's.
fn lists_of(ids: &Tensor, experts: usize) -> [Data; 2] {
    let [used, tokens, ..] = ids.ne;
    let mut counts = Data::new(I32);
    let mut all = Data::new(I32);
    for expert in 0..experts {
        let chosen = (0..tokens * used).filter(|i| ids.at([i % used, i / used, 0, 0]) as usize == expert);
        let mut list: Vec<i128> = chosen.map(|i| i as i128).collect();
        counts.push_integer(list.len() as i128);
        let last = ((tokens - 1) * used) as i128;
        if list.last().is_none_or(|&number| number < last) {
            list.push(last - 1);
        }
        list.resize(tokens, 0x5a5a_5a5a);
        list.into_iter().for_each(|number| all.push_integer(number));
    }
    [counts, all]
}

fn lists(kernel: &str, used: usize, experts: usize, tokens: usize) -> Case {
    let ids = choices(used, experts, tokens);
    let [counts, all] = lists_of(&ids, experts);
    let kargs = Kargs::new("mul_mm_id_map0").tensor("2", &ids).set("ne02", experts).set("ne11", used);
    let launch = dispatch(kernel, [1, 1, 1], [experts, 1, 1], &kargs).scalar(&ids.bytes);
    let launch = launch.data(&untouched(&counts)).data(&untouched(&all));
    let launch = launch.threadgroup(0, (2 * experts * used).next_multiple_of(16) as u64);
    let case = Case::exact(format!("{experts} experts, {tokens} tokens"), launch, 2, Data::new(I32));
    Case { expected: vec![output(2, counts, Tolerance::Exact), output(3, all, Tolerance::Exact)], ..case }
}

fn parts(kernel: &str, [columns, rows, batches]: [usize; 3]) -> Case {
    let ne = [columns, rows, batches, 1];
    let input = Tensor::between(F32, 454, ne, Order::Padded, -9.0, 9.0);
    let mut largest = vec![0.0f64; PARTS];
    for [i0, i1, i2, _] in Tensor::places(ne) {
        let part = &mut largest[(i2 * rows + i1) % PARTS];
        *part = part.max(input.at([i0, i1, i2, 0]).abs());
    }
    // Two scales come first.
    let before = f64::from(f32::from_le_bytes([0x5a; 4]));
    let expected = Data::from_numbers(F32, [before, before].into_iter().chain(largest));
    let kargs = Kargs::new("mul_mm_id_amax").tensor("0", &input);
    let launch = dispatch(kernel, [PARTS, 1, 1], [256, 1, 1], &kargs).scalar(&input.bytes);
    let case = ends_with(format!("{ne:?}"), launch, expected, Tolerance::Exact);
    Case { launch: case.launch.clone().threadgroup(0, 128), ..case }
}

/// The power of two that makes numbers smaller than 32,768.
fn scale_of(largest: f64) -> f64 {
    if largest > 32768.0 { (largest.log2().ceil() - 15.0).exp2() } else { 1.0 }
}

fn scales(kernel: &str, largest: f64) -> Case {
    let mut numbers =
        Tensor::between(F32, 455, [PARTS + 2, 1, 1, 1], Order::Contiguous, 0.0, largest).data(F32);
    numbers.bytes[4 * 77..4 * 78].copy_from_slice(&(largest as f32).to_le_bytes());
    let scale = scale_of(largest);
    let mut expected = Data::from_numbers(F32, [1.0 / scale, scale]);
    expected.bytes.extend(&numbers.bytes[8..]);
    let grid = crate::case::Grid::Groups([1, 1, 1]);
    let launch = crate::case::Launch::new(kernel, grid, [32, 1, 1]).data(&guarded(numbers));
    let case = Case::exact(format!("up to {largest}"), launch, 0, Data::new(F32));
    Case { expected: vec![output(0, expected, Tolerance::Exact)], ..case }
}
