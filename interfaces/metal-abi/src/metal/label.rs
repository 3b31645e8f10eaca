//! Labels: names that programs give to objects.

use std::sync::{Mutex, PoisonError};

use objc2::rc::Retained;

use crate::foundation::NSString;

/// A name that can change.
#[derive(Debug, Default)]
pub(crate) struct Label(Mutex<Option<String>>);

impl Label {
    pub(crate) fn set(&self, label: Option<&NSString>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = label.map(|label| label.to_string());
    }

    pub(crate) fn get(&self) -> Option<Retained<NSString>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_deref().map(NSString::of)
    }

    /// The text; empty without one.
    pub(crate) fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }
}
