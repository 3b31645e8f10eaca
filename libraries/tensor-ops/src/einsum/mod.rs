//! Einstein sums over any number of operands: products and sums by named dimensions.
//!
//! Owns [`Ops::einsum`]. Operands are contracted two at a time, as batched products of matrices. Invariant: a
//! label goes as soon as neither the result nor an operand that is left has it.

mod subscripts;

use std::collections::BTreeMap;

use crate::context::Ops;
use crate::dtype::DType;
use crate::error::OpError;
use crate::matmul::MatmulOptions;
use crate::tensor::Tensor;
use subscripts::{Label, Subscripts, check_rank, mistake};

/// A tensor whose dimensions have names, each once.
#[derive(Debug, Clone)]
struct Labelled {
    tensor: Tensor,
    labels: Vec<Label>,
}

/// The elements of each label's dimension.
type Extents = BTreeMap<Label, usize>;

impl Labelled {
    fn has(&self, label: Label) -> bool {
        self.labels.contains(&label)
    }

    /// With its dimensions in another order; each label is one of its own.
    fn in_order(&self, labels: &[Label]) -> Result<Tensor, OpError> {
        let places = labels.iter().filter_map(|label| self.labels.iter().position(|own| own == label));
        self.tensor.permute(&places.collect::<Vec<_>>())
    }
}

impl Ops {
    /// The sum of products that subscripts name, as NumPy's and PyTorch's `einsum`: letters name dimensions,
    /// `...` are leading ones that broadcast; those that the result does not name are summed. Without `->`
    /// the result has the letters that are there once, in the order of the alphabet. A letter twice in an
    /// operand is its diagonal. Dimensions of one element broadcast.
    ///
    /// All operands are taken in their common type, which is the result's; it is a type of numbers. Of more
    /// than two operands those are multiplied first whose product grows least, and it is rounded to that
    /// type.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal_tensor_ops::OpError> {
    /// # let ops = anymetal_tensor_ops::Ops::new(&anymetal::Device::system_default()?)?;
    /// let x = ops.tensor(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
    /// let y = ops.einsum("ij,kj->ik", &[&x, &x])?;
    /// assert_eq!(y.to_vec::<f32>()?, [5.0, 11.0, 11.0, 25.0]);
    /// assert_eq!(ops.einsum("ii", &[&x])?.item::<f32>()?, 5.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn einsum(&self, subscripts: &str, operands: &[&Tensor]) -> Result<Tensor, OpError> {
        let Some(dtype) = operands.iter().map(|x| x.dtype()).reduce(DType::promote) else {
            return Err(mistake("there is no operand"));
        };
        if dtype == DType::Bool {
            return Err(OpError::dtype("einsum", &[dtype], "numbers are needed, not bool"));
        }
        let ranks: Vec<usize> = operands.iter().map(|x| x.rank()).collect();
        let Subscripts { operands: labels, result } = Subscripts::parse(subscripts, &ranks)?;
        let extents = extents(operands, &labels)?;
        let mut left = Vec::with_capacity(operands.len());
        for (tensor, labels) in operands.iter().zip(labels) {
            left.push(diagonals(&self.cast(tensor, dtype)?, &labels, &extents)?);
        }
        loop {
            for at in 0..left.len() {
                let alone = self.summed_alone(&left, at, &result)?;
                left[at] = alone;
            }
            let Some((first, second)) = cheapest(&left, &result, &extents) else { break };
            let right = left.swap_remove(second);
            let product = self.contracted(&left[first], &right, &left, first, &result)?;
            left[first] = product;
        }
        let Some(last) = left.pop() else { return Err(mistake("there is no operand")) };
        last.in_order(&result)
    }

    /// Sums over what only this operand has, and nothing needs.
    fn summed_alone(&self, all: &[Labelled], at: usize, result: &[Label]) -> Result<Labelled, OpError> {
        let Labelled { tensor, labels } = &all[at];
        let is_needed = |label: &Label| {
            let other = all.iter().enumerate().any(|(other, operand)| other != at && operand.has(*label));
            other || result.contains(label)
        };
        let axes = labels.iter().enumerate().filter(|(_, label)| !is_needed(label));
        let axes: Vec<isize> = axes.map(|(axis, _)| axis as isize).collect();
        if axes.is_empty() {
            return Ok(all[at].clone());
        }
        let labels = labels.iter().copied().filter(is_needed).collect();
        // Sums of integers are wider, and wrap like their own type's when they are cut.
        let summed = self.cast(&self.sum(tensor, &axes, false)?, tensor.dtype())?;
        Ok(Labelled { tensor: summed, labels })
    }

    /// The product of two operands, summed over what nothing else needs. `all` are those left, with the first
    /// of the two at its place and without the second.
    fn contracted(
        &self,
        first: &Labelled,
        second: &Labelled,
        all: &[Labelled],
        at: usize,
        result: &[Label],
    ) -> Result<Labelled, OpError> {
        let is_needed = |label: Label| {
            let other = all.iter().enumerate().any(|(other, operand)| other != at && operand.has(label));
            other || result.contains(&label)
        };
        let of = |operand: &Labelled, keep: &dyn Fn(Label) -> bool| -> Vec<Label> {
            operand.labels.iter().copied().filter(|label| keep(*label)).collect()
        };
        let batch = of(first, &|label| second.has(label) && is_needed(label));
        let inner = of(first, &|label| second.has(label) && !is_needed(label));
        let rows = of(first, &|label| !second.has(label));
        let columns = of(second, &|label| !first.has(label));
        let labels = [&batch[..], &rows, &columns].concat();
        check_rank(&labels)?;
        let left = first.in_order(&[&batch[..], &rows, &inner].concat())?;
        let right = second.in_order(&[&batch[..], &inner, &columns].concat())?;
        let (left_shape, right_shape) = (left.shape().to_vec(), right.shape().to_vec());
        let (batches, row_extents) = left_shape[..batch.len() + rows.len()].split_at(batch.len());
        let column_extents = &right_shape[batch.len() + inner.len()..];
        let shape = [batches, row_extents, column_extents].concat();
        if inner.is_empty() {
            let ones = |count: usize| vec![1; count];
            let left = self.reshape(&left, &[batches, row_extents, &ones(columns.len())].concat())?;
            let right = self.reshape(&right, &[batches, &ones(rows.len()), column_extents].concat())?;
            return Ok(Labelled { tensor: self.mul(&left, &right)?, labels });
        }
        let inner_extents = &right_shape[batch.len()..batch.len() + inner.len()];
        let count = |extents: &[usize]| extents.iter().product::<usize>();
        let [batches, rows, inner, columns] =
            [count(batches), count(row_extents), count(inner_extents), count(column_extents)];
        let left = self.reshape(&left, &[batches, rows, inner])?;
        let right = self.reshape(&right, &[batches, inner, columns])?;
        let options = MatmulOptions { out: Some(first.tensor.dtype()), ..MatmulOptions::default() };
        let product = self.matmul_with(&left, &right, &options)?;
        Ok(Labelled { tensor: product.view(&shape)?, labels })
    }
}

