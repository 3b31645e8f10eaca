//! Parts of the formats in which other programs take diagnostics and findings: SARIF 2.1.0, and workflow
//! commands of GitHub Actions.
//!
//! Whoever reports writes its own results; what is alike for all of them is here.

pub mod github;
pub mod sarif;
