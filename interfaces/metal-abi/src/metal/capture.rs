//! `MTLCaptureManager`, which supports no destination, and `MTLCaptureScope`, by which programs mark frames.

use std::sync::{Mutex, OnceLock};

use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::descriptor::locked;
use super::descriptors::CaptureDescriptor;
use super::device::Device;
use super::errors;
use super::label::Label;
use super::queue::Queue;
use crate::arguments::ErrorOut;
use crate::foundation::NSString;

/// The instance variables of the manager.
#[derive(Debug, Default)]
pub(crate) struct ManagerIvars {
    default_scope: Mutex<Option<Retained<CaptureScope>>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLCaptureManager"]
    #[ivars = ManagerIvars]
    #[derive(Debug)]
    pub(crate) struct CaptureManager;

    impl CaptureManager {
        #[unsafe(method_id(sharedCaptureManager))]
        fn shared() -> Retained<CaptureManager> {
            static SHARED: OnceLock<Shared> = OnceLock::new();
            SHARED.get_or_init(|| Shared(crate::foundation::object(ManagerIvars::default()))).0.clone()
        }

        #[unsafe(method(supportsDestination:))]
        fn supports(&self, _destination: isize) -> bool {
            false
        }

        #[unsafe(method(startCaptureWithDescriptor:error:))]
        fn start(&self, _descriptor: &CaptureDescriptor, error: ErrorOut) -> bool {
            error.fail::<()>(errors::capture_unsupported()).is_some()
        }

        // Those without an error start nothing where there is no tool, as on a Mac.
        #[unsafe(method(startCaptureWithDevice:))]
        fn start_device(&self, _device: &Device) {}

        #[unsafe(method(startCaptureWithCommandQueue:))]
        fn start_queue(&self, _queue: &Queue) {}

        #[unsafe(method(startCaptureWithScope:))]
        fn start_scope(&self, _scope: &CaptureScope) {}

        #[unsafe(method(stopCapture))]
        fn stop(&self) {}

        #[unsafe(method(isCapturing))]
        fn is_capturing(&self) -> bool {
            false
        }

        #[unsafe(method_id(newCaptureScopeWithDevice:))]
        fn scope_of_device(&self, device: &Device) -> Retained<CaptureScope> {
            let (device, label) = (device.retain(), Label::default());
            crate::foundation::object(ScopeIvars { device, queue: None, label })
        }

        #[unsafe(method_id(newCaptureScopeWithCommandQueue:))]
        fn scope_of_queue(&self, queue: &Queue) -> Retained<CaptureScope> {
            let (device, label) = (queue.ivars().device.clone(), Label::default());
            crate::foundation::object(ScopeIvars { device, queue: Some(queue.retain()), label })
        }

        #[unsafe(method_id(defaultCaptureScope))]
        fn default_scope(&self) -> Option<Retained<CaptureScope>> {
            locked(&self.ivars().default_scope).clone()
        }

        #[unsafe(method(setDefaultCaptureScope:))]
        fn set_default_scope(&self, scope: Option<&CaptureScope>) {
            let new = scope.map(Message::retain);
            let before = std::mem::replace(&mut *locked(&self.ivars().default_scope), new);
            // Outside the lock: its end may look at the manager.
            drop(before);
        }
    }
);

/// The manager, which is never released.
struct Shared(Retained<CaptureManager>);

// SAFETY: the manager may be used from every thread: its state is behind a lock.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// The instance variables of a scope.
#[derive(Debug)]
pub(crate) struct ScopeIvars {
    device: Retained<Device>,
    queue: Option<Retained<Queue>>,
    label: Label,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalCaptureScope"]
    #[ivars = ScopeIvars]
    #[derive(Debug)]
    pub(crate) struct CaptureScope;

    impl CaptureScope {
        #[unsafe(method(beginScope))]
        fn begin(&self) {}

        #[unsafe(method(endScope))]
        fn end(&self) {}

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(commandQueue))]
        fn queue(&self) -> Option<Retained<Queue>> {
            self.ivars().queue.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }
    }
);
