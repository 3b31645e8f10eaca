//! `anymetal devices --families`: the table of what each family of GPUs has.

use anymetal::Family;
use anymetal_driver::types::family::table::{FEATURES, Limits};
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// Prints it.
pub(super) fn families(as_json: bool) -> Result<(), Failure> {
    if as_json {
        let families: Vec<Value> = Family::ALL.into_iter().map(describe).collect();
        return output::json(&json!({ "families": families }));
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(std::iter::once("").chain(Family::ALL.map(short)));
    for row in FEATURES {
        let has = Family::ALL.map(|family| if family.supports(row.feature) { "yes" } else { "-" });
        table.add_row(std::iter::once(row.name).chain(has));
    }
    for (name, limit) in LIMITS {
        let limits = Family::ALL.map(|family| limit(&family.limits()));
        table.add_row(std::iter::once((*name).to_owned()).chain(limits));
    }
    output::line(&table.to_string())?;
    for family in Family::ALL {
        output::line(&format!("{:12} {}", family.name(), family.hardware()))?;
    }
    output::line(
        "From Apple's Metal feature set tables. Largest buffers are the device's where none is given.",
    )
}

/// As narrow as a column of a wide table is.
fn short(family: Family) -> &'static str {
    match family {
        Family::Paravirtual => "paravirt.",
        family => family.name(),
    }
}

const LIMITS: &[(&str, fn(&Limits) -> String)] = &[
    ("threads per threadgroup", |limits| limits.threads_per_threadgroup.to_string()),
    ("threadgroup memory, KiB", |limits| (limits.threadgroup_memory_bytes >> 10).to_string()),
    ("buffer arguments", |limits| limits.buffer_arguments.to_string()),
    ("constant buffer arguments", |limits| limits.constant_buffer_arguments.to_string()),
    ("texture arguments", |limits| limits.texture_arguments.to_string()),
    ("sampler arguments", |limits| limits.sampler_arguments.to_string()),
    ("inline bytes", |limits| limits.inline_bytes.to_string()),
    ("largest buffer, MiB", |limits| match limits.buffer_bytes {
        Some(bytes) => (bytes >> 20).to_string(),
        None => "-".to_owned(),
    }),
];

fn describe(family: Family) -> Value {
    let limits = family.limits();
    let features = FEATURES.iter().map(|row| (row.name.to_owned(), json!(family.supports(row.feature))));
    json!({
        "name": family,
        "hardware": family.hardware(),
        "features": features.collect::<serde_json::Map<_, _>>(),
        "limits": {
            "threads_per_threadgroup": limits.threads_per_threadgroup,
            "threadgroup_memory_bytes": limits.threadgroup_memory_bytes,
            "buffer_arguments": limits.buffer_arguments,
            "constant_buffer_arguments": limits.constant_buffer_arguments,
            "texture_arguments": limits.texture_arguments,
            "sampler_arguments": limits.sampler_arguments,
            "inline_bytes": limits.inline_bytes,
            "buffer_bytes": limits.buffer_bytes,
            "working_set_bytes": limits.working_set_bytes,
        },
    })
}
