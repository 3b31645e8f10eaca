//! Metal's Objective-C API where there is no Metal: programs written for it link with this crate
//! and run on anymetal's devices.
//!
//! - [`runtime`]: the Objective-C runtime, with the ABI that `objc2` expects with its feature
//!   `gnustep-2-1`.
//! - [`foundation`]: the classes of Foundation that programs for Metal touch.
//! - `dispatch`: the part of Grand Central Dispatch that such programs use.
//! - [`metal`]: Metal's compute classes over the `anymetal` crate.
//!
//! Nobody calls Rust functions of this crate: it exports C symbols (`objc_msg_lookup`,
//! `MTLCreateSystemDefaultDevice`) and classes as data symbols (`._OBJC_CLASS_NSString`). A patched
//! `objc2-metal` depends on it, which `cargo anymetal` makes from the registry's source; see
//! `docs/metal-api.md`. It depends on neither `objc2-metal` nor `objc2-foundation`, because they
//! would depend on each other then.
//!
//! Empty on Apple's machines, which have the real ones.
#![cfg(not(target_vendor = "apple"))]

#[macro_use]
mod define;

mod arguments;
mod classes;
mod dispatch;
pub mod foundation;
#[cfg(test)]
mod inventory;
pub mod metal;
mod mps;
mod results;
pub mod runtime;
