//! Products of matrices from Metal Performance Shaders, as kernels of anymetal's.
//!
//! - [`matrix`]: matrices and vectors in buffers, and their descriptors.
//! - [`multiplication`]: the kernels that programs encode, over [`product`].

pub(crate) mod matrix;
pub(crate) mod multiplication;
mod product;

#[cfg(test)]
mod tests;

use objc2::runtime::AnyObject;

use crate::runtime::object::Truth;

/// Whether a device runs these kernels: each does.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MPSSupportsMTLDevice(device: *mut AnyObject) -> Truth {
    Truth::from(!device.is_null())
}
