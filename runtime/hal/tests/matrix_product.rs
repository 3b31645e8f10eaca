//! Rules of products of matrices as commands.

use std::sync::Arc;

use anymetal_hal::artifact::ScalarType;
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::device::Device as _;
use anymetal_hal::matrix_product::{CheckedProduct, MatrixOperand, MatrixProduct};
use anymetal_testing::null::NullDevice;

/// A product of 2 by 3 and 3 by 4 in two batches, in buffers of just the bytes that it needs.
fn product() -> MatrixProduct {
    let device = NullDevice::new();
    let operand = |elements: u64, row_stride, batch_stride| {
        MatrixOperand::new(
            device.buffer(&BufferDescriptor::shared(4 * elements)).unwrap(),
            0,
            ScalarType::F32,
            row_stride,
        )
        .batch_stride(batch_stride)
    };
    MatrixProduct::new([operand(12, 3, 6), operand(12, 4, 0)], operand(16, 4, 8), [2, 4, 3]).batches(2)
}

/// What is said of the product after a change.
fn rule(change: impl FnOnce(&mut MatrixProduct)) -> String {
    let mut product = product();
    change(&mut product);
    CheckedProduct::new(product).map_or_else(|error| error.to_string(), |_| "right".to_owned())
}

#[test]
fn a_product_that_just_fits_is_right() {
    assert_eq!(rule(|_| {}), "right");
    let transposed = rule(|product| {
        product.left.transposed = true;
        product.left.row_stride = 2;
    });
    assert_eq!(transposed, "right");
}

#[test]
fn each_rule_is_told() {
    let said = |change: fn(&mut MatrixProduct), words: &str| {
        let rule = rule(change);
        assert!(rule.contains(words), "{rule} instead of {words}");
    };
    said(|p| p.inner = 0, "at least one");
    said(|p| p.right.element = ScalarType::F16, "both factors");
    said(|p| (p.left.element, p.right.element) = (ScalarType::I32, ScalarType::I32), "both factors");
    said(|p| p.result.element = ScalarType::F16, "the factors' type");
    said(|p| p.result.transposed = true, "stored in rows");
    said(|p| p.left.row_stride = 2, "reach into the next one");
    said(|p| p.left.transposed = true, "56");
    said(|p| p.left.offset = 2, "multiple");
    said(|p| p.left.offset = 4, "48");
    said(|p| p.batches = 3, "72");
    said(|p| p.columns = 5, "reach into the next one");
    said(|p| p.result.batch_stride = 7, "next one of the batch");
    said(|p| p.result.buffer = Arc::clone(&p.left.buffer), "64");
    said(|p| p.left.row_stride = u64::MAX, "18446744073709551615");
    said(
        |p| {
            (p.rows, p.batches) = (1, 1);
            p.result.buffer = Arc::clone(&p.right.buffer);
        },
        "overlap a factor",
    );
}
