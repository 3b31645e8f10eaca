//! `anymetal analyze`: what kernels do for each thread, found in their IR.

mod roofline;

use std::fmt::Write as _;

use anymetal_driver::analyze::{
    AccessSite, Counts, DeviceFamily, FAMILIES, Factor, FactorKind, KernelAnalysis, Limit, Operation,
    Options, Pattern, SizeChoice, SizeRequest, SizeStep,
};
use anymetal_driver::{KernelRemark, Library, Specialisation};
use clap::Args;
use serde_json::json;

use crate::extent::Extent;
use crate::failure::Failure;
use crate::output;
use crate::source_file::SourceFile;
use roofline::Roof;

/// Show what kernels do for each thread: operations, bytes, access patterns, registers, occupancy.
///
/// Nothing of them is run. What the source does not decide is a factor that names its line; accesses that
/// depend on data are called gathered.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal analyze kernels.metal\n  anymetal analyze reduce.metal -k reduce --group 256 --json\n  anymetal analyze kernels.metal --roofline"
)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    source: SourceFile,
    /// The kernel (default: all of the file)
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// The threadgroup size that patterns and occupancy are for (default: 256 threads)
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse)]
    group: Option<Extent>,
    /// Bytes of threadgroup memory that the launch gives to arguments
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    threadgroup_memory: u64,
    /// Choose a threadgroup size by what is known without running, and explain it step by step
    #[arg(long)]
    explain_size: bool,
    /// The grid in threads, for --explain-size
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = Extent::parse, requires = "explain_size")]
    threads: Option<Extent>,
    /// Whose occupancy --explain-size goes by: Apple4+, or an NVIDIA compute capability
    #[arg(long, value_name = "FAMILY", value_parser = family, default_value = "9.0", requires = "explain_size")]
    occupancy: &'static DeviceFamily,
    /// Measure the device's multiply-add rate and bandwidth, and show where kernels are under its roofline
    #[arg(long, conflicts_with = "explain_size")]
    roofline: bool,
    /// Whose roofline: cpu, nvidia:0, ... (default: the default device)
    #[arg(long, value_name = "NAME", requires = "roofline")]
    device: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The family of that name; `9.0` for `NVIDIA 9.0`.
fn family(name: &str) -> Result<&'static DeviceFamily, String> {
    let is =
        |family: &&DeviceFamily| family.name == name || family.name.strip_prefix("NVIDIA ") == Some(name);
    FAMILIES.iter().find(is).ok_or_else(|| {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        format!("there is {}", names.join(", "))
    })
}

/// Does it.
pub(crate) fn analyze(args: &AnalyzeArgs) -> Result<(), Failure> {
    let library = args.source.library(None, args.kernel.as_ref())?;
    let kernels = match &args.kernel {
        Some(kernel) => vec![kernel.clone()],
        None => library.kernel_names().to_vec(),
    };
    let options = Options {
        group: args.group.as_ref().map(Extent::to_array),
        threadgroup_memory: args.threadgroup_memory,
    };
    let mut specialisation = args.source.specialisation();
    specialisation.ignore_unknown_constants = args.kernel.is_none();
    if args.explain_size {
        return explain_sizes(args, &library, &kernels, &specialisation);
    }
    let one = |kernel: &String| library.analyze(kernel, &specialisation, &options);
    let analyses = kernels.iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let for_remarks = Specialisation { group_size: options.group, ..specialisation.clone() };
    let remarks: Vec<Vec<KernelRemark>> =
        kernels.iter().map(|kernel| remarks_for_remarkses(&library, kernel, &for_remarks)).collect();
    let roof = match args.roofline {
        true => Some(Roof::of(args.device.as_deref())?),
        false => None,
    };
    if args.json {
        let on_kernel = |(kernel, remarks)| json!({ "kernel": kernel, "remarks": remarks });
        let remarks: Vec<_> = kernels.iter().zip(&remarks).map(on_kernel).collect();
        let mut object = json!({ "kernels": analyses, "cpu_accesses": remarks });
        if let Some(roof) = &roof {
            object["roofline"] = roof.json(&analyses);
        }
        return output::json(&object);
    }
    analyses.iter().zip(&remarks).try_for_each(|(analysis, remarks)| {
        let mut text = text(analysis, remarks);
        text.extend(roof.iter().map(|roof| roof.text(&analysis.intensity)));
        output::write(&text)
    })
}

