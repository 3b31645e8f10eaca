//! Methods that set one field each, for descriptions with many optional fields.
//!
//! Owns [`setters!`](crate::setters). Such a description is `#[non_exhaustive]`, so that a new field breaks
//! no program: it has a constructor with its required fields, and one of these methods for each other field.

/// Implements a method for each field, with the name of the field, that replaces its value. Fields after
/// `into` accept everything that converts to their type.
#[macro_export]
macro_rules! setters {
    ($name:ident { $($field:ident: $type:ty),* $(,)? } $(into { $($text:ident: $of:ty),* $(,)? })?) => {
        impl $name {
            $(
                #[doc = concat!("Replaces the field `", stringify!($field), "`.")]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
            $($(
                #[doc = concat!("Replaces the field `", stringify!($text), "`.")]
                #[must_use]
                pub fn $text(mut self, $text: impl Into<$of>) -> Self {
                    self.$text = $text.into();
                    self
                }
            )*)?
        }
    };
}
