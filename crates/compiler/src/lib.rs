//! Source, options and target to Artifact, with caches.
