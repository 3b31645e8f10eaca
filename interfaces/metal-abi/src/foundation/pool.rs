//! `NSAutoreleasePool`.

use std::cell::Cell;
use std::ffi::c_void;

use objc2::rc::{Allocated, Retained};
use objc2::runtime::NSObject;

use crate::runtime::{begin_pool, end_pool};

/// The pool of the runtime's, until it is drained.
#[derive(Debug)]
pub(crate) struct Pool(Cell<Option<*mut c_void>>);

impl Pool {
    fn drain(&self) {
        if let Some(pool) = self.0.take() {
            end_pool(pool);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.drain();
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSAutoreleasePool"]
    #[ivars = Pool]
    #[derive(Debug)]
    pub(crate) struct NSAutoreleasePool;

    impl NSAutoreleasePool {
        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            super::initialized(this, Pool(Cell::new(Some(begin_pool()))))
        }

        // As `release`: the sender's reference is gone afterwards.
        #[unsafe(method(drain))]
        fn drain(&self) {
            // SAFETY: the sender gives up a reference.
            unsafe { objc2::ffi::objc_release(std::ptr::from_ref(self).cast_mut().cast()) };
        }
    }
);
