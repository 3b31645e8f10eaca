//! Measures the accuracy and speed of the vector math library of `anymetal-codegen`.
//!
//! Each function is compiled as a loop over arrays ([`kernel`]), run on chosen arguments ([`sample`]),
//! and compared with the same function in doubles ([`reference`]) in units in the last place
//! ([`measure`]). [`catalog`] lists the functions with the MSL specification's limit and the bound that
//! our tests hold them to. The program `math-ulp` prints the table of `docs/math-accuracy.md`.
//!
//! Start with [`catalog::CATALOG`].

pub mod catalog;
pub mod kernel;
pub mod measure;
pub mod reference;
pub mod report;
pub mod sample;
pub mod speed;
