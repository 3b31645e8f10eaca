//! Tests of semantic analysis.
