//! Loans: the host arrays of one launch as buffers of the device, in place or as copies.
//!
//! Owns [`Loans`]. Invariant: arrays whose bytes overlap become views of one buffer, so that a
//! dispatch never has two loans of one byte; what a device copied is copied back before the call
//! returns.

use std::any::Any;
use std::ptr::NonNull;

use anymetal::BufferSlice;
use anymetal::memory::LentMemory;
use anymetal::{Buffer, Device};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::borrowed::HostArray;
use crate::errors::Raise;

/// What a lent array is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// An argument of the call, counted among those that are given.
    Argument(usize),
    /// An element of a table of pointers.
    Element { argument: usize, at: usize },
}

/// The arrays of a launch.
#[derive(Default)]
pub(crate) struct Loans {
    arrays: Vec<(Place, HostArray, bool)>,
    copies: Vec<Copy>,
}

/// An array that was copied to a device with memory of its own.
struct Copy {
    buffer: Buffer<u8>,
    array: HostArray,
}

// SAFETY: the pointer in it is only used in `write_back`, with the array's owner held; nothing of
// it is tied to a thread.
unsafe impl Send for Loans {}
// SAFETY: nothing is done through a shared reference.
unsafe impl Sync for Loans {}

impl Loans {
    /// Takes an array; `written`: whether the kernel may write it.
    pub(crate) fn add(&mut self, position: Place, array: HostArray, written: bool) {
        self.arrays.push((position, array, written));
    }

    /// Lends all to the device, and gives the region for each place; says whether there was any.
    /// What is not lent in place is kept for [`Loans::write_back`].
    pub(crate) fn lend(
        &mut self,
        device: &Device,
        give: &mut dyn FnMut(Place, BufferSlice),
    ) -> PyResult<bool> {
        let arrays = std::mem::take(&mut self.arrays);
        if arrays.is_empty() {
            return Ok(false);
        }
        if !device.capabilities().unified_memory {
            self.copy(device, arrays, give)?;
        } else if arrays.len() == 1 || !overlap(&arrays) {
            for (place, array, _) in arrays {
                let memory = lent_memory(array.start(), array.extent().unwrap_or(0), array.into_owner());
                give(place, device.borrow_region(memory, "").or_raise()?);
            }
        } else {
            merged(device, arrays, give)?;
        }
        Ok(true)
    }

    /// Lends the one array that was added, as a buffer.
    pub(crate) fn lend_whole(mut self, device: &Device) -> PyResult<Buffer<u8>> {
        let (_, array, _) = self.arrays.pop().ok_or_else(|| PyValueError::new_err("no array was given"))?;
        let (start, length) = (array.start(), array.extent().unwrap_or(0));
        lent(device, start, length, array.into_owner())
    }

    fn copy(
        &mut self,
        device: &Device,
        arrays: Vec<(Place, HostArray, bool)>,
        give: &mut dyn FnMut(Place, BufferSlice),
    ) -> PyResult<()> {
        for (position, array, written) in arrays {
            let length = array.extent().unwrap_or(0);
            let bytes: &[u8] = match length {
                0 => &[],
                // SAFETY: the array has `extent` bytes from its start on, which its owner keeps;
                // the interpreter's lock is held, so that Python does not write them meanwhile.
                _ => unsafe { std::slice::from_raw_parts(array.start(), length) },
            };
            let buffer = device.buffer(bytes).or_raise()?;
            give(position, buffer.region());
            if written {
                self.copies.push(Copy { buffer, array });
            }
        }
        Ok(())
    }

    /// Whether results have to be copied back.
    pub(crate) fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Copies back what kernels wrote.
    pub(crate) fn write_back(&self) -> Result<(), anymetal::Error> {
        for copy in &self.copies {
            let length = copy.array.extent().unwrap_or(0);
            if length > 0 {
                // SAFETY: the array has `extent` bytes that may be written (checked when it was
                // bound), and its owner is held; the bytes are initialised.
                let bytes = unsafe { std::slice::from_raw_parts_mut(copy.array.start(), length) };
                copy.buffer.read_into(0, bytes)?;
            }
        }
        Ok(())
    }
}

fn lent(
    device: &Device,
    start: *mut u8,
    length: usize,
    owner: Box<dyn Any + Send + Sync>,
) -> PyResult<Buffer<u8>> {
    device.borrow_host(lent_memory(start, length, owner), "").or_raise()
}

fn lent_memory(start: *mut u8, length: usize, owner: Box<dyn Any + Send + Sync>) -> LentMemory {
    let start = NonNull::new(start).unwrap_or(NonNull::<u128>::dangling().cast());
    // SAFETY: `length` bytes from the array's first element on are the array's, by its protocol,
    // and stay while its owner is held; kernels that write are only given arrays that may be
    // written. Arrays of one launch that overlap share a loan. Python code that uses the array
    // meanwhile races as with any other library's kernel.
    unsafe { LentMemory::new(start, length, owner) }
}

fn range(array: &HostArray) -> (usize, usize) {
    (array.address(), array.address() + array.extent().unwrap_or(0))
}

fn overlap(arrays: &[(Place, HostArray, bool)]) -> bool {
    arrays.iter().enumerate().any(|(at, (_, one, _))| {
        let (start, end) = range(one);
        arrays[..at].iter().any(|(_, other, _)| {
            let (other_start, other_end) = range(other);
            start < other_end && other_start < end
        })
    })
}

/// Loans of the unions of arrays that overlap.
fn merged(
    device: &Device,
    mut arrays: Vec<(Place, HostArray, bool)>,
    give: &mut dyn FnMut(Place, BufferSlice),
) -> PyResult<()> {
    arrays.sort_by_key(|(_, array, _)| array.address());
    let mut arrays = arrays.into_iter().peekable();
    while let Some((position, first, _)) = arrays.next() {
        let (pointer, (start, mut end)) = (first.start(), range(&first));
        let mut views = vec![(position, start, end)];
        let mut owners = vec![first.into_owner()];
        while let Some((position, next, _)) = arrays.next_if(|(_, next, _)| next.address() < end) {
            let (next_start, next_end) = range(&next);
            end = end.max(next_end);
            views.push((position, next_start, next_end));
            owners.push(next.into_owner());
        }
        let buffer = lent(device, pointer, end - start, Box::new(owners))?;
        for (position, view_start, view_end) in views {
            let view = buffer.view(view_start - start..view_end - start).or_raise()?;
            give(position, view.region());
        }
    }
    Ok(())
}
