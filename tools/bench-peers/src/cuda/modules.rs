//! Kernels compiled by `nvcc`, kept in a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::forms;
use crate::job::Job;
use crate::peer::{Form, PeerError};

/// A folder of sources and what `nvcc` made of them, which may have been filled on another machine.
#[derive(Clone, Debug)]
pub struct Modules {
    compiler: PathBuf,
    folder: PathBuf,
}

impl Modules {
    /// That folder, which is made when it is first written to, and the compiler's program, which is not
    /// started for what is there.
    pub fn new(compiler: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Modules { compiler: compiler.into(), folder: folder.into() }
    }

    /// Compiles all forms of the job's kernels for an architecture such as `sm_90`. Needs no GPU.
    pub fn compile(&self, job: &Job<'_>, architecture: &str) -> Result<(), PeerError> {
        for form in forms(job) {
            self.cubin(job, form, architecture)?;
        }
        Ok(())
    }

    /// The machine code of one form: of the folder if its source is there unchanged, else compiled now.
    pub(super) fn cubin(&self, job: &Job<'_>, form: Form, architecture: &str) -> Result<Vec<u8>, PeerError> {
        let name = job.steps.first().map_or("empty", |step| step.kernel);
        let name = format!("{name}{}.{architecture}", form.options.replace(' ', ""));
        let [source, cubin] = ["cu", "cubin"].map(|kind| self.folder.join(format!("{name}.{kind}")));
        // The text that the machine code was made of lies beside it, for each form.
        if !(cubin.exists() && fs::read(&source).is_ok_and(|text| text == form.source.as_bytes())) {
            fs::create_dir_all(&self.folder).map_err(|error| at(&self.folder, error))?;
            fs::write(&source, form.source).map_err(|error| at(&source, error))?;
            compile(&self.compiler, &source, &cubin, &[form.options, architecture])?;
        }
        fs::read(&cubin).map_err(|error| at(&cubin, error))
    }
}

fn at(path: &Path, error: std::io::Error) -> PeerError {
    PeerError::File { path: path.display().to_string(), error }
}

fn compile(
    compiler: &Path,
    source: &Path,
    cubin: &Path,
    [options, architecture]: &[&str; 2],
) -> Result<(), PeerError> {
    let mut command = Command::new(compiler);
    command.args(options.split(' ')).arg(format!("-arch={architecture}")).arg("-cubin");
    let output = command.arg("-o").arg(cubin).arg(source).output();
    let compiler = compiler.display().to_string();
    let output = output.map_err(|error| PeerError::NoCompiler { compiler: compiler.clone(), error })?;
    if output.status.success() {
        return Ok(());
    }
    // A file from a run before must not stand for this source.
    let _ = fs::remove_file(cubin);
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(PeerError::Build { runtime: compiler, log })
}
