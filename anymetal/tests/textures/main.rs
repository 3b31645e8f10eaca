//! Textures and samplers against a reference written from the specification's rules, on compiled code and in
//! the interpreter.

mod argument_buffers;
mod formats;
mod handles;
mod kinds;
mod reference;
mod sampling;
