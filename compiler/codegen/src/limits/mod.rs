//! Limits of code generation for all targets; those of one target are in [`cpu`] and [`ptx`].

pub(crate) mod cpu;
pub(crate) mod ptx;
