//! Objects of Metal that threads share.

use std::ops::Deref;

use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{NSObjectProtocol, ProtocolObject, Sel};
use objc2_foundation::NSString;

/// A reference to an object whose protocol does not say that threads may share it.
pub(crate) struct Shared<P: ?Sized>(pub(crate) Retained<ProtocolObject<P>>);

// SAFETY: it is made for buffers, heaps, residency sets and archives only. Reference counts are atomic; the
// methods of buffers and heaps may be called from every thread, and this crate locks around those of
// residency sets and archives.
unsafe impl<P: ?Sized> Send for Shared<P> {}
// SAFETY: as above.
unsafe impl<P: ?Sized> Sync for Shared<P> {}

impl<P: ?Sized> Deref for Shared<P> {
    type Target = ProtocolObject<P>;

    fn deref(&self) -> &ProtocolObject<P> {
        &self.0
    }
}

/// Whether an object has a method that older systems lack: what `@available` tells in Objective-C, asked of
/// the object itself, so that it holds wherever Metal's API is.
pub(crate) fn has(object: &(impl NSObjectProtocol + Message), method: Sel) -> bool {
    object.respondsToSelector(method)
}

/// A label for Metal; none for an empty one.
pub(crate) fn label_of(text: &str) -> Option<Retained<NSString>> {
    (!text.is_empty()).then(|| NSString::from_str(text))
}
