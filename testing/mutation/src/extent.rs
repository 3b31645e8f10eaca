//! Buffers cut off behind the last byte that a launch accesses, so that one access more is out of bounds.

use anymetal_conformance::case::{Binding, Launch};
use anymetal_interp::{Access, AtomicKind, Interests, MemoryPlace, Observer};

/// The end of what is accessed, by number of the buffer.
#[derive(Clone, Default, Debug)]
pub struct Extents(Vec<u64>);

impl Extents {
    fn note(&mut self, access: &Access) {
        let MemoryPlace::Buffer { buffer, offset } = access.place else { return };
        let buffer = buffer as usize;
        self.0.resize(self.0.len().max(buffer + 1), 0);
        self.0[buffer] = self.0[buffer].max(offset + access.bytes);
    }

    /// The launch with its buffers cut off. A buffer that is not accessed stays, and so do those for which
    /// `keeps` says so.
    pub fn cut(&self, launch: &Launch, keeps: impl Fn(u32) -> bool) -> Launch {
        let mut launch = launch.clone();
        for (position, arg) in launch.args.iter_mut().enumerate() {
            let end = self.0.get(position).copied().unwrap_or_default() as usize;
            match &mut arg.binding {
                Binding::Buffer { bytes, offset } if end > *offset && !keeps(arg.index) => {
                    bytes.truncate(end)
                }
                _ => {}
            }
        }
        launch
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

    fn on_atomic(&mut self, access: &Access, _kind: AtomicKind) {
        self.note(access);
    }
}
