//! Bounds on what the compile of one kernel may cost, and the ladder of cheaper ways to compile.
//!
//! Owns [`Budget`]; the steps are [`Effort`](anymetal_hal::artifact::Effort)'s. A kernel is compiled with all
//! optimisations while LLVM's work, estimated from the emitted text, is within the budget; past it as
//! baseline code; past it again without LLVM's optimisations; past a bound on the text it is interpreted; and
//! past a bound on instructions it is refused, with the line that contributes most. Invariant: every decision
//! depends on counts alone, never on time, so a kernel always compiles to the same code.
//!
//! The front end has `anymetal_msl::pp::Limits` and bounds in its semantic analysis; the IR's verifier bounds
//! nesting. The budgets keep LLVM far below the system's memory, because LLVM ends the process when it cannot
//! allocate.

use std::collections::BTreeMap;

use anymetal_codegen::cpu::CpuCode;
use anymetal_ir::Module;

use crate::key::KeyBuilder;

/// Bounds on one kernel. `docs/compile-budgets.md` has the measurements behind the defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Budget {
    /// Instructions of a kernel and the functions that it reaches, before calls are inlined and again when
    /// machine code is generated. More are an error before and are interpreted after. Default: 500,000.
    pub instructions: usize,
    /// Instructions up to which a kernel past the budgets for machine code is interpreted. More are an error.
    /// Default: 1,000,000.
    pub interpreted_instructions: usize,
    /// Instructions that are compiled for GPUs, where all calls are inlined and the driver's assembler
    /// follows. More are an error. Default: 40,000.
    pub gpu_instructions: usize,
    /// LLVM's estimated work on one function ([`Budget::work`]) up to which LLVM optimises. Default: 8e9,
    /// about ten seconds.
    pub optimised_work: u64,
    /// Checked accesses up to which LLVM optimises: its passes take time quadratic in them. Default: 1,500.
    pub optimised_accesses: usize,
    /// Bytes of a module's LLVM text up to which LLVM optimises. Default: 24 MiB.
    pub optimised_bytes: usize,
    /// Bytes of LLVM text of one function. More are interpreted. Default: 40 MiB.
    pub text_bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            instructions: 500_000,
            interpreted_instructions: 1_000_000,
            gpu_instructions: 40_000,
            optimised_work: 8_000_000_000,
            optimised_accesses: 1500,
            optimised_bytes: 24 << 20,
            text_bytes: 40 << 20,
        }
    }
}

impl Budget {
    /// Whether LLVM optimises the code.
    pub(crate) fn optimises(&self, code: &CpuCode) -> bool {
        code.fault_sites.len() <= self.optimised_accesses
            && code.llvm_ir.len() <= self.optimised_bytes
            && Self::work(&code.llvm_ir) <= self.optimised_work
    }

    /// LLVM's work on the largest function of a module, in bytes times blocks: the allocation of registers,
    /// which takes most of the time, looks for each live range at the blocks that it spans. A billion are
    /// about a second.
    pub fn work(text: &str) -> u64 {
        let (mut most, mut bytes, mut blocks) = (0, 0_u64, 0_u64);
        for line in text.split_inclusive('\n') {
            if line.starts_with("define ") {
                (bytes, blocks) = (0, 1);
            }
            bytes += line.len() as u64;
            blocks += u64::from(line.starts_with('b') && line.trim_end().ends_with(':'));
            if line.starts_with('}') {
                most = most.max(bytes.saturating_mul(blocks));
            }
        }
        most
    }

    /// Changes whenever the budget may change compiled code.
    pub(crate) fn add_to(&self, key: KeyBuilder) -> KeyBuilder {
        let Self {
            instructions,
            interpreted_instructions,
            gpu_instructions,
            optimised_work,
            optimised_accesses,
            optimised_bytes,
            text_bytes,
        } = *self;
        let counts = [
            instructions,
            interpreted_instructions,
            gpu_instructions,
            optimised_accesses,
            optimised_bytes,
            text_bytes,
        ];
        counts.into_iter().fold(key.number(optimised_work), |key, count| key.number(count as u64))
    }
}

/// The line of the source that most of the module's instructions are made of, as the end of a message; empty
/// if no instruction has a place.
pub(crate) fn largest_line(module: &Module) -> String {
    let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let insts = module.functions.iter().flat_map(|function| &function.insts);
    for loc in insts.map(|data| data.loc).filter(|loc| loc.is_known()) {
        *counts.entry((loc.file, loc.line)).or_default() += 1;
    }
    // Of lines with as many, the first.
    let largest = counts.iter().max_by_key(|&(place, &count)| (count, std::cmp::Reverse(*place)));
    let total: usize = counts.values().sum();
    largest.map_or_else(String::new, |(&(file, line), count)| {
        let file = &module.files[file as usize];
        format!("; {file}:{line} makes the most code, {count} of {total} instructions")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_that_of_the_largest_function() {
        let small = "define void @a() {\nentry:\n  ret void\n}\n";
        let large = "define void @b() {\nentry:\n  br label %b1\nb1:\n  ret void\n}\n";
        assert_eq!(Budget::work(small), small.len() as u64);
        assert_eq!(Budget::work(large), 2 * large.len() as u64);
        assert_eq!(Budget::work(&format!("{small}{large}{small}")), 2 * large.len() as u64);
    }
}
