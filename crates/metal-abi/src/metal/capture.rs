//! `MTLCaptureManager`, which supports no destination.

use objc2::define_class;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::descriptors::CaptureDescriptor;
use super::errors;
use crate::foundation::NSError;
use crate::foundation::error::fail;

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLCaptureManager"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct CaptureManager;

    impl CaptureManager {
        #[unsafe(method_id(sharedCaptureManager))]
        fn shared() -> Retained<CaptureManager> {
            crate::foundation::object(())
        }

        #[unsafe(method(supportsDestination:))]
        fn supports(&self, _destination: isize) -> bool {
            false
        }

        #[unsafe(method(startCaptureWithDescriptor:error:))]
        fn start(&self, _descriptor: &CaptureDescriptor, error: *mut *mut NSError) -> bool {
            fail::<()>(error, errors::capture_unsupported()).is_some()
        }

        #[unsafe(method(stopCapture))]
        fn stop(&self) {}

        #[unsafe(method(isCapturing))]
        fn is_capturing(&self) -> bool {
            false
        }

        #[unsafe(method_id(defaultCaptureScope))]
        fn default_scope(&self) -> Option<Retained<AnyObject>> {
            None
        }
    }
);
