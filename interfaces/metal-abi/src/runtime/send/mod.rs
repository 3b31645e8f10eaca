//! `objc_msgSend` and its relatives: trampolines that find a message's code and jump to it with all
//! argument registers, and so all arguments, as they were.
//!
//! A message to nothing gives zero, in the integer registers and in the first vector registers. The
//! fast path is a search in the class's [`Cache`](super::cache); what is not found there, tagged
//! pointers and classes that were not built go to [`find`].
//!
//! On x86-64 a result in memory (`objc_msgSend_stret`) has its address in the first register, so
//! receiver and selector are one register further; on AArch64 the address has a register of its own,
//! and there is no such function.

use super::message::{Super, implementation, objc_msg_lookup_super};
use super::object::{Imp, Object};
use super::selector::Sel;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// The code for a message to an object that is not null.
extern "C-unwind" fn find(receiver: &Object, selector: Option<Sel>) -> Imp {
    implementation(receiver.class(), selector)
}

/// The code for a message to `super`.
extern "C-unwind" fn find_super(receiver: Option<&Super<'_>>, selector: Option<Sel>) -> Imp {
    objc_msg_lookup_super(receiver, selector)
}
