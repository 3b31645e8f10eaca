//! Threadgroup sizes that were found by measuring.
//!
//! [`search`] measures candidates in turns and leaves early what is slow. A [`Database`] keeps the sizes
//! that it found, by kernel, device and [`ShapeClass`], in a file that the next process reads.
//!
//! Invariant: nothing here launches or reads a clock by itself; the caller measures. A file that cannot be
//! used is set aside and told of, never an error of a launch.
#![forbid(unsafe_code)]

mod candidates;
mod database;
mod search;
mod shape;

pub use candidates::{candidates, default_group_size};
pub use database::{Database, DatabaseError, Entry, Key, SetAside};
pub use search::{Outcome, Samples, SearchOptions, Trial, Verdict, search};
pub use shape::ShapeClass;
