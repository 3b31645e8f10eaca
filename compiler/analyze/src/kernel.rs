//! The analysis of one kernel.

use std::collections::BTreeMap;

use anymetal_ir::{Inst, Kernel, Module, Op, Query};
use serde::Serialize;

use crate::access::{self, AccessSite};
use crate::advice::advice;
use crate::count::{Places, Region};
use crate::intensity::Intensity;
use crate::occupancy::{FAMILIES, Occupancy, occupancy};
use crate::registers;

/// What the analysis assumes of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Threads of a threadgroup; `None`: 256 along the axes that the kernel uses.
    pub group: Option<[u32; 3]>,
    /// Bytes of threadgroup memory that the launch gives to arguments.
    pub threadgroup_memory: u64,
}

/// What a kernel does for each thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelAnalysis {
    /// Its name.
    pub kernel: String,
    /// Axes of the grid that it uses, 1 to 3.
    pub dimensions: u32,
    /// The threadgroup size that patterns and occupancy are for.
    pub group: [u32; 3],
    /// The regions; the first one is executed once by each thread.
    pub regions: Vec<Region>,
    /// Float operations for each byte of memory.
    pub intensity: Intensity,
    /// Accesses to shared memory, in the order of the instructions.
    pub accesses: Vec<AccessSite>,
    /// Lines of branches and loops at which lanes of a SIMD-group part.
    pub divergent_lines: Vec<u32>,
    /// Estimated registers of 32 bits.
    pub registers: u32,
    /// Bytes of threadgroup memory: variables and what the launch gives.
    pub threadgroup_memory: u64,
    /// For each device family.
    pub occupancy: Vec<Occupancy>,
    /// What to change.
    pub advice: Vec<String>,
    /// The region of each instruction.
    #[serde(skip)]
    region_of: BTreeMap<u32, usize>,
}

impl KernelAnalysis {
    /// The region of an instruction of the kernel's function.
    pub fn region_of(&self, inst: Inst) -> Option<usize> {
        self.region_of.get(&inst.0).copied()
    }
}

/// Analyzes a kernel of a module without calls and function constants; `None` if the module has no such
/// kernel.
pub fn analyze(module: &Module, kernel: &str, options: &Options) -> Option<KernelAnalysis> {
    let kernel = module.kernel(kernel)?;
    let function = module.function(kernel.function);
    let mut places = Places::of(function);
    let dimensions = dimensions(module, kernel, &places);
    let group = options.group.unwrap_or(match dimensions {
        1 => [256, 1, 1],
        2 => [32, 8, 1],
        _ => [32, 4, 2],
    });
    places.count(function);
    let (accesses, divergent) = access::find(module, kernel, &mut places, group);
    let mut divergent_lines: Vec<u32> = divergent.iter().map(|&inst| function.inst(inst).loc.line).collect();
    divergent_lines.sort_unstable();
    divergent_lines.dedup();
    let registers = registers::estimate(function, &places);
    let variables: u64 = module.threadgroup_vars.iter().map(|variable| variable.size).sum();
    let threadgroup_memory = variables + options.threadgroup_memory;
    let threads = group.iter().fold(1u32, |product, &size| product.saturating_mul(size));
    Some(KernelAnalysis {
        kernel: kernel.name.clone(),
        dimensions,
        group,
        regions: places.regions().to_vec(),
        intensity: Intensity::of(places.regions()),
        advice: advice(&accesses),
        accesses,
        divergent_lines,
        registers,
        threadgroup_memory,
        region_of: places.list().iter().map(|place| (place.inst.0, place.region)).collect(),
        occupancy: FAMILIES
            .iter()
            .map(|family| occupancy(family, threads, registers, threadgroup_memory))
            .collect(),
    })
}

/// The last axis of which the kernel asks a position.
fn dimensions(module: &Module, kernel: &Kernel, places: &Places) -> u32 {
    let function = module.function(kernel.function);
    let axis = |op: &Op| match op {
        Op::Query(
            Query::ThreadPositionInGrid(axis)
            | Query::ThreadPositionInThreadgroup(axis)
            | Query::ThreadgroupPositionInGrid(axis),
        ) => u32::from(*axis) + 1,
        _ => 1,
    };
    places.list().iter().map(|place| axis(&function.inst(place.inst).op)).max().unwrap_or(1)
}
