//! Artifacts of source text, for devices that compile it themselves.
//!
//! The front end has checked the kernel and reflected it, so mistakes are told in its words and before the
//! device sees the text. Only the description is kept on disk: the text is the library's.

use std::sync::Arc;

use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget};
use anymetal_hal::metal_source::{MathMode, MetalConstant, MetalOptions, MetalSource};
use anymetal_ir::Module;
use anymetal_msl::pp::EXTENSIONS;
use anymetal_msl::token::MathMode as SourceMathMode;

use crate::artifacts::{Subject, kept, kernel_of};
use crate::big_stack;
use crate::constants;
use crate::error::CompileError;
use crate::library::Specialisation;
use crate::reflection::{self, scalar_type};
use crate::source::SourceOptions;

/// The kernel's source, with its description.
pub(crate) fn artifact(subject: &impl Subject) -> Result<Arc<Artifact>, CompileError> {
    let key = subject.key("metal");
    let make = || {
        let source = subject.metal_source()?;
        refuse_extensions(&subject.name(), &source.text)?;
        let described = described(subject)?;
        Ok(Arc::new(
            Artifact::clone(&described)
                .code(ArtifactCode::Source(Arc::new(source)))
                .fingerprint(subject.key("metal").to_string()),
        ))
    };
    subject.shared().artifacts.get_or_make(key, |_| true, make)
}

/// Headers that Metal does not have are refused before its compiler misses them.
fn refuse_extensions(kernel: &str, text: &str) -> Result<(), CompileError> {
    let included = text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
        EXTENSIONS.iter().find(|name| rest.trim_start().starts_with(&format!("<{name}>")))
    });
    let Some(header) = included else {
        // It uses Metal's own headers only.
        return Ok(());
    };
    let reason = format!(
        "Metal has no `<{header}>`; use its own functions of SIMD-groups and threadgroups, and split the kernel \
         at barriers of the grid into kernels that are launched one after the other"
    );
    Err(CompileError::Unsupported { kernel: kernel.to_owned(), reason })
}

/// The kernel's description, as an artifact with an empty text. Sizes that only the device's compiler knows
/// are those that the source says.
pub(crate) fn described(subject: &impl Subject) -> Result<Arc<Artifact>, CompileError> {
    let name = subject.name();
    let make = || {
        let prepared = subject.prepared()?;
        let found = kernel_of(&prepared.module, &name)?;
        let mut info = reflection::reflect(&prepared.module, found, prepared.constants.clone());
        info.symbol.clone_from(&name);
        if info.has_messages() {
            let reason = "messages of kernels are not supported on Apple GPUs; compile it without logging";
            return Err(CompileError::Unsupported { kernel: name.clone(), reason: reason.to_owned() });
        }
        if info.encodes_commands() {
            let reason = "kernels that encode indirect command buffers are not supported on Apple GPUs";
            return Err(CompileError::Unsupported { kernel: name.clone(), reason: reason.to_owned() });
        }
        let options = MetalOptions { math_mode: MathMode::Safe, language_version: 0, constants: Vec::new() };
        Ok(Artifact::new(
            ArtifactTarget::Metal,
            ArtifactCode::Source(Arc::new(MetalSource { text: Arc::from(""), options })),
            vec![info],
        ))
    };
    let key = || subject.key("description for metal");
    kept(subject.shared(), &name, key, || big_stack::run("reflection", make))
}

/// How the device is to compile a kernel of the module that the front end made.
pub(crate) fn options(
    source: &SourceOptions,
    module: &Module,
    kernel: &str,
    specialisation: &Specialisation,
) -> Result<MetalOptions, CompileError> {
    let ignored = specialisation.ignore_unknown_constants;
    let values = constants::resolve(&specialisation.constants, module, kernel, ignored)?;
    let mut of_metal: Vec<MetalConstant> = Vec::new();
    for (id, bits) in values {
        let (Some(declared), Some(bits)) = (module.function_constants.get(id.0 as usize), bits) else {
            continue;
        };
        let scalar = scalar_type(declared.ty, declared.signed);
        let (index, lane, lanes) = (declared.index, usize::from(declared.lane), usize::from(declared.lanes));
        let is_same = |known: &&mut MetalConstant| known.index == index && known.bits.len() == lanes;
        match of_metal.iter_mut().find(|known| lanes > 1 && is_same(known)) {
            Some(known) => known.bits[lane] = bits,
            None => {
                let mut all = vec![0; lanes];
                all[lane] = bits;
                of_metal.push(MetalConstant { index, scalar, bits: all });
            }
        }
    }
    Ok(MetalOptions {
        math_mode: match source.math_mode {
            SourceMathMode::Safe => MathMode::Safe,
            SourceMathMode::Relaxed => MathMode::Relaxed,
            SourceMathMode::Fast => MathMode::Fast,
        },
        language_version: source.language_version,
        constants: of_metal,
    })
}
