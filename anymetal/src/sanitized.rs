//! Libraries whose kernels run under the sanitizer.
//!
//! Owns [`SanitizedLibrary`]. Invariant: an artifact is made once for each kernel and its constants; the
//! first use describes the kernel, the next runs it.

use std::sync::{Arc, Mutex, PoisonError};

use anymetal_driver::{Library, SharedSession, Specialisation};
use anymetal_hal::artifact::Artifact;
use anymetal_types::family::Family;

use crate::compile::{code_options, made, specialisation};
use crate::constants::FunctionConstants;
use crate::error::Error;
use crate::library::CompileOptions;
use crate::sanitizer;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct SanitizedLibrary {
    library: Library,
    session: SharedSession,
    family: Option<Family>,
    code: Specialisation,
    artifacts: Mutex<Vec<SanitizedKernel>>,
}

#[derive(Debug)]
struct SanitizedKernel {
    name: String,
    constants: FunctionConstants,
    artifact: Arc<Artifact>,
}

impl SanitizedLibrary {
    pub(crate) fn new(library: Library, options: &CompileOptions) -> Self {
        SanitizedLibrary {
            library,
            session: sanitizer::session(),
            family: options.family,
            code: code_options(options),
            artifacts: Mutex::default(),
        }
    }

    /// The same session and options for another library.
    pub(crate) fn with_library(&self, library: Library) -> Self {
        let (session, family, code) = (self.session.clone(), self.family, self.code.clone());
        SanitizedLibrary { library, session, family, code, artifacts: Mutex::default() }
    }

    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// What runs the kernel and reports to the session of this process.
    pub(crate) fn artifact(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
    ) -> Result<Arc<Artifact>, Error> {
        let mut artifacts = self.artifacts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = artifacts.iter().find(|known| known.name == kernel && known.constants == *constants);
        if let Some(known) = known {
            return Ok(Arc::clone(&known.artifact));
        }
        let specialisation = specialisation(constants, &self.code);
        if let Some(family) = self.family {
            self.library.check_family(kernel, &specialisation, family)?;
        }
        let (session, after) = (&self.session, Some(sanitizer::after()));
        let artifact =
            made(kernel, self.library.sanitized_artifact(kernel, &specialisation, session, after))?;
        artifacts.push(SanitizedKernel {
            name: kernel.to_owned(),
            constants: constants.clone(),
            artifact: Arc::clone(&artifact),
        });
        Ok(artifact)
    }
}
