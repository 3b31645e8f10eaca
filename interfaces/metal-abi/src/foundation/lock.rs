//! `NSLock`.

use std::sync::{Condvar, Mutex, PoisonError};

use objc2::rc::{Allocated, Retained};
use objc2::runtime::NSObject;

/// Whether the lock is held; threads other than the holder may give it back, as Foundation allows.
#[derive(Debug, Default)]
pub(crate) struct LockIvars {
    is_held: Mutex<bool>,
    free: Condvar,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSLock"]
    #[ivars = LockIvars]
    #[derive(Debug)]
    pub(crate) struct NSLock;

    impl NSLock {
        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            super::initialized(this, LockIvars::default())
        }

        #[unsafe(method(lock))]
        fn lock(&self) {
            let LockIvars { is_held, free } = self.ivars();
            let mut held = is_held.lock().unwrap_or_else(PoisonError::into_inner);
            while *held {
                held = free.wait(held).unwrap_or_else(PoisonError::into_inner);
            }
            *held = true;
        }

        #[unsafe(method(tryLock))]
        fn try_lock(&self) -> bool {
            let mut held = self.ivars().is_held.lock().unwrap_or_else(PoisonError::into_inner);
            !std::mem::replace(&mut *held, true)
        }

        #[unsafe(method(unlock))]
        fn unlock(&self) {
            *self.ivars().is_held.lock().unwrap_or_else(PoisonError::into_inner) = false;
            self.ivars().free.notify_one();
        }
    }
);
