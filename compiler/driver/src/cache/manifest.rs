//! Manifests: what a source depended on when it was last parsed, so that a warm start need not parse it.

use anymetal_files::roots::Roots;
use serde::{Deserialize, Serialize};

use crate::graphics::GraphicsFunction;
use crate::includes::Probe;

/// The record of a source that is kept between processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Every look for an included file.
    pub(crate) probes: Vec<Probe>,
    /// The kernels, in source order.
    pub(crate) kernels: Vec<String>,
    /// The visible functions, in source order.
    pub(crate) visible_functions: Vec<String>,
    /// The graphics functions, in source order.
    pub(crate) graphics_functions: Vec<GraphicsFunction>,
    /// Diagnostics that did not stop the compilation, as text; empty if there were none.
    pub(crate) warnings: String,
    /// Whether [`crate::Library::check`] found no error in it.
    #[serde(default)]
    pub(crate) is_checked: bool,
}

impl Manifest {
    /// The bytes for the disk; `None` for paths that JSON cannot hold.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok()
    }

    /// The manifest of those bytes, if it still matches the files on disk.
    pub(crate) fn from_bytes(bytes: &[u8], roots: &Roots) -> Option<Manifest> {
        let manifest: Manifest = serde_json::from_slice(bytes).ok()?;
        manifest.still_holds(roots).then_some(manifest)
    }

    /// Whether every look for a file would find the same now.
    pub(crate) fn still_holds(&self, roots: &Roots) -> bool {
        self.probes.iter().all(|probe| probe.still_holds(roots))
    }
}
