//! Access by indices, and sorting, against loops on the host.

mod support;

use anymetal_tensor_ops::{DType, OpError};
use proptest::prelude::*;
use support::{Random, assert_close, ops, positions, upload};

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn gathered_elements_are_those_named(seed: u64, axis in 0usize..3, dtype in 0usize..9, named in 1usize..6) {
        let (mut random, named) = (Random::new(seed), DType::ALL[named]);
        let shape = random.shape(3, 12);
        let x = random.sample(&shape, DType::ALL[dtype], -100.0, 100.0);
        let mut own = shape.clone();
        own[axis] = 1 + random.below(20);
        let indices = random.sample(&own, named, 0.0, shape[axis] as f64 - 1.0);
        let at = |position: &Vec<usize>| {
            let mut position = position.clone();
            position[axis] = indices.at(&position) as usize;
            x.at(&position)
        };
        let expected: Vec<f64> = positions(&own).iter().map(at).collect();
        let result = ops().gather(&x.tensor, axis as isize, &indices.tensor).unwrap();
        assert_close("gather", &result, &expected, 0.0, 0.0);
    }

    #[test]
    fn selected_positions_take_the_place_of_the_axis(seed: u64, axis in 0usize..3, rank in 0usize..3) {
        let mut random = Random::new(seed);
        let shape = random.shape(3, 40);
        let x = random.sample(&shape, DType::F16, -100.0, 100.0);
        let named = random.shape(rank, 5);
        let indices = random.sample(&named, DType::I64, 0.0, shape[axis] as f64 - 1.0);
        let out = [&shape[..axis], &named, &shape[axis + 1..]].concat();
        let at = |position: &Vec<usize>| {
            let index = indices.at(&position[axis..axis + rank]) as usize;
            x.at(&[&position[..axis], &[index], &position[axis + rank..]].concat())
        };
        let expected: Vec<f64> = positions(&out).iter().map(at).collect();
        let result = ops().index_select(&x.tensor, axis as isize, &indices.tensor).unwrap();
        prop_assert_eq!(result.shape(), &out);
        assert_close("index_select", &result, &expected, 0.0, 0.0);
    }

    #[test]
    fn scattered_elements_are_the_last_or_the_sum(seed: u64, axis in 0usize..2, dtype in 1usize..9) {
        let (mut random, dtype) = (Random::new(seed), DType::ALL[dtype]);
        let shape = random.shape(2, 12);
        let x = random.sample(&shape, dtype, -4.0, 4.0);
        let mut own: Vec<usize> = shape.iter().map(|&extent| 1 + random.below(extent)).collect();
        own[axis] = 1 + random.below(20);
        let indices = random.sample(&own, DType::U32, 0.0, shape[axis] as f64 - 1.0);
        let source = random.sample(&own, dtype, -4.0, 4.0);
        let (mut set, mut sum) = (x.values.clone(), x.values.clone());
        for position in positions(&own) {
            let mut target = position.clone();
            target[axis] = indices.at(&position) as usize;
            let to = support::flat(&shape, &target);
            set[to] = source.at(&position);
            sum[to] += source.at(&position);
        }
        let along = axis as isize;
        let result = ops().scatter(&x.tensor, along, &indices.tensor, &source.tensor).unwrap();
        assert_close("scatter", &result, &set, 0.0, 0.0);
        let result = ops().scatter_add(&x.tensor, along, &indices.tensor, &source.tensor).unwrap();
        let error = 10.0 * support::unit_error(dtype);
        assert_close("scatter_add", &result, &sum, error, 16.0);
    }

    #[test]
    fn sorted_lines_are_stable(seed: u64, axis in 0usize..3, dtype in 0usize..9, descending: bool) {
        let mut random = Random::new(seed);
        let mut shape = random.shape(3, 5);
        shape[axis] = 1 + random.below(150);
        // Few distinct values, so that many are the same.
        let x = random.sample(&shape, DType::ALL[dtype], -6.0, 6.0);
        let mut lines = shape.clone();
        lines[axis] = 1;
        let (mut values, mut places) = (vec![0.0; x.values.len()], vec![0.0; x.values.len()]);
        for start in positions(&lines) {
            let at = |i: usize| { let mut position = start.clone(); position[axis] = i; position };
            let mut order: Vec<usize> = (0..shape[axis]).collect();
            order.sort_by(|&a, &b| {
                let order = x.at(&at(a)).partial_cmp(&x.at(&at(b))).unwrap();
                if descending { order.reverse() } else { order }
            });
            for (i, &place) in order.iter().enumerate() {
                values[support::flat(&shape, &at(i))] = x.at(&at(place));
                places[support::flat(&shape, &at(i))] = place as f64;
            }
        }
        let along = axis as isize;
        assert_close("sort", &ops().sort(&x.tensor, along, descending).unwrap(), &values, 0.0, 0.0);
        assert_close("argsort", &ops().argsort(&x.tensor, along, descending).unwrap(), &places, 0.0, 0.0);
    }
}

