//! Attachments: what a layer above keeps with an object of a device, so that it need not look it up.
//!
//! Owns [`Attachment`]. Invariant: it holds one value, set once; the device never looks at it. One type of
//! value is agreed on per kind of object, by the layer that uses it.

use std::any::Any;
use std::sync::OnceLock;

/// A place for one value of a layer above.
#[derive(Debug, Default)]
pub struct Attachment {
    value: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Attachment {
    /// The value, made by the first call; `None` if a value of another type is there.
    pub fn get_or_init<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.value.get_or_init(|| Box::new(make())).downcast_ref()
    }

    /// Sets the value.
    ///
    /// # Panics
    /// There is one.
    pub fn set(&self, value: impl Any + Send + Sync) {
        assert!(self.value.set(Box::new(value)).is_ok(), "an attachment is set once");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_stays_and_another_type_sees_none() {
        let attachment = Attachment::default();
        assert_eq!(attachment.get_or_init(|| 1u32), Some(&1));
        assert_eq!(attachment.get_or_init(|| 2u32), Some(&1));
        assert_eq!(attachment.get_or_init(|| 2u64), None);
    }
}
