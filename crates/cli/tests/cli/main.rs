//! The command line from outside: what other programs and people see.

mod cache;
mod check;
mod compile;
mod files;
mod hostile;
mod peers;
mod run;
mod settings;
mod support;
mod trace;