/// The extent of each label; those of one element broadcast.
fn extents(operands: &[&Tensor], labels: &[Vec<Label>]) -> Result<Extents, OpError> {
    let mut extents = Extents::new();
    for (tensor, labels) in operands.iter().zip(labels) {
        for (label, &extent) in labels.iter().zip(tensor.shape()) {
            let known = extents.entry(*label).or_insert(extent);
            if *known == 1 {
                *known = extent;
            }
            if extent != *known && extent != 1 {
                let shapes: Vec<&[usize]> = operands.iter().map(|x| x.shape()).collect();
                let name = match label {
                    Label::Letter(letter) => format!("`{letter}`"),
                    Label::Broadcast(_) => "a dimension of `...`".to_owned(),
                };
                let rule = format!("{name} has both {known} and {extent} elements");
                return Err(OpError::shape("einsum", &shapes, rule));
            }
        }
    }
    Ok(extents)
}

/// The operand with each label once, over all of the label's elements: what is there twice is a diagonal.
fn diagonals(tensor: &Tensor, labels: &[Label], extents: &Extents) -> Result<Labelled, OpError> {
    let full: Vec<usize> = labels.iter().map(|label| extents[label]).collect();
    let full = tensor.broadcast_to(&full)?;
    let (mut kept, mut shape, mut strides): (Vec<Label>, Vec<usize>, Vec<isize>) = Default::default();
    for (label, (&extent, &stride)) in labels.iter().zip(full.shape().iter().zip(full.strides())) {
        match kept.iter().position(|known| known == label) {
            Some(at) => strides[at] += stride,
            None => {
                kept.push(*label);
                shape.push(extent);
                strides.push(stride);
            }
        }
    }
    Ok(Labelled { tensor: full.seen_as(shape, strides, full.offset()), labels: kept })
}

/// The two whose product has the least elements, less those that they have; of several those with the fewest
/// multiplications.
fn cheapest(all: &[Labelled], result: &[Label], extents: &Extents) -> Option<(usize, usize)> {
    let size =
        |labels: &mut dyn Iterator<Item = Label>| labels.map(|label| extents[&label] as f64).product::<f64>();
    let own = |operand: &Labelled| size(&mut operand.labels.iter().copied());
    let cost = |(first, second): (usize, usize)| {
        let (a, b) = (&all[first], &all[second]);
        let is_needed = |label: Label| {
            let is_other = |at: usize| at != first && at != second;
            let other = all.iter().enumerate().any(|(at, operand)| is_other(at) && operand.has(label));
            other || result.contains(&label)
        };
        let both = || a.labels.iter().chain(b.labels.iter().filter(|label| !a.has(**label))).copied();
        let product = size(&mut both().filter(|label| is_needed(*label)));
        (product - own(a) - own(b), size(&mut both()))
    };
    let pairs = (0..all.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.min_by(|a, b| {
        let (a, b) = (cost(*a), cost(*b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}
