//! `--remarks`: how constructs of kernels are compiled, and why not better.

use std::io::stdout;

use anymetal_driver::{CompileError, KernelRemark, Library, RemarkKind, Specialisation, Target};
use clap::ValueEnum;
use serde_json::json;

use super::CompileArgs;
use super::stand_in::StandIns;
use crate::failure::{Failure, has_colour};
use crate::output;

/// The kinds of remarks that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kinds {
    /// All remarks
    All,
    /// Optimizations that were done
    Passed,
    /// Optimizations that were not done
    Missed,
    /// Facts that explain the code
    Analysis,
}

impl Kinds {
    fn include(self, remark: &KernelRemark) -> bool {
        match self {
            Self::All => true,
            Self::Passed => remark.kind == RemarkKind::Passed,
            Self::Missed => remark.kind == RemarkKind::Missed,
            Self::Analysis => remark.kind == RemarkKind::Analysis,
        }
    }
}

/// The error for a target without remarks.
pub(super) fn not_for(target: Target) -> Failure {
    let name = match target {
        Target::Nvidia { .. } => "NVIDIA GPUs",
        Target::Metal => "Apple GPUs",
        Target::Interpreter => "the interpreter",
        Target::Cpu | Target::CpuLlvm => unreachable!("processors have remarks"),
    };
    Failure::Usage(format!("there are no remarks for {name}; use --device cpu"))
}

/// Prints the remarks on each kernel; `check` refuses some kernels before.
pub(super) fn remarks(
    args: &CompileArgs,
    library: &Library,
    kernels: &[String],
    kinds: Kinds,
    target: Target,
    check: impl Fn(&str, &Specialisation) -> Result<(), CompileError>,
) -> Result<(), Failure> {
    if !matches!(target, Target::Cpu | Target::CpuLlvm) {
        return Err(not_for(target));
    }
    let specialisation = args.specialisation();
    let stand_ins = StandIns::default();
    let mut objects = Vec::new();
    for kernel in kernels {
        let mut remarks = stand_ins.fill(&specialisation, |given| {
            check(kernel, given)?;
            library.remarks(kernel, given)
        })?;
        remarks.retain(|remark| kinds.include(remark));
        if args.json {
            objects.push(json!({ "name": kernel, "remarks": remarks }));
            continue;
        }
        if kernels.len() > 1 {
            output::line(&format!("kernel {kernel}\n"))?;
        }
        output::write(&library.render_remarks(&remarks, has_colour(&stdout()))?)?;
    }
    stand_ins.report();
    if args.json { output::json(&json!({ "kernels": objects })) } else { Ok(()) }
}
