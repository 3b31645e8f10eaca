//! Einstein sums against loops over all labels on the host in `f64`, over random subscripts, strides, types.

mod support;

use std::collections::BTreeMap;

use anymetal_tensor_ops::{DType, OpError, Path, Tensor};
use proptest::prelude::*;
use support::{Random, Sample, assert_close, ops, positions, unit_error};

/// The sum by its definition. A dimension of one element broadcasts.
fn reference(terms: &[&str], result: &str, samples: &[&Sample], extents: &BTreeMap<char, usize>) -> Vec<f64> {
    let shape: Vec<usize> = result.chars().map(|label| extents[&label]).collect();
    let summed: Vec<char> = extents.keys().copied().filter(|label| !result.contains(*label)).collect();
    let summed_shape: Vec<usize> = summed.iter().map(|label| extents[label]).collect();
    let at = |position: &Vec<usize>| -> f64 {
        let term = |inner: &Vec<usize>| -> f64 {
            let value = |label: char| match result.find(label) {
                Some(at) => position[at],
                None => inner[summed.iter().position(|known| *known == label).unwrap()],
            };
            let element = |(term, sample): (&&str, &&Sample)| {
                let place = term.chars().zip(sample.shape());
                let place = place.map(|(label, &extent)| if extent == 1 { 0 } else { value(label) });
                sample.at(&place.collect::<Vec<_>>())
            };
            terms.iter().zip(samples).map(element).product()
        };
        positions(&summed_shape).iter().map(term).sum()
    };
    positions(&shape).iter().map(at).collect()
}

fn check(subscripts: &str, samples: &[&Sample], extents: &BTreeMap<char, usize>, dtype: DType) {
    let (left, result) = subscripts.split_once("->").unwrap();
    let terms: Vec<&str> = left.split(',').collect();
    let expected = reference(&terms, result, samples, extents);
    let tensors: Vec<&Tensor> = samples.iter().map(|sample| &sample.tensor).collect();
    let got = ops().einsum(subscripts, &tensors).unwrap();
    assert_eq!(got.dtype(), dtype, "{subscripts}");
    let terms: usize = extents.values().product();
    let error = if dtype.is_float() { 4.0 * unit_error(dtype) + 1e-6 } else { 0.0 };
    assert_close(subscripts, &got, &expected, error, (terms as f64).sqrt());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn random_subscripts_are_the_sums_that_they_name(seed: u64, dtype in 4usize..9, count in 1usize..4) {
        let (mut random, dtype) = (Random::new(seed), DType::ALL[dtype]);
        let letters = ['c', 'a', 'Z', 'b', 'k'];
        let extents: BTreeMap<char, usize> = letters.iter().map(|&letter| (letter, 1 + random.below(4))).collect();
        let mut terms = Vec::new();
        for _ in 0..count {
            let rank = random.below(4);
            terms.push((0..rank).map(|_| letters[random.below(5)]).collect::<String>());
        }
        let used: Vec<char> = letters.into_iter().filter(|letter| terms.iter().any(|term| term.contains(*letter))).collect();
        let result: String = used.iter().filter(|_| random.below(2) == 0).collect();
        let extents: BTreeMap<char, usize> = used.iter().map(|letter| (*letter, extents[letter])).collect();
        let bound = if dtype.is_float() { 1.0 } else { 3.0 };
        let sample = |term: &String| {
            let shape: Vec<usize> = term.chars().map(|letter| extents[&letter]).collect();
            random.sample(&shape, dtype, -bound, bound)
        };
        let samples: Vec<Sample> = terms.iter().map(sample).collect();
        let subscripts = format!("{}->{result}", terms.join(","));
        check(&subscripts, &samples.iter().collect::<Vec<_>>(), &extents, dtype);
    }
}

/// A sample of a shape, with the extents of a text's labels.
fn sample(random: &mut Random, shape: &[usize]) -> Sample {
    random.sample(shape, DType::F32, -1.0, 1.0)
}

#[test]
fn dimensions_of_one_element_broadcast() {
    let mut random = Random::new(1);
    let (a, b) = (sample(&mut random, &[3, 1]), sample(&mut random, &[4, 5]));
    let extents = BTreeMap::from([('i', 3), ('j', 4), ('k', 5)]);
    check("ij,jk->ik", &[&a, &b], &extents, DType::F32);
    check("ij,jk->ijk", &[&a, &b], &extents, DType::F32);
}

