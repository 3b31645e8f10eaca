//! From a kernel to the assembler's verdict.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anymetal_conformance::case::Constant;
use anymetal_driver::hal::artifact::{Artifact, ArtifactCode, ElementType, KernelInfo, ScalarType};
use anymetal_driver::{ConstantKey, ConstantValue, Specialisation, Target};

use crate::subjects::Subject;

/// How a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    pub(crate) sm: u32,
    /// The cards that it is assembled for, as their driver does.
    cards: &'static [u32],
    /// For whole threadgroups of one size, not for any.
    pub(crate) whole: bool,
}

/// The variants of each kernel.
pub(crate) const VARIANTS: [Variant; 2] =
    [Variant { sm: 80, cards: &[80, 90], whole: false }, Variant { sm: 90, cards: &[90], whole: true }];

/// What came of a kernel.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The assembler takes it.
    Assembled,
    /// There is no PTX.
    NotGenerated(String),
    /// The assembler refuses it.
    Refused(String),
}

/// NVIDIA's assembler.
#[derive(Debug)]
pub(crate) struct Assembler {
    path: PathBuf,
    keep: Option<PathBuf>,
}

impl Assembler {
    /// The one at that path, if it runs.
    pub(crate) fn new(path: &Path, keep: Option<&Path>) -> Result<Self, String> {
        let version = Command::new(path).arg("--version").output();
        let version = version.map_err(|error| format!("{} does not start: {error}", path.display()))?;
        if !version.status.success() {
            return Err(format!("{} --version fails", path.display()));
        }
        if let Some(folder) = keep {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(Self { path: path.to_owned(), keep: keep.map(Path::to_path_buf) })
    }

    /// Compiles and assembles a kernel.
    pub(crate) fn judge(&self, subject: &Subject, variant: Variant) -> Verdict {
        let text = match compile(subject, variant) {
            Ok(artifact) => match &artifact.code {
                ArtifactCode::Ptx(text) => text.clone(),
                other => return Verdict::NotGenerated(format!("it is {}", other.kind())),
            },
            Err(message) => return Verdict::NotGenerated(message),
        };
        let refusal = variant.cards.iter().find_map(|&sm| self.assemble(&text, sm).err());
        match refusal {
            None => Verdict::Assembled,
            Some(message) => {
                if let Some(folder) = &self.keep {
                    let name = format!("{}-sm_{}.ptx", subject.kernel, variant.sm);
                    // The verdict stands without it.
                    let _ = std::fs::write(folder.join(name), text.as_bytes());
                }
                Verdict::Refused(message)
            }
        }
    }

    fn assemble(&self, text: &str, sm: u32) -> Result<(), String> {
        let mut command = Command::new(&self.path);
        command.args([format!("--gpu-name=sm_{sm}"), "--output-file=/dev/null".to_owned(), "-".to_owned()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let written = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        if output.status.success() && matches!(written, Some(Ok(()))) {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(String::from_utf8_lossy(&said).trim().to_owned())
    }
}

fn compile(subject: &Subject, variant: Variant) -> Result<std::sync::Arc<Artifact>, String> {
    let info = subject.library.reflect(&subject.kernel).map_err(|error| error.to_string())?;
    let group = variant.whole.then(|| subject.group.unwrap_or(likely_group(&info)));
    let specialisation = Specialisation {
        constants: constants(&info, &subject.constants),
        group_size: group,
        whole_threadgroups_only: group.is_some(),
        ..Specialisation::default()
    };
    let target = Target::Nvidia { sm: variant.sm };
    let artifact = subject.library.artifact(&subject.kernel, &specialisation, target);
    artifact.map_err(|error| error.to_string())
}

/// Four SIMD-groups, as most kernels are launched.
fn likely_group(info: &KernelInfo) -> [u32; 3] {
    info.required_threads_per_threadgroup.unwrap_or([info.max_threads_per_threadgroup.min(128), 1, 1])
}

/// The values given, and for the others values that switch code on.
fn constants(info: &KernelInfo, given: &[(u32, Constant)]) -> Vec<(ConstantKey, ConstantValue)> {
    let value = |index: u32, element: &ElementType| {
        let given = given.iter().find(|(known, _)| *known == index);
        match (given.map(|(_, value)| *value), element) {
            (Some(Constant::Bool(value)), _) => ConstantValue::from(value),
            (Some(Constant::Integer(value)), _) => ConstantValue::from(value),
            (Some(Constant::Float(value)), _) => ConstantValue::from(value),
            (None, ElementType::Scalar(ScalarType::Bool)) => ConstantValue::from(true),
            (None, _) => ConstantValue::from(2),
        }
    };
    let known = info.function_constants.iter();
    known.map(|known| (ConstantKey::Index(known.index), value(known.index, &known.element))).collect()
}
