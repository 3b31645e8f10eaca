//! The Objective-C runtime: classes, selectors, messages, reference counts, weak references, pools,
//! blocks.
//!
//! `objc2` treats classes, selectors, methods and protocols as opaque, so their layouts are this
//! module's own. Fixed by others are the signatures of the exported C functions, the names of the
//! classes' data symbols, and the ABI of blocks.
//!
//! Compiled Objective-C ([`load`], [`compiled`]) has fixed layouts of its own, which are read once.
//!
//! A class starts as a static with its name only and is built by the first message to it
//! ([`class::Class::class_of_class`]). Classes, methods, selectors and protocols are never freed,
//! so `&'static` stands for each of them; C's null is `None`.
//!
//! One lock, [`registry::mutation`], orders every change of what a message may find. A message that
//! is in its class's [`cache`] takes no lock.

mod absent;
mod accessors;
pub(crate) mod arc;
mod associated;
pub mod block;
mod block_class;
mod cache;
pub mod class;
pub(crate) mod class_builder;
mod compiled;
mod encoding;
mod exception;
mod initialize;
mod instance;
mod introspection;
mod lists;
pub(crate) mod literal;
mod load;
pub mod message;
mod method;
pub mod object;
mod personality;
mod pool;
mod property;
pub(crate) mod protocol;
pub mod registry;
pub(crate) mod root;
mod selector;
mod send;
mod sync;
mod weak;

#[cfg(test)]
mod tests;

pub use exception::objc_anymetal_throw_exceptions;
pub(crate) use exception::{is_unwinding, raise, raise_invalid_argument, raise_range, without_exceptions};
pub(crate) use pool::{begin as begin_pool, end as end_pool};
pub(crate) use root::add_string_method;
pub(crate) use selector::Sel;

/// Raises a failure of a function that was called with NULL instead of the address of a variable.
#[track_caller]
fn require_place(function: &str, place: *mut *mut object::Object) {
    if place.is_null() {
        raise_invalid_argument(&format!("{function}: the address of the variable must not be NULL"));
    }
}
