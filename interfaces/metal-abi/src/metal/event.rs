//! `MTLEvent`, `MTLSharedEvent` and `MTLFence`. An event here is always one that the host sees too.

use std::time::Duration;

use anymetal::Event as Monotonic;
use block2::Block;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::device::Device;
use super::event_listener::{Listener, Notifications};
use super::label::Label;
use crate::foundation::NSString;

/// The instance variables of an event.
#[derive(Debug)]
pub(crate) struct EventIvars {
    pub(crate) event: Monotonic,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Label,
    pub(crate) notifications: Notifications,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalSharedEvent"]
    #[ivars = EventIvars]
    #[derive(Debug)]
    pub(crate) struct Event;

    impl Event {
        #[unsafe(method_id(device))]
        fn device(&self) -> Option<Retained<Device>> {
            Some(self.ivars().device.clone())
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method(signaledValue))]
        fn signaled_value(&self) -> u64 {
            self.ivars().event.value()
        }

        #[unsafe(method(setSignaledValue:))]
        fn set_signaled_value(&self, value: u64) {
            self.ivars().event.signal(value);
        }

        #[unsafe(method(notifyListener:atValue:block:))]
        fn notify(&self, listener: &Listener, value: u64, block: &Block<dyn Fn(*mut AnyObject, u64)>) {
            let EventIvars { event, notifications, .. } = self.ivars();
            notifications.add((self, event), listener, value, block);
        }

        #[unsafe(method_id(newSharedEventHandle))]
        fn new_handle(&self) -> Retained<EventHandle> {
            crate::foundation::object(self.retain())
        }

        #[unsafe(method(waitUntilSignaledValue:timeoutMS:))]
        fn wait(&self, value: u64, milliseconds: u64) -> bool {
            let EventIvars { event, device, .. } = self.ivars();
            let clock = device.inner().clock().clone();
            event.wait_timeout(value, Duration::from_millis(milliseconds), &*clock)
        }
    }
);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLSharedEventHandle"]
    #[ivars = Retained<Event>]
    #[derive(Debug)]
    /// What gives the event again in this process. It is not sent to others.
    pub(crate) struct EventHandle;

    impl EventHandle {
        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.event().ivars().label.get()
        }
    }
);

impl EventHandle {
    /// The event.
    pub(crate) fn event(&self) -> Retained<Event> {
        self.ivars().clone()
    }
}

/// The instance variables of a fence.
#[derive(Debug)]
pub(crate) struct FenceIvars {
    pub(crate) fence: anymetal::command::Fence,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Label,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalFence"]
    #[ivars = FenceIvars]
    #[derive(Debug)]
    pub(crate) struct Fence;

    impl Fence {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
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
