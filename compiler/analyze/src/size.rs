//! A threadgroup size from what is known without running: limits, SIMD width, memory access, occupancy.
//!
//! Owns [`choose_size`]. Each step keeps a part of the candidates and says why; the last step keeps one.

use std::cmp::Reverse;

use anymetal_ir::Module;
use serde::Serialize;

use crate::kernel::{KernelAnalysis, Options, analyze};
use crate::occupancy::{DeviceFamily, occupancy};
use crate::pattern::Pattern;

/// What limits the choice.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SizeRequest<'a> {
    /// The one size that the kernel demands, if its source says so.
    pub required: Option<[u32; 3]>,
    /// The most threads of a threadgroup.
    pub limit: u32,
    /// Threads of the grid along each axis, if they are known.
    pub grid: Option<[u32; 3]>,
    /// The GPUs for whose occupancy to choose; without core limits, occupancy does not decide.
    pub family: &'a DeviceFamily,
    /// Bytes of threadgroup memory that the launch gives to arguments.
    pub threadgroup_memory: u64,
}

/// One step of the choice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SizeStep {
    /// What it goes by, in a few words.
    pub rule: &'static str,
    /// What it found, as a sentence.
    pub reason: String,
    /// How many sizes are left.
    pub left: usize,
}

/// A size, and how it came to be chosen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SizeChoice {
    /// The threadgroup size.
    pub size: [u32; 3],
    /// The steps in their order.
    pub steps: Vec<SizeStep>,
}

/// A size that is still in, with its analysis.
struct Candidate {
    size: [u32; 3],
    analysis: KernelAnalysis,
}

impl Candidate {
    fn threads(&self) -> u32 {
        self.size.iter().product()
    }

    /// 32-byte sectors that a SIMD-group touches by each of its accesses, once for each instruction; 32 for
    /// an access that is not known.
    fn sectors(&self) -> u64 {
        let device = self.analysis.accesses.iter().filter(|site| !site.threadgroup);
        device.map(|site| site.cost.map_or(32, |cost| u64::from(cost.nvidia_sectors))).sum()
    }

    fn conflicts(&self) -> u64 {
        let sites = self.analysis.accesses.iter();
        sites.filter_map(|site| site.bank_conflicts).map(|words| u64::from(words.saturating_sub(1))).sum()
    }
}

/// Chooses a threadgroup size for a kernel; `None` if the module has no such kernel.
pub fn choose_size(module: &Module, kernel: &str, request: &SizeRequest<'_>) -> Option<SizeChoice> {
    let options = |size| Options { group: Some(size), threadgroup_memory: request.threadgroup_memory };
    let first = analyze(module, kernel, &Options { group: None, ..options([1; 3]) })?;
    let mut choice = Choice { steps: Vec::new(), left: Vec::new() };
    if let Some(size) = request.required {
        let [x, y, z] = size;
        choice.note("attribute", format!("the kernel demands {x}x{y}x{z} threads"), 1);
        return Some(SizeChoice { size, steps: choice.steps });
    }
    let sizes = sizes(first.dimensions, request);
    choice.left = sizes
        .into_iter()
        .filter_map(|size| Some(Candidate { size, analysis: analyze(module, kernel, &options(size))? }))
        .collect();
    choice.limits(&first, request);
    choice.grid(request);
    choice.memory_access();
    choice.occupancy(request);
    choice.threads(&first);
    let size = choice.left.first().map_or([1; 3], |candidate| candidate.size);
    Some(SizeChoice { size, steps: choice.steps })
}

/// Powers of two along the axes that the kernel uses, in whole SIMD-groups; one SIMD-group or less if the
/// limit is below that.
fn sizes(dimensions: u32, request: &SizeRequest<'_>) -> Vec<[u32; 3]> {
    let limit = request.limit.clamp(1, 1024);
    let powers = |used: bool| (0..=10).map(|power| 1u32 << power).filter(move |&size| used || size == 1);
    let mut found = Vec::new();
    for z in powers(dimensions > 2) {
        for y in powers(dimensions > 1) {
            for x in powers(true) {
                let threads = x * y * z;
                if threads <= limit && (threads.is_multiple_of(32) || limit < 32) {
                    found.push([x, y, z]);
                }
            }
        }
    }
    found
}

struct Choice {
    steps: Vec<SizeStep>,
    left: Vec<Candidate>,
}

impl Choice {
    fn note(&mut self, rule: &'static str, reason: String, left: usize) {
        self.steps.push(SizeStep { rule, reason, left });
    }

