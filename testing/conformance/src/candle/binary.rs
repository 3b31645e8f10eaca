//! `binary.metal`: arithmetic and comparisons of two tensors, each contiguous, strided or a scalar.

use super::input::Inputs;
use super::layout::{Layout, contiguous, layouts, shape_of};
use super::{guarded, launch, tiles, untouched};
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// How a kernel finds an operand's element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Indexing {
    Contiguous,
    Strided,
    Scalar,
}

use Indexing::{Contiguous, Scalar, Strided};

/// Suffixes of kernels, with the indexing of both operands; the plain kernel takes no strides.
const VARIANTS: &[(&str, Indexing, Indexing)] = &[
    ("_lstrided", Strided, Contiguous),
    ("_rstrided", Contiguous, Strided),
    ("_strided", Strided, Strided),
    ("_scalar", Scalar, Scalar),
    ("_cs", Contiguous, Scalar),
    ("_sc", Scalar, Contiguous),
    ("_rss", Scalar, Strided),
    ("_lss", Strided, Scalar),
];

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let variant = VARIANTS.iter().find(|(suffix, ..)| kernel.ends_with(suffix));
    let name = variant.map_or(kernel, |(suffix, ..)| &kernel[..kernel.len() - suffix.len()]);
    let (operation, dtype) = name.split_once('_')?;
    let kind = Kind { operation: Operation::named(operation)?, dtype: Dtype::named(dtype)? };
    let mut cases = Vec::new();
    for &count in level.sizes() {
        let shape = shape_of(count);
        let Some(&(_, left, right)) = variant else {
            cases.push(case(kernel, kind, false, &contiguous(&shape), &contiguous(&shape)));
            continue;
        };
        let (lefts, rights) = (views(left, &shape), views(right, &shape));
        // Every left view with every right one once: the longer list decides, the shorter one turns around.
        for number in 0..lefts.len().max(rights.len()) {
            let (left, right) = (&lefts[number % lefts.len()], &rights[(number + 1) % rights.len()]);
            cases.push(case(kernel, kind, true, left, right));
        }
    }
    Some(cases)
}

fn views(indexing: Indexing, shape: &[usize]) -> Vec<Layout> {
    match indexing {
        Contiguous => vec![contiguous(shape)],
        Strided => layouts(shape),
        Scalar => {
            let strides = vec![0; shape.len()];
            vec![Layout { name: "scalar", shape: shape.to_vec(), strides, offset: 0, storage: 1 }]
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
    Minimum,
    Maximum,
    Eq,
    Ne,
    Le,
    Lt,
    Ge,
    Gt,
}

impl Operation {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "badd" => Self::Add,
            "bsub" => Self::Sub,
            "bmul" => Self::Mul,
            "bdiv" => Self::Div,
            "bminimum" => Self::Minimum,
            "bmaximum" => Self::Maximum,
            "eq" => Self::Eq,
            "ne" => Self::Ne,
            "le" => Self::Le,
            "lt" => Self::Lt,
            "ge" => Self::Ge,
            "gt" => Self::Gt,
            _ => return None,
        })
    }

    /// The outcome of a comparison.
    fn compare<T: PartialOrd>(self, x: T, y: T) -> Option<bool> {
        Some(match self {
            Self::Eq => x == y,
            Self::Ne => x != y,
            Self::Le => x <= y,
            Self::Lt => x < y,
            Self::Ge => x >= y,
            Self::Gt => x > y,
            _ => return None,
        })
    }

    fn number(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x * y,
            Self::Div => x / y,
            Self::Minimum => x.min(y),
            _ => x.max(y),
        }
    }

    fn integer(self, x: i128, y: i128) -> i128 {
        match self {
            Self::Add => x + y,
            Self::Sub => x - y,
            Self::Mul => x * y,
            Self::Div => x / y,
            Self::Minimum => x.min(y),
            _ => x.max(y),
        }
    }

    fn is_comparison(self) -> bool {
        self.compare(0, 0).is_some()
    }
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    operation: Operation,
    dtype: Dtype,
}

impl Kind {
    /// Few distinct values for comparisons, so that some are equal; no zero to divide by.
    fn input(self, seed: u64, count: usize) -> Data {
        let mut inputs = Inputs::new(seed);
        let Kind { operation, dtype } = self;
        if operation.is_comparison() {
            return inputs.numbers(dtype, count, 0.0, 9.0).rounded();
        }
        match (dtype.is_float(), operation) {
            (true, Operation::Div) => inputs.numbers(dtype, count, 0.5, 40.0),
            (true, _) => inputs.numbers(dtype, count, -50.0, 50.0),
            (false, Operation::Div) => inputs.numbers(dtype, count, 1.0, 200.0),
            (false, _) => inputs.integers(dtype, count),
        }
    }

    fn expected(self, left: &Data, right: &Data) -> Data {
        let Kind { operation, dtype } = self;
        let pairs = 0..left.len();
        if operation.is_comparison() {
            let outcomes = pairs.filter_map(|i| match dtype.is_float() {
                true => operation.compare(left.number(i), right.number(i)),
                false => operation.compare(left.integer(i), right.integer(i)),
            });
            return Data::from_integers(Dtype::BOOL, outcomes.map(i128::from));
        }
        match dtype.is_float() {
            true => {
                Data::from_numbers(dtype, pairs.map(|i| operation.number(left.number(i), right.number(i))))
            }
            false => Data::from_integers(
                dtype,
                pairs.map(|i| operation.integer(left.integer(i), right.integer(i))),
            ),
        }
    }

    /// Fast division may be off by 2.5 units.
    fn tolerance(self) -> Tolerance {
        match (self.operation, self.dtype) {
            (Operation::Div, Dtype::F32) => Tolerance::Ulps(2.5),
            (Operation::Div, Dtype::F16 | Dtype::BF16) => Tolerance::Ulps(1.0),
            _ => Tolerance::Exact,
        }
    }
}

impl Data {
    /// Whole numbers only.
    fn rounded(self) -> Self {
        let numbers: Vec<f64> = (0..self.len()).map(|i| self.number(i).floor()).collect();
        Self::from_numbers(self.dtype, numbers)
    }
}

fn case(kernel: &str, kind: Kind, strided: bool, left: &Layout, right: &Layout) -> Case {
    let count = left.count();
    let (left_data, right_data) = (kind.input(3, left.storage), kind.input(8, right.storage));
    let left_used = left_data.pick((0..count).map(|i| left.absolute(i)));
    let right_used = right_data.pick((0..count).map(|i| right.absolute(i)));
    let expected = kind.expected(&left_used, &right_used);
    let mut launch = launch(kernel, tiles(count, kind.dtype.size())).size(count);
    if strided {
        launch = launch.size(left.shape.len()).sizes(&left.shape).sizes(&left.strides).sizes(&right.strides);
    }
    let launch = launch.data_from(&left_data, left.offset).data_from(&right_data, right.offset);
    let launch = launch.data(&untouched(&expected));
    let index = launch.args.len() as u32 - 1;
    let name = format!("{count} elements, {} and {}", left.name, right.name);
    Case::near(name, launch, index, guarded(expected), kind.tolerance(), kind.tolerance())
}
