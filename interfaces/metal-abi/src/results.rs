//! Conversion of the results of methods to the values that senders receive.
//!
//! [`crate::define`] converts every result by [`Returned::raw`].

use objc2::Message;
use objc2::encode::{Encode, Encoding};
use objc2::rc::{Allocated, Retained};
use objc2::runtime::Bool;

use crate::foundation::Range;
use crate::foundation::process_info::Version;
use crate::metal::render_pass::ClearColor;
use crate::metal::size::{ResourceId, Size, SizeAndAlign};
use crate::metal::swizzle::Channels;
use crate::runtime::object::Truth;

// SAFETY: callers read it as a `BOOL`, which is its lowest byte.
unsafe impl Encode for Truth {
    const ENCODING: Encoding = Bool::ENCODING;
}

/// A type of results.
pub(crate) trait Returned: Sized {
    /// What the sender receives.
    type Raw;

    fn raw(self) -> Self::Raw;
}

/// The value of a method's body, a closure because it may return early, as the sender receives it.
#[inline(always)]
pub(crate) fn of<R: Returned>(body: impl FnOnce() -> R) -> R::Raw {
    body().raw()
}

impl Returned for bool {
    type Raw = Truth;

    #[inline]
    fn raw(self) -> Truth {
        Truth::from(self)
    }
}

impl Returned for Bool {
    type Raw = Truth;

    #[inline]
    fn raw(self) -> Truth {
        Truth::from(self.as_bool())
    }
}

macro_rules! values {
    ($([$($generics:tt)*] $type:ty)*) => {
        $(
            impl<$($generics)*> Returned for $type {
                type Raw = $type;

                #[inline(always)]
                fn raw(self) -> $type {
                    self
                }
            }
        )*
    };
}

values! {
    [] u8 [] u16 [] u32 [] u64 [] usize [] i8 [] i16 [] i32 [] i64 [] isize [] f32 [] f64
    [] Range [] Version [] Size [] SizeAndAlign [] ResourceId [] Channels
    [] ClearColor
    [T: ?Sized] *const T [T: ?Sized] *mut T
    [T: Message] Retained<T> [T: Message] Option<Retained<T>> [T] Allocated<T>
}
