//! What of its buffers a program touches, as the interpreter tells.
//!
//! Owns [`Extents`]. Invariant: in buffers cut to them, the program finds all that it accesses, and the last
//! byte is one that it accesses, or lies as near behind as the alignment that its accesses promise allows.
//! Code that loads more than the program does, however little, reaches outside of those.

use anymetal_interp::{Access, AtomicKind, Interests, MemoryPlace, Observer};
use anymetal_ir::{ArgKind, Module};

/// Bytes and alignment of each buffer.
#[derive(Debug)]
pub(crate) struct Extents(Vec<(u64, u64)>);

impl Extents {
    /// Nothing but what the arguments themselves ask for.
    pub(crate) fn new(module: &Module, kernel: &str) -> Self {
        let arguments = module.kernel(kernel).expect("the kernel").args.iter();
        let buffers = arguments.filter(|argument| argument.kind == ArgKind::Buffer);
        let least = buffers.map(|argument| {
            let bytes = if argument.reference { argument.element_size } else { 0 };
            (bytes, u64::from(argument.element_align.max(1)))
        });
        Self(least.collect())
    }

    /// The buffers, as long as need be.
    pub(crate) fn cut(&self, buffers: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let cut = |(buffer, &(bytes, align)): (&Vec<u8>, &(u64, u64))| {
            let wanted = bytes.next_multiple_of(align) as usize;
            buffer[..wanted.min(buffer.len())].to_vec()
        };
        buffers.iter().zip(&self.0).map(cut).collect()
    }

    fn note(&mut self, access: &Access) {
        if let MemoryPlace::Buffer { buffer, offset } = access.place {
            let (bytes, align) = &mut self.0[buffer as usize];
            *bytes = (*bytes).max(offset + access.bytes);
            *align = (*align).max(u64::from(access.align));
        }
    }
}

impl Observer for Extents {
    fn interests(&self) -> Interests {
        Interests { shared: true, ..Interests::default() }
    }

    fn on_load(&mut self, access: &Access) {
        self.note(access);
    }

    fn on_store(&mut self, access: &Access) {
        self.note(access);
    }

    fn on_copy(&mut self, source: &Access, target: &Access) {
        self.note(source);
        self.note(target);
    }

    fn on_atomic(&mut self, access: &Access, _: AtomicKind) {
        self.note(access);
    }
}
