//! `NSException`.

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{Message, msg_send};

use super::dictionary::NSDictionary;
use super::string::NSString;

/// The instance variables of an exception.
#[derive(Debug)]
pub(crate) struct ExceptionIvars {
    name: Retained<NSString>,
    reason: Option<Retained<NSString>>,
    user_info: Option<Retained<NSDictionary>>,
}

unsafe extern "C-unwind" {
    fn objc_exception_throw(exception: *mut AnyObject) -> !;
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSException"]
    #[ivars = ExceptionIvars]
    #[derive(Debug)]
    pub(crate) struct NSException;

    impl NSException {
        #[unsafe(method_id(initWithName:reason:userInfo:))]
        fn init(this: Allocated<Self>, name: &NSString, reason: Option<&NSString>, user_info: Option<&NSDictionary>) -> Retained<Self> {
            super::initialized(this, ivars(name, reason, user_info))
        }

        #[unsafe(method_id(exceptionWithName:reason:userInfo:))]
        fn with(name: &NSString, reason: Option<&NSString>, user_info: Option<&NSDictionary>) -> Retained<NSException> {
            super::object(ivars(name, reason, user_info))
        }

        #[unsafe(method(raise))]
        fn raise(&self) {
            let object: *const AnyObject = std::ptr::from_ref(self).cast();
            // SAFETY: the receiver is alive.
            unsafe { objc_exception_throw(object.cast_mut()) }
        }

        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            self.ivars().name.clone()
        }

        #[unsafe(method_id(reason))]
        fn reason(&self) -> Option<Retained<NSString>> {
            self.ivars().reason.clone()
        }

        #[unsafe(method_id(userInfo))]
        fn user_info(&self) -> Option<Retained<NSDictionary>> {
            self.ivars().user_info.clone()
        }

        #[unsafe(method_id(description))]
        fn description(&self) -> Retained<NSString> {
            let ExceptionIvars { name, reason, .. } = self.ivars();
            reason.clone().unwrap_or_else(|| name.clone())
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSException> {
            self.retain()
        }
    }
);

impl std::fmt::Display for NSException {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ExceptionIvars { name, reason, .. } = self.ivars();
        match reason {
            Some(reason) => write!(formatter, "'{name}', reason: '{reason}'"),
            None => write!(formatter, "'{name}'"),
        }
    }
}

fn ivars(name: &NSString, reason: Option<&NSString>, user_info: Option<&NSDictionary>) -> ExceptionIvars {
    let (reason, user_info) = (reason.map(Message::retain), user_info.map(Message::retain));
    ExceptionIvars { name: name.retain(), reason, user_info }
}

/// An exception for a failure of this crate, for the caller to throw; it belongs to the pool.
pub(crate) fn failure(name: &str, reason: &str) -> *mut NSException {
    let reason = Some(NSString::of(reason));
    let ivars = ExceptionIvars { name: NSString::of(name), reason, user_info: None };
    let exception: Retained<NSException> = super::object(ivars);
    Retained::autorelease_ptr(exception)
}

/// Throws an exception of that name and reason.
pub(crate) fn throw(name: &NSString, reason: &str) {
    let exception: Retained<NSException> = super::object(ivars(name, Some(&NSString::of(reason)), None));
    // SAFETY: the class has the method; the pool has the object, because nothing comes back here.
    unsafe {
        let exception = Retained::autorelease_ptr(exception);
        let () = msg_send![&*exception, raise];
    }
}
