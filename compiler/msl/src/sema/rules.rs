//! Rules of the Metal specification that C++ does not have and that need types, one file for each subject.
//!
//! `crate::rules` has those that syntax alone decides. docs/reference/metal-rules.md lists all of them.

pub(super) mod address_spaces;
pub(super) mod atomics;
pub(super) mod local_variables;
pub(super) mod thread_attributes;
pub(super) mod threadgroup_variables;
pub(super) mod uniform;
