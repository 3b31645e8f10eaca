//! `anymetal compile`: kernels down to device code, or the text of a stage on the way.

mod all;
mod check;
mod fix;
mod reflect;
mod remarks;
mod stand_in;

use std::path::PathBuf;

use anymetal::Family;
use anymetal_driver::{CompileError, Emit, Library, PrintAfter, Specialisation, Target};
use clap::{Args, ValueEnum};

use crate::device_choice::{self, Choice};
use crate::extent::Extent;
use crate::failure::{Failure, report_notes};
use crate::output;
use crate::source_file::{Checking, SourceFile};
use remarks::Kinds;
use stand_in::StandIns;

const EXAMPLES: &str = "\
Examples:
  anymetal compile kernels.metal --all
  anymetal compile kernels.metal -k saxpy --emit asm
  anymetal compile --check shaders/*.metal
  anymetal compile kernels.metal --emit reflect --json";

/// Compile kernels down to device code, or show a stage on the way.
///
/// Without --emit the code is compiled, kept in the cache, and otherwise thrown away. --all takes every entry
/// point, several at once, and ends with the line `N compiled, M failed`; the exit code is 1 if one failed.
/// Function constants without a value get one that switches code on (true, 2), and a note says so.
///
/// --check reports all that is wrong with the functions of one or more files, whether a kernel calls them or
/// not, and writes no code. It ends with the line `N checked, M with errors`. --fix also changes the files
/// where a diagnostic says how, such as a misspelt name or a missing semicolon.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    source: SourceFile,
    /// More sources, with --check and --fix
    #[arg(value_name = "FILE", requires = "whole_files")]
    more: Vec<PathBuf>,
    /// Check all functions, of all files, and write no code
    #[arg(
        long, group = "whole_files",
        conflicts_with_all = ["kernel", "all", "device", "family", "group", "emit", "print_after", "remarks"]
    )]
    check: bool,
    /// As --check, and change the files as diagnostics say where that needs no judgement
    #[arg(
        long, group = "whole_files",
        conflicts_with_all = ["kernel", "all", "device", "family", "group", "emit", "print_after", "remarks"]
    )]
    fix: bool,
    #[command(flatten)]
    checking: Checking,
    /// The kernel
    #[arg(short, long, value_name = "NAME", conflicts_with = "all")]
    kernel: Option<String>,
    /// Every entry point of the file
    #[arg(long)]
    all: bool,
    /// The device to compile for; `interpreter` is accepted too
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Refuse what GPUs of that family refuse, see `anymetal devices --families`
    #[arg(long, value_name = "FAMILY")]
    family: Option<Family>,
    /// Compile for this threadgroup size alone, as `run` does (default: any)
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse)]
    group: Option<Extent>,
    /// With `--group`: only for grids without an edge, such as those given in threadgroups
    #[arg(long, requires = "group")]
    whole: bool,
    /// Show a stage instead of compiling down to device code
    #[arg(long, value_enum, value_name = "STAGE")]
    emit: Option<Stage>,
    /// Print the intermediate representation after this pass, or after `all`, instead of compiling
    #[arg(long, value_name = "PASS|all", value_parser = PrintAfter::parse, conflicts_with = "emit")]
    print_after: Option<PrintAfter>,
    /// Print how accesses, loops and branches are compiled for this processor, and why not better, instead of
    /// compiling: all remarks, or those of one kind
    #[arg(
        long, value_enum, value_name = "KIND", num_args = 0..=1, require_equals = true,
        default_missing_value = "all", conflicts_with_all = ["emit", "print_after"]
    )]
    remarks: Option<Kinds>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// `--emit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// What the kernels take: arguments, function constants, limits
    Reflect,
    /// The intermediate representation after all passes, as the device's code generator takes it
    Ir,
    /// How 32 lanes run the kernel on this processor, and how they access memory
    Plan,
    /// LLVM's language, as handed to LLVM
    Llvm,
    /// This processor's assembly
    Asm,
    /// NVIDIA's assembly, of `--device nvidia`
    Ptx,
}

impl CompileArgs {
    fn specialisation(&self) -> Specialisation {
        let group_size = self.group.as_ref().map(Extent::to_array);
        let whole_threadgroups_only = self.whole;
        let checks = self.checking.is_on();
        Specialisation { group_size, whole_threadgroups_only, checks, ..self.source.specialisation() }
    }
}

/// Does it.
pub(crate) fn compile(args: &CompileArgs) -> Result<(), Failure> {
    if args.check || args.fix {
        let first = args.source.path().to_owned();
        let files: Vec<PathBuf> = std::iter::once(first).chain(args.more.iter().cloned()).collect();
        let work = if args.fix { fix::fix } else { check::check };
        return work(&args.source, &files, args.json);
    }
    if let Some(sm) = nvidia(args.device.as_deref())? {
        return compile_for_nvidia(args, sm);
    }
    if args.emit == Some(Stage::Ptx) {
        return Err(Failure::Usage("PTX is of NVIDIA GPUs; add --device nvidia".to_owned()));
    }
    let choice = device_choice::choose(args.device.as_deref(), args.family)?;
    let target = choice.target;
    let shows_text = args.print_after.is_some() || args.remarks.is_some();
    let makes_code = matches!(args.emit, None | Some(Stage::Asm)) && !shows_text;
    let library = match args.source.library(makes_code.then_some(target), args.kernel.as_ref()) {
        Err(failure) if args.json => return all::report_no_library(failure),
        other => other?,
    };
    let kernels = chosen_kernels(args, &library)?;
    let outcome = match args.emit {
        None if let Some(kinds) = args.remarks => {
            remarks::remarks(args, &library, &kernels, kinds, target, |kernel, given| {
                choice.check_family(&library, kernel, given)
            })
        }
        None if let Some(passes) = &args.print_after => {
            texts(args, &library, &kernels, ';', |library, kernel, given| {
                choice.check_family(library, kernel, given)?;
                library.print_after(kernel, given, target, passes)
            })
        }
        Some(Stage::Reflect) => reflect::reflect(args, &library, &kernels),
        Some(stage) => emit(args, &library, &kernels, stage, &choice),
        None => all::compile(args, &library, &kernels, target, |kernel, given| {
            choice.check_family(&library, kernel, given)
        }),
    };
    report_notes();
    outcome
}

/// Architectures that code is generated for.
const NVIDIA_ARCHITECTURES: &[u32] = &[75, 80, 86, 87, 89, 90];

/// The architecture of `nvidia` or `nvidia:sm_XX`; `None` for other devices.
fn nvidia(device: Option<&str>) -> Result<Option<u32>, Failure> {
    let Some(rest) = device.and_then(|device| device.strip_prefix("nvidia")) else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some(80));
    }
    let sm = rest.strip_prefix(":sm_").and_then(|number| number.parse().ok());
    match sm.filter(|sm| NVIDIA_ARCHITECTURES.contains(sm)) {
        Some(sm) => Ok(Some(sm)),
        None => {
            let known: Vec<String> =
                NVIDIA_ARCHITECTURES.iter().map(|sm| format!("nvidia:sm_{sm}")).collect();
            Err(Failure::Usage(format!("there is no such architecture; known: {}", known.join(", "))))
        }
    }
}

/// Code or text for NVIDIA GPUs, for which none needs to be there.
fn compile_for_nvidia(args: &CompileArgs, sm: u32) -> Result<(), Failure> {
    let target = Target::Nvidia { sm };
    if args.remarks.is_some() {
        return Err(remarks::not_for(target));
    }
    let library = match args.source.library(Some(target), args.kernel.as_ref()) {
        Err(failure) if args.json => return all::report_no_library(failure),
        other => other?,
    };
    let kernels = chosen_kernels(args, &library)?;
    let (emit, comment) = match args.emit {
        None if let Some(passes) = &args.print_after => {
            return texts(args, &library, &kernels, ';', |library, kernel, given| {
                library.print_after(kernel, given, target, passes)
            });
        }
        None => return all::compile(args, &library, &kernels, target, |_, _| Ok(())),
        Some(Stage::Reflect) => return reflect::reflect(args, &library, &kernels),
        Some(Stage::Llvm) => (Emit::NvidiaLlvm(sm), ';'),
        Some(Stage::Ptx | Stage::Asm) => (Emit::Ptx(sm), '/'),
        Some(Stage::Ir) => (Emit::NvidiaIr(sm), ';'),
        Some(Stage::Plan) => {
            return Err(Failure::Usage("a SIMD plan is of the CPU; leave --device out".to_owned()));
        }
    };
    texts(args, &library, &kernels, comment, |library, kernel, given| library.emit(kernel, given, emit))
}

/// The requested kernel, all of them, or the only one of the file.
fn chosen_kernels(args: &CompileArgs, library: &Library) -> Result<Vec<String>, Failure> {
    let names = library.kernel_names();
    match &args.kernel {
        Some(name) => Ok(vec![name.clone()]),
        None if args.all || args.emit == Some(Stage::Reflect) || names.len() == 1 => Ok(names.to_vec()),
        None => Err(Failure::Usage(format!(
            "give -k NAME or --all; the source has {} kernels{}",
            names.len(),
            names.iter().take(20).map(|name| format!("\n  {name}")).collect::<String>()
        ))),
    }
}

fn emit(
    args: &CompileArgs,
    library: &Library,
    kernels: &[String],
    stage: Stage,
    choice: &Choice,
) -> Result<(), Failure> {
    let (emit, comment) = match stage {
        Stage::Llvm => (Emit::Llvm, ';'),
        Stage::Plan => (Emit::Plan, ';'),
        Stage::Asm => (Emit::Assembly, '#'),
        // The interpreter has no passes of its own.
        Stage::Ir | Stage::Reflect | Stage::Ptx if choice.target == Target::Interpreter => {
            (Emit::PreparedIr, ';')
        }
        Stage::Ir | Stage::Reflect | Stage::Ptx => (Emit::Ir, ';'),
    };
    texts(args, library, kernels, comment, |library, kernel, given| {
        choice.check_family(library, kernel, given)?;
        library.emit(kernel, given, emit)
    })
}

/// Prints a text of each kernel.
fn texts(
    args: &CompileArgs,
    library: &Library,
    kernels: &[String],
    comment: char,
    make: impl Fn(&Library, &str, &Specialisation) -> Result<String, CompileError>,
) -> Result<(), Failure> {
    let specialisation = args.specialisation();
    let stand_ins = StandIns::default();
    let mut texts = Vec::new();
    for kernel in kernels {
        let text = stand_ins.fill(&specialisation, |given| make(library, kernel, given))?;
        eprint!("{}", library.kernel_warnings(kernel).map_err(Failure::Compile)?);
        if args.json {
            texts.push(serde_json::json!({ "name": kernel, "text": text }));
            continue;
        }
        if kernels.len() > 1 {
            let comment = if comment == '/' { "//".to_owned() } else { comment.to_string() };
            output::line(&format!("{comment} kernel {kernel}"))?;
        }
        output::write(&text)?;
    }
    stand_ins.report();
    if args.json { output::json(&serde_json::json!({ "kernels": texts })) } else { Ok(()) }
}
