//! Descriptors: objects with properties that are set and read.

/// Defines a class of properties, each behind a lock, with `init` and copying.
///
/// `values` are copied in and out; `objects` are retained, and may be nil (the initial value unless another
/// is given); `arrays` are read-only arrays of descriptors, whose elements a copy duplicates; `methods` are
/// further methods.
macro_rules! descriptor {
    (
        $(#[$meta:meta])*
        $class:ident = $name:literal, $ivars:ident;
        values { $($value:ident, $set_value:ident: $type:ty = $default:expr, [$($get:tt)+] [$($set:tt)+];)* }
        objects { $($object:ident, $set_object:ident: $object_type:ty $(= $initial:expr)?, [$($get_object:tt)+] [$($put_object:tt)+];)* }
        $(arrays { $($array:ident: $array_type:ty, [$get_array:ident];)* })?
        $(methods { $($methods:tt)* })?
    ) => {
        #[doc = concat!("The properties of `", $name, "`.")]
        #[derive(Debug)]
        pub(crate) struct $ivars {
            $($value: std::sync::Mutex<$type>,)*
            $($object: std::sync::Mutex<Option<objc2::rc::Retained<$object_type>>>,)*
            $($($array: std::sync::Mutex<objc2::rc::Retained<$array_type>>,)*)?
        }

        impl Default for $ivars {
            fn default() -> Self {
                $ivars {
                    $($value: std::sync::Mutex::new($default),)*
                    $($object: std::sync::Mutex::new(None$(.or_else(|| Some($initial)))?),)*
                    $($($array: std::sync::Mutex::new(<$array_type as crate::metal::descriptor_array::Descriptor>::fresh()),)*)?
                }
            }
        }

        define_class!(
            // SAFETY: `NSObject` asks nothing of those below it.
            #[unsafe(super(objc2::runtime::NSObject))]
            #[name = $name]
            #[ivars = $ivars]
            #[derive(Debug)]
            $(#[$meta])*
            pub(crate) struct $class;

            impl $class {
                #[unsafe(method_id(init))]
                fn init(this: objc2::rc::Allocated<Self>) -> objc2::rc::Retained<Self> {
                    crate::foundation::initialized(this, $ivars::default())
                }

                #[unsafe(method_id(copyWithZone:))]
                fn copy_with_zone(&self, _zone: *mut objc2::runtime::NSZone) -> objc2::rc::Retained<Self> {
                    crate::metal::descriptor_array::Descriptor::duplicate(self)
                }

                $(
                    #[unsafe(method($($get)+))]
                    fn $value(&self) -> $type {
                        self.ivars().$value()
                    }

                    #[unsafe(method($($set)+))]
                    fn $set_value(&self, value: $type) {
                        self.ivars().$set_value(value);
                    }
                )*

                $(
                    #[unsafe(method_id($($get_object)+))]
                    fn $object(&self) -> Option<objc2::rc::Retained<$object_type>> {
                        self.ivars().$object()
                    }

                    #[unsafe(method($($put_object)+))]
                    fn $set_object(&self, value: Option<&$object_type>) {
                        self.ivars().$set_object(value);
                    }
                )*

                $($(
                    #[unsafe(method_id($get_array))]
                    fn $array(&self) -> objc2::rc::Retained<$array_type> {
                        self.ivars().$array()
                    }
                )*)?

                $($($methods)*)?
            }
        );

        impl crate::metal::descriptor_array::Descriptor for $class {
            fn fresh() -> objc2::rc::Retained<Self> {
                crate::foundation::object($ivars::default())
            }

            fn duplicate(&self) -> objc2::rc::Retained<Self> {
                crate::foundation::object($ivars {
                    $($value: std::sync::Mutex::new(self.ivars().$value()),)*
                    $($object: std::sync::Mutex::new(self.ivars().$object()),)*
                    $($($array: std::sync::Mutex::new(
                        crate::metal::descriptor_array::Descriptor::duplicate(&*self.ivars().$array()),
                    ),)*)?
                })
            }
        }

        #[allow(dead_code, reason = "a class has its properties, whether this crate reads them or not")]
        impl $ivars {
            $(
                pub(crate) fn $value(&self) -> $type {
                    *crate::metal::descriptor::locked(&self.$value)
                }

                fn $set_value(&self, value: $type) {
                    *crate::metal::descriptor::locked(&self.$value) = value;
                }
            )*
            $(
                pub(crate) fn $object(&self) -> Option<objc2::rc::Retained<$object_type>> {
                    crate::metal::descriptor::locked(&self.$object).clone()
                }

                fn $set_object(&self, value: Option<&$object_type>) {
                    let new = value.map(objc2::Message::retain);
                    let old = std::mem::replace(
                        &mut *crate::metal::descriptor::locked(&self.$object),
                        new,
                    );
                    // Outside the lock: its end may look at the descriptor.
                    drop(old);
                }
            )*
            $($(
                pub(crate) fn $array(&self) -> objc2::rc::Retained<$array_type> {
                    crate::metal::descriptor::locked(&self.$array).clone()
                }
            )*)?

            /// Sets every property to its initial value.
            fn reset(&self) {
                let initial = Self::default();
                $(self.$set_value(initial.$value());)*
                $(self.$set_object(initial.$object().as_deref());)*
                $($({
                    let old = std::mem::replace(
                        &mut *crate::metal::descriptor::locked(&self.$array),
                        initial.$array(),
                    );
                    // Outside the lock: its end may look at the descriptor.
                    drop(old);
                })*)?
            }
        }
    };
}

pub(crate) use descriptor;

/// The lock of a property.
pub(crate) fn locked<T>(property: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    property.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
