//! Products of matrices by the messages that `objc2-metal-performance-shaders` sends, against a product
//! computed here.

use anymetal::f16;
use objc2::rc::Retained;
use objc2::runtime::{AnyClass, AnyObject};
use objc2::{class, msg_send};

type Id = Retained<AnyObject>;

const FLOAT: u32 = 0x1000_0020;
const HALF: u32 = 0x1000_0010;

struct Setup {
    device: Id,
    queue: Id,
}

impl Setup {
    fn new() -> Setup {
        // SAFETY: the function gives a reference, and the class has the method.
        unsafe {
            let device = Retained::from_raw(crate::metal::devices::MTLCreateSystemDefaultDevice()).unwrap();
            let queue = msg_send![&*device, newCommandQueue];
            Setup { device, queue }
        }
    }

    fn buffer(&self, bytes: &[u8]) -> Id {
        // SAFETY: the class has the method, and the bytes are so many.
        unsafe {
            let start: *const std::ffi::c_void = bytes.as_ptr().cast();
            msg_send![&*self.device, newBufferWithBytes: start, length: bytes.len(), options: 0usize]
        }
    }

    /// An `MPSMatrix` over a buffer, of matrices with rows of `row` elements.
    fn matrix(&self, buffer: &Id, shape: [usize; 2], row: usize, matrices: usize, data_type: u32) -> Id {
        let size = if data_type == FLOAT { 4 } else { 2 };
        let (row_bytes, [rows, columns]) = (row * size, shape);
        // SAFETY: the classes have these methods.
        unsafe {
            let descriptor: Id = msg_send![class!(MPSMatrixDescriptor), matrixDescriptorWithRows: rows, columns: columns, matrices: matrices, rowBytes: row_bytes, matrixBytes: rows * row_bytes, dataType: data_type];
            let allocated: objc2::rc::Allocated<AnyObject> = msg_send![class(c"MPSMatrix"), alloc];
            msg_send![allocated, initWithBuffer: &**buffer, descriptor: &*descriptor]
        }
    }

    fn run(&self, encode: impl FnOnce(&AnyObject)) {
        // SAFETY: the classes have these methods.
        unsafe {
            let commands: Id = msg_send![&*self.queue, commandBuffer];
            encode(&commands);
            let () = msg_send![&*commands, commit];
            let () = msg_send![&*commands, waitUntilCompleted];
            let status: usize = msg_send![&*commands, status];
            assert_eq!(status, 4);
        }
    }
}

fn class(name: &std::ffi::CStr) -> &'static AnyClass {
    AnyClass::get(name).expect("a class")
}

/// Small whole numbers, so that sums are exact in any order.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|at| ((at * 7 + seed * 13) % 11) as f32 - 5.0).collect()
}

fn floats(buffer: &Id, count: usize) -> Vec<f32> {
    // SAFETY: the buffer has so many elements, and no work uses it.
    unsafe {
        let start: *mut std::ffi::c_void = msg_send![&**buffer, contents];
        std::slice::from_raw_parts(start.cast::<f32>(), count).to_vec()
    }
}

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

#[test]
fn batches_of_transposed_factors_are_multiplied_and_added_to_the_result() {
    let setup = Setup::new();
    let (rows, columns, interior, batch) = (45, 70, 37, 2);
    // Rows are three elements longer than their matrices.
    let left = numbers(batch * interior * (rows + 3), 1);
    let right = numbers(batch * columns * (interior + 3), 2);
    let before = numbers(batch * rows * (columns + 3), 3);
    let buffers = [&left, &right, &before].map(|numbers| setup.buffer(&bytes_of(numbers)));
    let a = setup.matrix(&buffers[0], [interior, rows], rows + 3, batch, FLOAT);
    let b = setup.matrix(&buffers[1], [columns, interior], interior + 3, batch, FLOAT);
    let c = setup.matrix(&buffers[2], [rows, columns], columns + 3, batch, FLOAT);
    // SAFETY: the class has these methods.
    setup.run(|commands| unsafe {
        let allocated: objc2::rc::Allocated<AnyObject> = msg_send![class(c"MPSMatrixMultiplication"), alloc];
        let kernel: Id = msg_send![allocated, initWithDevice: &*setup.device, transposeLeft: true, transposeRight: true, resultRows: rows, resultColumns: columns, interiorColumns: interior, alpha: 2.0f64, beta: 0.5f64];
        let () = msg_send![&*kernel, encodeToCommandBuffer: commands, leftMatrix: &*a, rightMatrix: &*b, resultMatrix: &*c];
    });
    let mut expected = before.clone();
    for matrix in 0..batch {
        for row in 0..rows {
            for column in 0..columns {
                let sum: f32 = (0..interior)
                    .map(|k| {
                        left[(matrix * interior + k) * (rows + 3) + row]
                            * right[(matrix * columns + column) * (interior + 3) + k]
                    })
                    .sum();
                let place = &mut expected[(matrix * rows + row) * (columns + 3) + column];
                *place = 2.0 * sum + 0.5 * *place;
            }
        }
    }
    assert_eq!(floats(&buffers[2], expected.len()), expected);
}

