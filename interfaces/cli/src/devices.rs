//! `anymetal devices`: what there is to run on.

mod families;
mod topology;

use anymetal::{Capabilities, Device};
use anymetal_driver::Compiler;
use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// List the devices.
///
/// Every number is asked of the machine. The device named `interpreter`, which `run` and `compile` accept
/// too, runs kernels on the processor without LLVM, slowly.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal devices\n  anymetal devices --json\n  anymetal devices --families\n  anymetal devices --topology"
)]
pub(crate) struct DevicesArgs {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// List the families of Apple's GPUs that `--family` emulates, with what each has
    #[arg(long)]
    families: bool,
    /// Measure copies between each two devices: their way, bandwidth and latency
    #[arg(long, conflicts_with = "families")]
    topology: bool,
}

/// Does it.
pub(crate) fn devices(args: &DevicesArgs) -> Result<(), Failure> {
    if args.families {
        return families::families(args.json);
    }
    if args.topology {
        return topology::topology(args.json);
    }
    let devices = Device::all()?;
    if args.json {
        let devices: Vec<Value> =
            devices.iter().map(|device| describe(device.name(), device.capabilities())).collect();
        return output::json(&json!({ "devices": devices, "compiler": compiler() }));
    }
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    table.set_header(["device", "hardware", "architecture", "units", "memory", "free", "SIMD width"]);
    for device in &devices {
        let facts = device.capabilities();
        table.add_row([
            device.name().to_owned(),
            facts.hardware_name.clone(),
            facts.architecture.clone(),
            facts.compute_units.to_string(),
            bytes(facts.memory_bytes),
            bytes(facts.working_set_bytes),
            facts.simd_width.to_string(),
        ]);
    }
    output::line(&table.to_string())?;
    output::line(&match Compiler::llvm() {
        Ok(llvm) => format!("compiler: LLVM {} ({})", llvm.info().version, llvm.info().path.display()),
        Err(error) => format!("compiler: none, kernels run in the interpreter\n{error}"),
    })
}

fn describe(name: &str, facts: &Capabilities) -> Value {
    json!({
        "name": name,
        "kind": facts.kind.word(),
        "hardware_name": facts.hardware_name,
        "architecture": facts.architecture,
        "compute_units": facts.compute_units,
        "simd_width": facts.simd_width,
        "unified_memory": facts.unified_memory,
        "memory_bytes": facts.memory_bytes,
        "working_set_bytes": facts.working_set_bytes,
        "max_buffer_bytes": facts.max_buffer_bytes,
        "max_threads_per_threadgroup": facts.max_threads_per_threadgroup,
        "max_threads_per_dimension": facts.max_threads_per_dimension,
        "max_threadgroup_memory_bytes": facts.max_threadgroup_memory_bytes,
        "supports_half": facts.supports_half,
        "supports_bfloat": facts.supports_bfloat,
        "supports_64_bit_atomics": facts.supports_64_bit_atomics,
        "supports_timestamps": facts.supports_timestamps,
        "supports_cooperative_launches": facts.supports_cooperative_launches,
    })
}

fn compiler() -> Value {
    match Compiler::llvm() {
        Ok(llvm) => {
            let info = llvm.info();
            json!({
                "llvm": info.version.to_string(),
                "path": info.path.display().to_string(),
                "processor": info.host_cpu,
            })
        }
        Err(error) => json!({ "llvm": null, "reason": error.to_string() }),
    }
}

fn bytes(count: u64) -> String {
    let gib = count as f64 / f64::from(1 << 30);
    if gib >= 1.0 { format!("{gib:.1} GiB") } else { format!("{:.0} MiB", gib * 1024.0) }
}