    /// Keeps what has the least of something.
    fn keep_least<T: Ord>(&mut self, of: impl Fn(&Candidate) -> T) {
        let least = self.left.iter().map(&of).min();
        self.left.retain(|candidate| Some(of(candidate)) == least);
    }

    fn limits(&mut self, first: &KernelAnalysis, request: &SizeRequest<'_>) {
        let axes = ["", "one axis", "two axes", "three axes"];
        let axes = axes[first.dimensions as usize];
        let limit = request.limit;
        let reason = format!(
            "the kernel asks for its position along {axes}; powers of two in whole SIMD-groups of 32, at most {limit} \
             threads"
        );
        self.note("limits", reason, self.left.len());
    }

    /// Leaves sizes that would be mostly empty.
    fn grid(&mut self, request: &SizeRequest<'_>) {
        let Some(grid) = request.grid else { return };
        let idle = |candidate: &Candidate| {
            let started: u128 = (0..3)
                .map(|axis| {
                    u128::from(grid[axis].div_ceil(candidate.size[axis])) * u128::from(candidate.size[axis])
                })
                .product();
            let used: u128 = grid.iter().map(|&size| u128::from(size)).product();
            // In percent of the threads that are started.
            (started - used).saturating_mul(100).checked_div(started).unwrap_or(0)
        };
        let least = self.left.iter().map(idle).min().unwrap_or(0);
        self.left.retain(|candidate| idle(candidate) <= least + 5);
        let [x, y, z] = grid;
        let reason = format!("over {x}x{y}x{z} threads at most {} % of the started ones are idle", least + 5);
        self.note("grid", reason, self.left.len());
    }

    /// Keeps the shapes whose SIMD-groups touch the least memory.
    fn memory_access(&mut self) {
        self.keep_least(Candidate::sectors);
        let sectors = self.left.first().map_or(0, Candidate::sectors);
        let gathered = self.left.first().is_some_and(|candidate| {
            candidate.analysis.accesses.iter().any(|site| site.pattern == Pattern::Gathered)
        });
        let unknown = if gathered { "; an access that data decide counts 32" } else { "" };
        let reason =
            format!("the fewest 32-byte sectors of a SIMD-group, {sectors} for all its accesses{unknown}");
        self.note("memory access", reason, self.left.len());
        let before = self.left.len();
        self.keep_least(Candidate::conflicts);
        if self.left.len() < before {
            self.note("bank conflicts", "the fewest in threadgroup memory".to_owned(), self.left.len());
        }
    }

    /// Keeps what fills a core most.
    fn occupancy(&mut self, request: &SizeRequest<'_>) {
        let of = |candidate: &Candidate| {
            let KernelAnalysis { registers, threadgroup_memory, .. } = candidate.analysis;
            let found = occupancy(request.family, candidate.threads(), registers, threadgroup_memory);
            found.part.map(|part| (part * 1000.0) as u32)
        };
        let name = request.family.name;
        let Some(most) = self.left.iter().filter_map(&of).max() else {
            self.note(
                "occupancy",
                format!("{name}: the vendor publishes no limits of a core"),
                self.left.len(),
            );
            return;
        };
        self.left.retain(|candidate| of(candidate) == Some(most));
        let percent = f64::from(most) / 10.0;
        self.note("occupancy", format!("{name}: {percent} % of a core's threads"), self.left.len());
    }

    /// Takes 256 threads or what is nearest to it, then the longest rows.
    fn threads(&mut self, first: &KernelAnalysis) {
        let away = |candidate: &Candidate| candidate.threads().ilog2().abs_diff(8);
        self.keep_least(away);
        self.keep_least(|candidate| Reverse(candidate.threads()));
        self.note("threads", "256 threads, or what is nearest to it".to_owned(), self.left.len());
        if self.left.len() > 1 {
            // Squares share the most with their neighbours where accesses do not tell the shapes apart.
            let [x, y, z] = [0, 1, 2].map(|axis| move |candidate: &Candidate| candidate.size[axis]);
            self.keep_least(|candidate| x(candidate).abs_diff(32));
            self.keep_least(|candidate| y(candidate).abs_diff(z(candidate)));
            self.left.truncate(1);
            self.note("shape", "rows of 32 threads, or what is nearest to it".to_owned(), self.left.len());
        }
        if first.threadgroup_memory > 0 {
            let reason =
                "the kernel declares threadgroup memory: check that its arrays are long enough for this size";
            self.note("note", reason.to_owned(), self.left.len());
        }
    }
}
