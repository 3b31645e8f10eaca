//! Copies and fills of ranges that Metal's blit encoder does not take.
//!
//! On macOS its offsets and lengths are multiples of four bytes. Owns [`copy_parts`], which cuts a range
//! into what the blit encoder can do and what two small kernels do, and [`Kernels`], those kernels.

use std::ops::Range;

use anymetal_hal::error::DeviceError;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{MTLComputePipelineState, MTLDevice, MTLLibrary};

use crate::error;

/// What offsets and lengths of the blit encoder are multiples of.
const UNIT: u64 = 4;
/// The most bytes that one launch moves: a grid counts threads in 32 bits.
const MAX_BYTES: u64 = 1 << 30;

const SOURCE: &str = "kernel void copy_bytes(device const uchar* from [[buffer(0)]],
                       device uchar* to [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) { to[i] = from[i]; }
kernel void fill_bytes(device uchar* to [[buffer(0)]], constant uchar& value [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) { to[i] = value; }
";

type State = Retained<ProtocolObject<dyn MTLComputePipelineState>>;

/// The kernels, made when first needed.
pub(crate) struct Kernels {
    pub(crate) copy: State,
    pub(crate) fill: State,
}

impl Kernels {
    pub(crate) fn new(device: &ProtocolObject<dyn MTLDevice>) -> Result<Kernels, DeviceError> {
        let library = device.newLibraryWithSource_options_error(&NSString::from_str(SOURCE), None);
        let library = library.map_err(|problem| error::of_kernel("copy_bytes", &problem))?;
        let state = |name: &str| {
            let function = library.newFunctionWithName(&NSString::from_str(name));
            let function = function.ok_or_else(|| error::unloadable(name, "Metal has no such function"))?;
            let state = device.newComputePipelineStateWithFunction_error(&function);
            state.map_err(|problem| error::of_kernel(name, &problem))
        };
        Ok(Kernels { copy: state("copy_bytes")?, fill: state("fill_bytes")? })
    }
}

/// A part of a range, in bytes from its start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CopyPart {
    /// For the blit encoder.
    Blit(Range<u64>),
    /// For a kernel.
    Kernel(Range<u64>),
}

/// Cuts a range that starts at those offsets of its buffers.
pub(crate) fn copy_parts(offsets: &[u64], length: u64) -> Vec<CopyPart> {
    let misaligned = |offset: &u64| offset % UNIT;
    let head = offsets.first().map_or(0, misaligned);
    let alike = offsets.iter().all(|offset| misaligned(offset) == head);
    let head = (UNIT - head) % UNIT;
    let mut copy_parts = Vec::new();
    if !alike || length < head + UNIT {
        kernels(0..length, &mut copy_parts);
        return copy_parts;
    }
    let tail = head + (length - head) / UNIT * UNIT;
    kernels(0..head, &mut copy_parts);
    copy_parts.push(CopyPart::Blit(head..tail));
    kernels(tail..length, &mut copy_parts);
    copy_parts
}

fn kernels(range: Range<u64>, copy_parts: &mut Vec<CopyPart>) {
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + MAX_BYTES);
        copy_parts.push(CopyPart::Kernel(start..end));
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_blit_encoder_gets_multiples_of_four_and_kernels_the_rest() {
        assert_eq!(copy_parts(&[8, 0], 16), [CopyPart::Blit(0..16)]);
        let cut = [CopyPart::Kernel(0..3), CopyPart::Blit(3..11), CopyPart::Kernel(11..12)];
        assert_eq!(copy_parts(&[1, 5], 12), cut);
        assert_eq!(copy_parts(&[1, 2], 12), [CopyPart::Kernel(0..12)], "no place suits both buffers");
        assert_eq!(copy_parts(&[0], 3), [CopyPart::Kernel(0..3)]);
        assert_eq!(copy_parts(&[0], 0), []);
        let long = copy_parts(&[0, 1], MAX_BYTES + 5);
        assert_eq!(long, [CopyPart::Kernel(0..MAX_BYTES), CopyPart::Kernel(MAX_BYTES..MAX_BYTES + 5)]);
    }
}
