//! Products of matrices: in order with all else, checked before, refused where there is no library.

use anymetal_hal::matrix_product::{CheckedProduct, MatrixOperand, MatrixProduct};

use super::*;

/// A buffer of those numbers.
fn floats(bench: &Bench, numbers: &[f32]) -> Arc<dyn Buffer> {
    let bits: Vec<u32> = numbers.iter().map(|number| number.to_bits()).collect();
    bench.buffer(&bits)
}

fn numbers(buffer: &Arc<dyn Buffer>) -> Vec<f32> {
    values(buffer).into_iter().map(f32::from_bits).collect()
}

fn operand(buffer: &Arc<dyn Buffer>, row_stride: u64, batch_stride: u64) -> MatrixOperand {
    MatrixOperand::new(Arc::clone(buffer), 0, ScalarType::F32, row_stride).batch_stride(batch_stride)
}

/// A product of matrices of 2 by 2.
fn square(left: &Arc<dyn Buffer>, right: &Arc<dyn Buffer>, result: &Arc<dyn Buffer>) -> MatrixProduct {
    MatrixProduct::new([operand(left, 2, 0), operand(right, 2, 0)], operand(result, 2, 0), [2; 3])
}

fn command(product: MatrixProduct) -> Command {
    Command::MatrixProduct(Box::new(CheckedProduct::new(product).unwrap()))
}

#[test]
fn a_product_sees_what_comes_before_and_is_seen_by_what_follows() {
    let bench = Bench::new(multiply);
    let pipeline = bench.pipeline();
    let [left, right] = [[1.0, 2.0, 3.0, 4.0], [9.0; 4]].map(|values| floats(&bench, &values));
    let (result, last) = (floats(&bench, &[f32::NAN; 4]), floats(&bench, &[0.0; 4]));
    let copy = |from: &Arc<dyn Buffer>, to: &Arc<dyn Buffer>| {
        Command::Copy(BufferCopy::new(Arc::clone(from), 0..16, Arc::clone(to), 0).unwrap())
    };
    let product = command(square(&left, &right, &result));
    let zero = dispatch(&pipeline, &left, 0, 1);
    bench.run(vec![copy(&left, &right), zero, product, copy(&result, &last)]).unwrap();
    assert_eq!(numbers(&last), [6.0, 8.0, 15.0, 22.0], "the first element is zero on the left");
    let calls = bench.driver.calls(&["copy", "launch", "multiply"]);
    assert_eq!(
        calls,
        ["copy 16", "launch [1, 1, 1] [32, 1, 1] 0", "multiply 2x2x2 by 1, float to float", "copy 16"]
    );
}

#[test]
fn strides_transposition_batches_and_scales_reach_the_library() {
    let bench = Bench::new(multiply);
    // Stored in columns, two elements apart from the next batch's.
    let left = floats(&bench, &[1.0, 3.0, 2.0, 4.0, -1.0, -1.0, 5.0, 7.0, 6.0, 8.0]);
    let right = floats(&bench, &[0.0, 1.0, 1.0, 9.0, 0.0, 1.0]);
    let result = floats(&bench, &[10.0; 8]);
    let mut product = square(&left, &right, &result);
    (product.left.transposed, product.left.batch_stride) = (true, 6);
    (product.right.offset, product.right.row_stride) = (4, 3);
    product.result.batch_stride = 4;
    (product.batches, product.alpha, product.beta) = (2, 2.0, 0.5);
    bench.run(vec![command(product)]).unwrap();
    // [1 2; 3 4] and [5 6; 7 8] by [1 1; 0 1], twice, plus five.
    assert_eq!(numbers(&result), [7.0, 11.0, 11.0, 19.0, 15.0, 27.0, 19.0, 35.0]);
}

#[test]
fn types_reach_the_library() {
    let bench = Bench::new(multiply);
    let [left, right, result] = [0.0; 3].map(|value| floats(&bench, &[value; 4]));
    let mut product = square(&left, &right, &result);
    (product.left.element, product.right.element) = (ScalarType::BF16, ScalarType::BF16);
    bench.run(vec![command(product)]).unwrap();
    assert_eq!(bench.driver.calls(&["multiply"]), ["multiply 2x2x2 by 1, bfloat to float"]);
}

#[test]
fn products_wait_for_nothing_of_the_host() {
    let bench = Bench::new(multiply);
    let [left, right, result] = [0.0; 3].map(|value| floats(&bench, &[value; 4]));
    let before = bench.driver.all_calls().len();
    bench.run(vec![command(square(&left, &right, &result))]).unwrap();
    let calls = bench.driver.all_calls().split_off(before);
    assert_eq!(calls, ["record", "multiply 2x2x2 by 1, float to float", "record", "ended"]);
}

#[test]
fn foreign_buffers_and_encoded_products_are_refused_before_anything_runs() {
    let bench = Bench::new(multiply);
    let [left, right, result] = [0.0; 3].map(|value| floats(&bench, &[value; 4]));
    let foreign = floats(&Bench::new(multiply), &[0.0; 4]);
    let error = bench.run(vec![command(square(&left, &foreign, &result))]).unwrap_err();
    assert!(matches!(error, DeviceError::WrongDevice { what: "buffer", .. }), "{error:?}");
    let indirect = bench.device.indirect_command_buffer(vec![command(square(&left, &right, &result))]);
    assert!(matches!(indirect, Err(DeviceError::NotIndirect { .. })), "{indirect:?}");
    assert!(bench.driver.calls(&["multiply"]).is_empty());
}

#[test]
fn without_a_library_products_are_refused_with_the_reason_and_all_else_goes_on() {
    let bench = Bench::new(multiply);
    bench.device.matrix_products().unwrap();
    bench.driver.lack_products("products: cuBLAS is missing");
    let [left, right, result] = [0.0; 3].map(|value| floats(&bench, &[value; 4]));
    let refused = [
        bench.device.matrix_products().unwrap_err(),
        bench.run(vec![command(square(&left, &right, &result))]).unwrap_err(),
    ];
    for error in refused {
        let DeviceError::Unsupported { what, alternative, .. } = &error else { panic!("{error:?}") };
        assert!(what.contains("cuBLAS is missing") && alternative.contains("kernel"), "{error}");
    }
    bench.run(vec![dispatch(&bench.pipeline(), &left, 2, 4)]).unwrap();
}
