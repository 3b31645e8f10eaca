//! The CPU device with a library of matrix products: their definition, on the host.
//!
//! Owns [`Multiplying`]. A product waits for all work before it that uses its buffers; what follows comes
//! after it, since it is done when `submit` returns.

use std::sync::Arc;

use anymetal::command::{MatrixOperand, MatrixProduct};
use anymetal::error::DeviceError;
use anymetal::reflection::ScalarType;
use anymetal::{bf16, f16};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::completion::Completion;
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::heap::{Heap, HeapDescriptor};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor};

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Multiplying(pub(crate) Arc<dyn HalDevice>);

#[derive(Debug)]
struct MultiplyingQueue(Arc<dyn Queue>);

impl HalDevice for Multiplying {
    fn matrix_products(&self) -> Result<(), DeviceError> {
        Ok(())
    }

    fn queue(&self, descriptor: &QueueDescriptor) -> Result<Arc<dyn Queue>, DeviceError> {
        Ok(Arc::new(MultiplyingQueue(self.0.queue(descriptor)?)))
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        self.0.buffer(descriptor)
    }

    fn pipeline(&self, artifact: &Arc<Artifact>, kernel: &str) -> Result<Arc<dyn Pipeline>, DeviceError> {
        self.0.pipeline(artifact, kernel)
    }

    fn event(&self) -> Result<Arc<dyn Event>, DeviceError> {
        self.0.event()
    }

    fn fence(&self) -> Result<Arc<dyn Fence>, DeviceError> {
        self.0.fence()
    }

    fn heap(&self, descriptor: &HeapDescriptor) -> Result<Arc<dyn Heap>, DeviceError> {
        self.0.heap(descriptor)
    }

    fn allocated_bytes(&self) -> u64 {
        self.0.allocated_bytes()
    }
}

impl Queue for MultiplyingQueue {
    fn submit(&self, mut submission: CommandList) -> Result<Completion, DeviceError> {
        if let [Command::MatrixProduct(product)] = &*submission.commands {
            multiply(product)?;
            submission.commands.clear();
        }
        self.0.submit(submission)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        self.0.cancel(completion)
    }

    fn stop(&self, completion: &Completion) -> Cancellation {
        self.0.stop(completion)
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn label(&self) -> &str {
        self.0.label()
    }
}

/// The numbers of an operand's buffer from its first element on.
fn numbers(operand: &MatrixOperand) -> Result<Vec<f64>, DeviceError> {
    operand.buffer.uses().wait_submitted();
    let mut bytes = vec![0; (operand.buffer.length() - operand.offset) as usize];
    operand.buffer.read(operand.offset, &mut bytes)?;
    Ok(match operand.element {
        ScalarType::F32 => bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b).into()).collect(),
        ScalarType::F16 => bytes.as_chunks().0.iter().map(|&b| f16::from_le_bytes(b).into()).collect(),
        _ => bytes.as_chunks().0.iter().map(|&b| bf16::from_le_bytes(b).into()).collect(),
    })
}

fn multiply(product: &MatrixProduct) -> Result<(), DeviceError> {
    let MatrixProduct { rows, columns, inner, batches, alpha, beta, .. } = *product;
    let (left, right, mut result) =
        (numbers(&product.left)?, numbers(&product.right)?, numbers(&product.result)?);
    let at = |operand: &MatrixOperand, batch: u32, row: u32, column: u32| {
        let (row, column) = if operand.transposed { (column, row) } else { (row, column) };
        let [batch, row, column] = [batch, row, column].map(u64::from);
        (batch * operand.batch_stride + row * operand.row_stride + column) as usize
    };
    for batch in 0..batches {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let term =
                |k| left[at(&product.left, batch, row, k)] * right[at(&product.right, batch, k, column)];
            let sum: f64 = (0..inner).map(term).sum();
            let to = &mut result[at(&product.result, batch, row, column)];
            let before = if beta == 0.0 { 0.0 } else { f64::from(beta) * *to };
            *to = f64::from(alpha) * sum + before;
        }
    }
    let bytes: Vec<u8> = match product.result.element {
        ScalarType::F32 => result.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect(),
        ScalarType::F16 => result.iter().flat_map(|&x| f16::from_f64(x).to_le_bytes()).collect(),
        _ => result.iter().flat_map(|&x| bf16::from_f64(x).to_le_bytes()).collect(),
    };
    product.result.buffer.write(product.result.offset, &bytes)
}
