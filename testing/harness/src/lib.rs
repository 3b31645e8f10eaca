//! Test harness: file-driven cases, corpora found through cargo, references.
