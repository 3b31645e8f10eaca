//! `MPSMatrixMultiplication` and `MPSMatrixVectorMultiplication`.

use std::sync::Mutex;

use anymetal::Pipeline;
use anymetal::reflection::ScalarType;
use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::NSObject;

use super::matrix::{Matrix, Placed, Vector};
use super::product::{Batch, Product, pipeline};
use crate::foundation::NSString;
use crate::metal::command_buffer::CommandBuffer;
use crate::metal::descriptor::locked;
use crate::metal::device::Device;
use crate::metal::label::Label;
use crate::metal::size::Size;
use crate::metal::violation;

/// A product, and its kernels by the types of elements so far.
#[derive(Debug)]
pub(crate) struct KernelIvars {
    device: Retained<Device>,
    label: Label,
    product: Product,
    batch: Mutex<Batch>,
    pipelines: Mutex<Vec<([ScalarType; 3], Pipeline)>>,
}

impl KernelIvars {
    fn new(device: &Device, product: Product) -> KernelIvars {
        KernelIvars {
            device: device.retain(),
            label: Label::default(),
            product,
            batch: Mutex::new(Batch { start: 0, size: usize::MAX }),
            pipelines: Mutex::default(),
        }
    }

    fn encode(&self, method: &str, commands: &CommandBuffer, matrices: [&Placed; 3]) {
        let pipeline = self.pipeline(method, matrices.map(|matrix| matrix.layout.element));
        let batch = *locked(&self.batch);
        self.product.encode(method, commands, &pipeline, matrices, batch);
    }

    fn pipeline(&self, method: &str, elements: [ScalarType; 3]) -> Pipeline {
        let mut pipelines = locked(&self.pipelines);
        if let Some((_, known)) = pipelines.iter().find(|(of, _)| *of == elements) {
            return known.clone();
        }
        let made = pipeline(&self.device, elements);
        let made = made.unwrap_or_else(|error| violation(method, error.text()));
        pipelines.push((elements, made.clone()));
        made
    }
}

/// The one origin that these kernels know.
fn check_origin(method: &str, origin: Size) {
    if origin != Size::default() {
        violation(method, "anymetal multiplies from the origin 0, 0, 0 of matrices on");
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MPSMatrixMultiplication"]
    #[ivars = KernelIvars]
    #[derive(Debug)]
    pub(crate) struct MatrixMultiplication;

    impl MatrixMultiplication {
        #[unsafe(method_id(initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:))]
        fn init(this: Allocated<Self>, device: &Device, left: bool, right: bool, rows: usize, columns: usize, interior: usize, alpha: f64, beta: f64) -> Retained<Self> {
            let product = Product { transposes: [left, right], rows, columns, interior, alpha: alpha as f32, beta: beta as f32 };
            crate::foundation::initialized(this, KernelIvars::new(device, product))
        }

        #[unsafe(method_id(initWithDevice:resultRows:resultColumns:interiorColumns:))]
        fn init_plain(this: Allocated<Self>, device: &Device, rows: usize, columns: usize, interior: usize) -> Retained<Self> {
            let product = Product { transposes: [false; 2], rows, columns, interior, alpha: 1.0, beta: 0.0 };
            crate::foundation::initialized(this, KernelIvars::new(device, product))
        }

        #[unsafe(method(encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:))]
        fn encode(&self, commands: &CommandBuffer, left: &Matrix, right: &Matrix, result: &Matrix) {
            const METHOD: &str = "MPSMatrixMultiplication encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:";
            self.ivars().encode(METHOD, commands, [left.ivars(), right.ivars(), result.ivars()]);
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method(batchStart))]
        fn batch_start(&self) -> usize {
            locked(&self.ivars().batch).start
        }

        #[unsafe(method(setBatchStart:))]
        fn set_batch_start(&self, start: usize) {
            locked(&self.ivars().batch).start = start;
        }

        #[unsafe(method(batchSize))]
        fn batch_size(&self) -> usize {
            locked(&self.ivars().batch).size
        }

        #[unsafe(method(setBatchSize:))]
        fn set_batch_size(&self, size: usize) {
            locked(&self.ivars().batch).size = size;
        }

        // `MTLOrigin` has the fields of `MTLSize`.
        #[unsafe(method(leftMatrixOrigin))]
        fn left_origin(&self) -> Size {
            Size::default()
        }

        #[unsafe(method(setLeftMatrixOrigin:))]
        fn set_left_origin(&self, origin: Size) {
            check_origin("MPSMatrixMultiplication setLeftMatrixOrigin:", origin);
        }

        #[unsafe(method(rightMatrixOrigin))]
        fn right_origin(&self) -> Size {
            Size::default()
        }

        #[unsafe(method(setRightMatrixOrigin:))]
        fn set_right_origin(&self, origin: Size) {
            check_origin("MPSMatrixMultiplication setRightMatrixOrigin:", origin);
        }

        #[unsafe(method(resultMatrixOrigin))]
        fn result_origin(&self) -> Size {
            Size::default()
        }

        #[unsafe(method(setResultMatrixOrigin:))]
        fn set_result_origin(&self, origin: Size) {
            check_origin("MPSMatrixMultiplication setResultMatrixOrigin:", origin);
        }
    }
);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MPSMatrixVectorMultiplication"]
    #[ivars = KernelIvars]
    #[derive(Debug)]
    pub(crate) struct VectorMultiplication;

    impl VectorMultiplication {
        #[unsafe(method_id(initWithDevice:transpose:rows:columns:alpha:beta:))]
        fn init(this: Allocated<Self>, device: &Device, transpose: bool, rows: usize, columns: usize, alpha: f64, beta: f64) -> Retained<Self> {
            let product = Product { transposes: [transpose, false], rows, columns: 1, interior: columns, alpha: alpha as f32, beta: beta as f32 };
            crate::foundation::initialized(this, KernelIvars::new(device, product))
        }

        #[unsafe(method_id(initWithDevice:rows:columns:))]
        fn init_plain(this: Allocated<Self>, device: &Device, rows: usize, columns: usize) -> Retained<Self> {
            let product = Product { transposes: [false; 2], rows, columns: 1, interior: columns, alpha: 1.0, beta: 0.0 };
            crate::foundation::initialized(this, KernelIvars::new(device, product))
        }

        #[unsafe(method(encodeToCommandBuffer:inputMatrix:inputVector:resultVector:))]
        fn encode(&self, commands: &CommandBuffer, matrix: &Matrix, vector: &Vector, result: &Vector) {
            const METHOD: &str = "MPSMatrixVectorMultiplication encodeToCommandBuffer:inputMatrix:inputVector:resultVector:";
            self.ivars().encode(METHOD, commands, [matrix.ivars(), vector.ivars(), result.ivars()]);
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }
    }
);
