//! The Objective-C runtime: classes, selectors, messages, reference counts, weak references, pools,
//! blocks.
//!
//! `objc2` treats classes, selectors, methods and protocols as opaque, so their layouts are this
//! module's own. Fixed by others are the signatures of the exported C functions, the names of the
//! classes' data symbols, and the ABI of blocks.
//!
//! A class starts as a static with its name only and is built by the first message to it
//! ([`class::Class::class_of_class`]). Classes, methods, selectors and protocols are never freed,
//! so `&'static` stands for each of them; C's null is `None`.
//!
//! One lock, [`registry::mutation`], orders every change of what a message may find. A message that
//! is in its class's [`cache`] takes no lock.

mod absent;
mod arc;
mod associated;
pub mod block;
mod cache;
pub mod class;
mod class_builder;
mod encoding;
mod exception;
mod instance;
mod introspection;
mod lists;
pub mod message;
mod method;
pub mod object;
mod pool;
mod property;
mod protocol;
pub mod registry;
pub(crate) mod root;
mod selector;
mod sync;
mod weak;

#[cfg(test)]
mod tests;

pub(crate) use exception::raise;
pub(crate) use pool::{begin as begin_pool, end as end_pool};
pub(crate) use root::add_string_method;