#[test]
fn matrices_of_half_are_multiplied_by_vectors_of_float() {
    let setup = Setup::new();
    let (rows, columns) = (33, 20);
    let (matrix, vector) = (numbers(rows * columns, 1), numbers(columns, 2));
    let halves: Vec<u8> = matrix.iter().flat_map(|number| f16::from_f32(*number).to_ne_bytes()).collect();
    let buffers =
        [halves, bytes_of(&vector), bytes_of(&vec![f32::NAN; rows])].map(|bytes| setup.buffer(&bytes));
    let a = setup.matrix(&buffers[0], [rows, columns], columns, 1, HALF);
    let of_length = |length: usize, buffer: &Id| -> Id {
        // SAFETY: the classes have these methods.
        unsafe {
            let descriptor: Id =
                msg_send![class(c"MPSVectorDescriptor"), vectorDescriptorWithLength: length, dataType: FLOAT];
            let allocated: objc2::rc::Allocated<AnyObject> = msg_send![class(c"MPSVector"), alloc];
            msg_send![allocated, initWithBuffer: &**buffer, descriptor: &*descriptor]
        }
    };
    let (x, y) = (of_length(columns, &buffers[1]), of_length(rows, &buffers[2]));
    // SAFETY: the class has these methods.
    setup.run(|commands| unsafe {
        let allocated: objc2::rc::Allocated<AnyObject> =
            msg_send![class(c"MPSMatrixVectorMultiplication"), alloc];
        let kernel: Id = msg_send![allocated, initWithDevice: &*setup.device, rows: rows, columns: columns];
        let () = msg_send![&*kernel, encodeToCommandBuffer: commands, inputMatrix: &*a, inputVector: &*x, resultVector: &*y];
    });
    let expected: Vec<f32> =
        matrix.chunks(columns).map(|row| row.iter().zip(&vector).map(|(a, b)| a * b).sum()).collect();
    assert_eq!(floats(&buffers[2], rows), expected);
}

#[test]
fn a_matrix_that_is_too_small_is_named() {
    let setup = Setup::new();
    let buffer = setup.buffer(&[0; 4 * 64]);
    let small = setup.matrix(&buffer, [4, 4], 4, 1, FLOAT);
    // SAFETY: the classes have these methods; breaking a rule is answered by a failure.
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| unsafe {
        let commands: Id = msg_send![&*setup.queue, commandBuffer];
        let allocated: objc2::rc::Allocated<AnyObject> = msg_send![class(c"MPSMatrixMultiplication"), alloc];
        let kernel: Id = msg_send![allocated, initWithDevice: &*setup.device, resultRows: 4usize, resultColumns: 4usize, interiorColumns: 5usize];
        let () = msg_send![&*kernel, encodeToCommandBuffer: &*commands, leftMatrix: &*small, rightMatrix: &*small, resultMatrix: &*small];
    }));
    let text = refused.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains("the left matrix of 4 by 4 is smaller than 4 by 5"), "{text}");
    let outside =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| setup.matrix(&buffer, [9, 8], 8, 1, FLOAT)));
    let text = outside.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(text.contains("does not fit a buffer of 256 bytes"), "{text}");
}