/// How the kernel's accesses are compiled for this processor; none, and a note, if they cannot be.
fn remarks_for_remarkses(
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
) -> Vec<KernelRemark> {
    match library.remarks(kernel, specialisation) {
        Ok(mut remarks) => {
            remarks.retain(|remark| remark.pass == "memory");
            remarks
        }
        Err(error) => {
            eprintln!("note: there is no code of `{kernel}` for this processor: {error}");
            Vec::new()
        }
    }
}

fn explain_sizes(
    args: &AnalyzeArgs,
    library: &Library,
    kernels: &[String],
    specialisation: &Specialisation,
) -> Result<(), Failure> {
    let mut choices = Vec::new();
    for kernel in kernels {
        let info = library.reflect(kernel)?;
        let request = SizeRequest {
            required: info.required_threads_per_threadgroup,
            limit: info.max_threads_per_threadgroup,
            grid: args.threads.as_ref().map(Extent::to_array),
            family: args.occupancy,
            threadgroup_memory: args.threadgroup_memory,
        };
        choices.push((kernel, library.choose_size(kernel, specialisation, &request)?));
    }
    if args.json {
        let object = |(kernel, choice): &(&String, SizeChoice)| json!({ "kernel": kernel, "choice": choice });
        return output::json(&json!({ "kernels": choices.iter().map(object).collect::<Vec<_>>() }));
    }
    choices.iter().try_for_each(|(kernel, choice)| {
        let [x, y, z] = choice.size;
        let mut text = format!("{kernel}: threadgroups of {x}x{y}x{z}\n");
        for SizeStep { rule, reason, left } in &choice.steps {
            let sizes = if *left == 1 { "size" } else { "sizes" };
            let _ = writeln!(text, "  {rule}: {reason} ({left} {sizes})");
        }
        output::write(&text)
    })
}

fn text(analysis: &KernelAnalysis, remarks: &[KernelRemark]) -> String {
    let mut out = String::new();
    let [x, y, z] = analysis.group;
    let axes = ["", "one dimension", "two dimensions", "three dimensions"];
    let dimensions = axes.get(analysis.dimensions as usize).copied().unwrap_or_default();
    let _ = writeln!(out, "{}: {dimensions}, threadgroups of {x}x{y}x{z}", analysis.kernel);
    for (number, region) in analysis.regions.iter().enumerate() {
        let counts = counts(&region.counts);
        if !counts.is_empty() || number == 0 {
            let _ = writeln!(out, "  {}: {}", factors(analysis, number), or_nothing(counts));
        }
    }
    if let Some(intensity) = roofline::intensity(&analysis.intensity) {
        let _ = writeln!(out, "  arithmetic intensity: {intensity} float operations per byte");
    }
    if !analysis.accesses.is_empty() {
        let _ = writeln!(out, "  accesses of a SIMD-group:");
        analysis.accesses.iter().for_each(|site| out.push_str(&access(site, remarks)));
    }
    if !analysis.divergent_lines.is_empty() {
        let lines: Vec<String> = analysis.divergent_lines.iter().map(u32::to_string).collect();
        let _ = writeln!(out, "  lanes part at line {}", lines.join(", "));
    }
    let (registers, memory) = (analysis.registers, analysis.threadgroup_memory);
    let _ = writeln!(out, "  about {registers} registers, {memory} bytes of threadgroup memory");
    for occupancy in &analysis.occupancy {
        if let (Some(groups), Some(part)) = (occupancy.threadgroups, occupancy.part) {
            let (family, percent, limit) = (occupancy.family, part * 100.0, limit(occupancy.limit));
            let _ = writeln!(
                out,
                "  {family}: {groups} threadgroups of a core, {percent:.0} % of its threads{limit}"
            );
        }
    }
    for advice in &analysis.advice {
        let _ = writeln!(out, "  advice: {advice}");
    }
    out
}