#[test]
fn an_ellipsis_stands_for_leading_dimensions() {
    let mut random = Random::new(2);
    let (a, b) = (sample(&mut random, &[2, 3, 4, 5]), sample(&mut random, &[3, 5, 6]));
    let got = ops().einsum("...ij,...jk->...ik", &[&a.tensor, &b.tensor]).unwrap();
    let product = ops().matmul(&a.tensor, &b.tensor).unwrap();
    assert_eq!(got.shape(), [2, 3, 4, 6]);
    assert_close("einsum", &got, &support::download(&product), 4e-6, 2.0);
    let last = ops().einsum("...i->i...", &[&a.tensor]).unwrap();
    assert_eq!(last.shape(), [5, 2, 3, 4]);
    let all = ops().einsum("...->", &[&a.tensor]).unwrap();
    assert_close("einsum", &all, &[a.values.iter().sum()], 1e-5, 10.0);
    // Without an arrow: what broadcasts, then what is there once.
    assert_eq!(
        ops().einsum("...ij,jk", &[&a.tensor, &b.tensor.select(0, 0).unwrap()]).unwrap().shape(),
        [2, 3, 4, 6]
    );
}

#[test]
fn types_have_their_common_one() {
    let a = ops().tensor(&[3i8, -100, 7], &[3]).unwrap();
    let b = ops().tensor(&[2i32, 2, 2], &[3]).unwrap();
    let sum = ops().einsum("i,i->", &[&a, &b]).unwrap();
    assert_eq!((sum.dtype(), sum.item::<i32>().unwrap()), (DType::I32, -180));
    let wrapped = ops().einsum("i->", &[&ops().tensor(&[100i8, 100, 100], &[3]).unwrap()]).unwrap();
    assert_eq!((wrapped.dtype(), wrapped.item::<i8>().unwrap()), (DType::I8, 44));
    let half = ops().ones(&[3], DType::F16).unwrap();
    assert_eq!(ops().einsum("i,i->i", &[&half, &b]).unwrap().dtype(), DType::F16);
}

#[test]
fn no_elements_are_a_sum_of_zero() {
    let a = ops().ones(&[3, 0], DType::F32).unwrap();
    let b = ops().ones(&[0, 2], DType::F32).unwrap();
    assert_close("einsum", &ops().einsum("ij,jk->ik", &[&a, &b]).unwrap(), &[0.0; 6], 0.0, 0.0);
    assert_eq!(ops().einsum("ij,jk->ijk", &[&a, &b]).unwrap().shape(), [3, 0, 2]);
}

/// A vector between two matrices: by the greedy order no product is larger than a matrix.
#[test]
fn the_order_keeps_products_small() {
    // A separate context, whose log has no calls of other tests.
    let ops = anymetal_tensor_ops::Ops::new(ops().device()).unwrap().forced(Path::Own);
    let (a, v) = (ops.ones(&[64, 64], DType::F32).unwrap(), ops.ones(&[64], DType::F32).unwrap());
    drop(ops.take_calls());
    let sum = ops.einsum("ij,jk,k->i", &[&a, &a, &v]).unwrap();
    assert_close("einsum", &sum, &[4096.0; 64], 0.0, 0.0);
    let flop: u64 =
        ops.take_calls().iter().filter(|call| call.operation == "matmul").map(|call| call.work.flop).sum();
    assert_eq!(flop, 2 * 2 * 64 * 64, "two products of a matrix and a vector");
}

#[test]
fn a_recording_holds_it() {
    let mut random = Random::new(3);
    let (a, b) = (sample(&mut random, &[4, 5, 6]), sample(&mut random, &[4, 6]));
    let body = |ops: &anymetal_tensor_ops::Ops, inputs: &[Tensor]| {
        Ok(vec![ops.einsum("bij,bj->ib", &[&inputs[0], &inputs[1]])?])
    };
    let mut recording = ops().record("einsum", &[&a.tensor, &b.tensor], body).unwrap();
    let replayed = recording.replay(&[&a.tensor, &b.tensor]).unwrap();
    let called = ops().forced(Path::Own).einsum("bij,bj->ib", &[&a.tensor, &b.tensor]).unwrap();
    assert_close("replay", &replayed[0], &support::download(&called), 0.0, 0.0);
}

#[test]
fn mistakes_name_what_is_wrong() {
    let x = ops().ones(&[2, 3], DType::F32).unwrap();
    let said = |error: OpError, words: &str| assert!(error.to_string().contains(words), "{error}");
    said(ops().einsum("ij,jk->ik", &[&x]).unwrap_err(), "2 operands, and 1 are given");
    said(ops().einsum("ij,ij->k", &[&x, &x]).unwrap_err(), "`k` of the result is in no operand");
    said(ops().einsum("ij,jk->ik", &[&x, &x]).unwrap_err(), "`j` has both 3 and 2 elements");
    said(
        ops().einsum("...j,...i->", &[&x, &x.t().unwrap()]).unwrap_err(),
        "a dimension of `...` has both 2 and 3",
    );
    said(ops().einsum("", &[]).unwrap_err(), "there is no operand");
    let truth = ops().ones(&[2], DType::Bool).unwrap();
    said(ops().einsum("i->i", &[&truth]).unwrap_err(), "numbers are needed, not bool");
    let four = ops().ones(&[1, 1, 1, 1, 1], DType::F32).unwrap();
    said(
        ops().einsum("abcde,fghij->abcdefghij", &[&four, &four]).unwrap_err(),
        "has 10 dimensions, and at most 8",
    );
}
