//! Apple GPUs under the hal, over Metal.
//!
//! Kernels come as source, which the device compiles ([`anymetal_hal::metal_source`]). Everything else of the
//! hal is Metal's own, since the hal has Metal's model.
//!
//! | file | owns |
//! |---|---|
//! | `device`, `capabilities` | devices |
//! | `memory`, `heap`, `residency` | buffers |
//! | `library`, `archive`, `pipeline`, `reflection` | compiled kernels |
//! | `queue`, `timing` | command buffers in order, and their ends |
//! | `encode`, `launch`, `unaligned` | commands to encoders |
//! | `event`, `fence` | shared events and fences |
//! | `capture` | captures for Xcode |
//! | `error` | Metal's errors as the hal's |
//! | `object` | objects of Metal that threads share |
//!
//! What Metal cannot promise is said by the capabilities, and refused: checks of accesses, deadlines, taking
//! work back. Each call from Rust has an autorelease pool of its own, because threads of Rust have none.
//! Metal of macOS 13, iOS 16 and later; what is newer is looked for on the object that would do it.
//!
//! Off Apple's machines the crate is empty, except with the feature `metal-abi`, which is for tests: see
//! `docs/apple.md`.
#![cfg(any(target_vendor = "apple", feature = "metal-abi"))]

mod archive;
mod capabilities;
mod capture;
mod device;
mod encode;
mod error;
mod event;
mod fence;
mod heap;
mod launch;
mod library;
mod memory;
mod object;
mod pipeline;
mod queue;
mod reflection;
mod residency;
mod timing;
mod unaligned;

pub use capture::Capture;
pub use device::{AppleDevice, AppleOptions};