fn or_nothing(counts: Vec<String>) -> String {
    if counts.is_empty() { "nothing".to_owned() } else { counts.join(", ") }
}

/// What the executions of a region depend on, outermost first.
fn factors(analysis: &KernelAnalysis, region: usize) -> String {
    let mut words = Vec::new();
    let mut next = Some(region);
    while let Some(region) = next.and_then(|number| analysis.regions.get(number)) {
        words.extend(region.factor.as_ref().map(factor));
        next = region.parent;
    }
    words.reverse();
    let executions = analysis.regions[region].executions.filter(|_| !words.is_empty());
    if let (Some(times), Some(last)) = (executions, words.last_mut()) {
        last.push_str(&format!(" ({times} times)"));
    }
    if words.is_empty() { "each thread once".to_owned() } else { words.join(" × ") }
}

fn factor(factor: &Factor) -> String {
    let line = factor.line;
    match factor.kind {
        FactorKind::Then => format!("if line {line}"),
        FactorKind::Else => format!("if not line {line}"),
        FactorKind::Case => format!("case of line {line}"),
        FactorKind::Iterations => format!("each iteration of line {line}"),
        FactorKind::GoesOn => format!("if it goes on after line {line}"),
    }
}

fn counts(counts: &Counts) -> Vec<String> {
    let Counts { float_operations, math_calls, integer_operations, bytes_read, bytes_written, .. } = *counts;
    let all = [
        (float_operations, "float operations"),
        (math_calls, "calls of library functions"),
        (integer_operations, "integer operations"),
        (bytes_read, "bytes read"),
        (bytes_written, "bytes written"),
        (counts.threadgroup_bytes, "bytes of threadgroup memory"),
        (counts.atomics, "atomics"),
        (counts.barriers, "barriers"),
        (counts.simd_operations, "SIMD-group operations"),
    ];
    all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}

fn access(site: &AccessSite, remarks: &[KernelRemark]) -> String {
    let what = match site.operation {
        Operation::Load => "load",
        Operation::Store => "store",
        Operation::Atomic => "atomic",
        Operation::MatrixLoad => "matrix load",
        Operation::MatrixStore => "matrix store",
    };
    let pattern = match site.pattern {
        Pattern::Uniform => "uniform".to_owned(),
        Pattern::Contiguous => "contiguous".to_owned(),
        Pattern::Strided { bytes: Some(bytes) } => format!("strided by {bytes} bytes"),
        Pattern::Strided { bytes: None } => "strided".to_owned(),
        Pattern::Gathered => "gathered".to_owned(),
    };
    let cost = match (&site.cost, site.bank_conflicts) {
        (Some(cost), _) => format!(
            ": {} sectors (NVIDIA), {} lines (Apple), {} lines (x86)",
            cost.nvidia_sectors, cost.apple_lines, cost.cpu_lines
        ),
        (None, Some(words)) if words > 1 => format!(": {words} words of one bank"),
        _ => String::new(),
    };
    let name = site.variable.as_deref().unwrap_or("memory");
    let (line, column, bytes) = (site.line, site.column, site.bytes);
    let mut text = format!("    {line}:{column} {what} of {bytes} bytes of `{name}`, {pattern}{cost}\n");
    for remark in remarks.iter().filter(|remark| (remark.line, remark.column) == (line, column)) {
        let _ = writeln!(text, "      on this processor: {} ({})", remark.name, remark.details());
    }
    text
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Threads | Limit::NotPublished => "",
        Limit::Threadgroups => ", limited by the number of threadgroups",
        Limit::Registers => ", limited by registers",
        Limit::ThreadgroupMemory => ", limited by threadgroup memory",
        Limit::TooLarge => ": the threadgroup is too large",
    }
}
