//! What a launch takes for a slice of a kernel.

use anymetal_core::submission::argument::Argument;
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferView};

/// A buffer, or a part of one, of elements of a type.
pub trait DeviceSlice<T: Pod>: Argument {
    /// How many there are.
    fn elements(&self) -> usize;
}

impl<T: Pod> DeviceSlice<T> for Buffer<T> {
    fn elements(&self) -> usize {
        self.len()
    }
}

impl<T: Pod> DeviceSlice<T> for BufferView<T> {
    fn elements(&self) -> usize {
        self.len()
    }
}
