//! Addresses in the buffers of a launch, which each executor chooses for itself.
//!
//! Owns [`PointerTo`], which is written into a buffer before a launch, and the form in which addresses are
//! compared after it: [`MARK`], the argument's index and the byte. Invariant: only launches with pointers are
//! changed by anything here.

use crate::case::{Binding, Launch};

/// The upper 16 bits of an address as it is compared; below are 16 bits of index and 32 of the byte.
pub const MARK: u64 = 0xadd0;

/// The address of a byte of an argument's buffer, in the buffer of another or the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointerTo {
    /// The index of the argument whose buffer holds it.
    pub holder: u32,
    /// At which byte.
    pub at: usize,
    /// The index of the argument to whose buffer it points.
    pub target: u32,
    /// To which byte; it need not be one of the buffer's.
    pub byte: i64,
}

impl Launch {
    fn position_of(&self, index: u32) -> Option<usize> {
        let is_it = |binding: &Binding| matches!(binding, Binding::Buffer { .. });
        self.args.iter().position(|arg| arg.index == index && is_it(&arg.binding))
    }

    /// Writes the pointers into the contents of the arguments' buffers, which begin at those addresses.
    pub fn write_pointers(&self, contents: &mut [Vec<u8>], addresses: &[u64]) {
        for pointer in &self.pointers {
            let (holder, target) = (self.position_of(pointer.holder), self.position_of(pointer.target));
            let (Some(holder), Some(target)) = (holder, target) else { continue };
            let address = addresses[target].wrapping_add_signed(pointer.byte);
            if let Some(place) = contents[holder].get_mut(pointer.at..pointer.at + 8) {
                place.copy_from_slice(&address.to_le_bytes());
            }
        }
    }

    /// Replaces every address of a buffer, in aligned words of the contents, by what executors agree on.
    pub fn mark_pointers(&self, contents: &mut [Vec<u8>], addresses: &[u64]) {
        if self.pointers.is_empty() {
            return;
        }
        let lengths: Vec<u64> = contents.iter().map(|bytes| bytes.len() as u64).collect();
        for word in contents.iter_mut().flat_map(|bytes| bytes.as_chunks_mut::<8>().0) {
            let address = u64::from_le_bytes(*word);
            let inside = |&place: &usize| address.wrapping_sub(addresses[place]) < lengths[place];
            if let Some(place) = (0..self.args.len()).find(inside) {
                let index = u64::from(self.args[place].index) << 32;
                *word = (MARK << 48 | index | (address - addresses[place])).to_le_bytes();
            }
        }
    }
}
