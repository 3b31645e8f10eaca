//! The command line from outside: what other programs and people see.

mod analyze;
mod audit;
mod cache;
mod check;
mod compile;
mod doctor;
mod family;
mod files;
mod hostile;
mod links;
mod lint;
mod logging;
mod peers;
mod pictures;
mod report;
mod run;
mod settings;
mod support;
mod telemetry;
mod top;
mod trace;
mod translate;
mod translate_cuda;
mod tune;
mod untrusted_files;