#[test]
fn an_index_out_of_range_is_an_error_not_a_read() {
    let own = anymetal_tensor_ops::Ops::new(ops().device()).unwrap();
    let table = own.tensor(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
    for (index, bad) in [([0i64, 2, 1], 2), ([0, 1, -1], -1), ([1 << 32, 0, 0], 1 << 32)] {
        let indices = own.tensor(&index, &[3]).unwrap();
        let element = index.iter().position(|&index| index == bad).unwrap();
        let expected = OpError::IndexOutOfRange { operation: "embedding", index: bad, element, length: 2 };
        let rows = own.embedding(&table, &indices).unwrap();
        assert_eq!(rows.to_vec::<f32>().unwrap_err(), expected);
        // Told once.
        assert_eq!(rows.to_vec::<f32>().unwrap().len(), 6);
        let gradient = own.ones(&[3, 2], DType::F32).unwrap();
        let table = own.embedding_backward(2, &indices, &gradient).unwrap();
        assert!(matches!(table.to_vec::<f32>(), Err(OpError::IndexOutOfRange { .. })));
    }
    let floats = own.zeros(&[3], DType::F32).unwrap();
    assert!(matches!(own.embedding(&table, &floats), Err(OpError::Type { .. })));
}

#[test]
fn gradients_of_an_embedding_are_summed_by_row() {
    let indices = ops().tensor(&[2u32, 0, 2, 1], &[2, 2]).unwrap();
    let gradient = ops().arange(12, 1.0, 1.0, DType::F32).unwrap().view(&[2, 2, 3]).unwrap();
    let table = ops().embedding_backward(4, &indices, &gradient).unwrap();
    let expected = [4.0, 5.0, 6.0, 10.0, 11.0, 12.0, 8.0, 10.0, 12.0, 0.0, 0.0, 0.0];
    assert_eq!(table.to_vec::<f32>().unwrap(), expected);
}

#[test]
fn nan_is_sorted_as_the_greatest() {
    let x = ops().tensor(&[1.0, f32::NAN, -1.0, f32::INFINITY], &[4]).unwrap();
    assert_eq!(ops().argsort(&x, 0, false).unwrap().to_vec::<u32>().unwrap(), [2, 0, 3, 1]);
    assert_eq!(ops().argsort(&x, 0, true).unwrap().to_vec::<u32>().unwrap(), [1, 3, 0, 2]);
    let (values, places) = ops().topk(&x.narrow(0, 2..4).unwrap(), 1, 0, true).unwrap();
    assert_eq!(
        (values.to_vec::<f32>().unwrap(), places.to_vec::<u32>().unwrap()),
        (vec![f32::INFINITY], vec![1])
    );
    assert!(ops().topk(&x, 5, 0, true).is_err());
}

#[test]
fn distinct_values_are_counted() {
    let x = upload(&[3.0, 1.0, 3.0, 2.0, 1.0, 3.0], &[2, 3], DType::I32);
    let (values, counts) = ops().unique(&x).unwrap();
    assert_eq!(values.to_vec::<i32>().unwrap(), [1, 2, 3]);
    assert_eq!(counts.to_vec::<i64>().unwrap(), [2, 1, 3]);
}
