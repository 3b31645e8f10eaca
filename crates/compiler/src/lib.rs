//! Source, options and target to Artifact, with caches.
#![forbid(unsafe_code)]
