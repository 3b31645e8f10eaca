//! [`define_class!`]: `objc2`'s macro of that name, with checked arguments and whole results.
//!
//! Invariants: the body of a method sees an argument only after [`Argument::take`] checked it, and
//! instance variables only after `init` wrote them. What senders pass is the raw type of the
//! parameter's type, so a parameter without a check does not compile. What they receive is the raw
//! type of the result's type: of `BOOL`, 0 or 1 in the whole register.
//!
//! [`Argument::take`]: crate::arguments::Argument::take

/// What a method with that body returns to its sender.
macro_rules! result {
    ($body:block) => {
        $body
    };
    ($body:block, $result:ty) => {
        $crate::results::of(|| -> $result { $body })
    };
}

pub(crate) use result;

/// Defines a class as `objc2::define_class!` does, one `impl` with methods.
macro_rules! define_class {
    (
        $(#[$($attribute:tt)*])*
        $visibility:vis struct $class:ident;

        impl $for:ident {
            $(
                $(#[$($method:tt)*])*
                fn $name:ident(
                    $(& $self:ident)? $(,)? $($parameter:ident : $type:ty),* $(,)?
                ) $(-> $result:ty)? $body:block
            )*
        }
    ) => {
        objc2::define_class! {
            $(#[$($attribute)*])*
            $visibility struct $class;

            impl $for {
                $(
                    $(#[$($method)*])*
                    fn $name(
                        $(& $self,)?
                        $($parameter: <$type as $crate::arguments::Argument>::Raw),*
                    ) $(-> <$result as $crate::results::Returned>::Raw)? {
                        $crate::arguments::take! {
                            $class [$($($method)*)*] [$($self)? $($parameter)*]
                            $($parameter: $type,)*
                        }
                        $crate::define::result!($body $(, $result)?)
                    }
                )*
            }
        }

        impl $class {
            /// Its instance variables; a failure if the object was allocated and not initialized.
            #[allow(dead_code, reason = "some classes have no instance variables")]
            #[inline]
            pub(crate) fn ivars(&self) -> &<Self as objc2::DefinedClass>::Ivars {
                $crate::arguments::ivars_of(self)
            }
        }

        // SAFETY: the class is the type's own, and it is registered by `class`.
        unsafe impl $crate::arguments::Instance for $class {
            fn is_class_of(object: &objc2::runtime::AnyObject) -> bool {
                $crate::arguments::is_kind_of(object, <Self as objc2::ClassType>::class())
            }

            const CLASS: &'static str = <Self as objc2::ClassType>::NAME;
        }
    };
}
