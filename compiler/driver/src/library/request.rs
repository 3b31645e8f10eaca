//! What is requested of a library: how a kernel is specialised, and for which target.

use anymetal_hal::capabilities::{Capabilities, DeviceKind};
use anymetal_opt::PassOptions;
use serde::{Deserialize, Serialize};

use crate::constants::{self, ConstantKey, ConstantValue};
use crate::key::KeyBuilder;

/// Specialisation of a kernel, besides its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Specialisation {
    /// Values for function constants; a later value for the same constant counts.
    pub constants: Vec<(ConstantKey, ConstantValue)>,
    /// Whether values for constants that the kernel does not have are ignored, as Metal does, or refused.
    pub ignore_unknown_constants: bool,
    /// The one threadgroup size that the code is to run with; `None`: any.
    pub group_size: Option<[u32; 3]>,
    /// The code is to run grids of whole threadgroups of that size only, without an edge: half the code.
    pub whole_threadgroups_only: bool,
    /// Threadgroups are executed as they are given even if the kernel cannot tell: for grids in which rows of
    /// whole SIMD-groups are not faster.
    pub keeps_threadgroups: bool,
    /// Whether accesses are checked against the bindings. Without checks an access out of bounds is
    /// undefined behaviour of the whole process.
    pub checks: bool,
    /// As [`anymetal_ir::Module::threadgroup_reserve`]. Not under the sanitizer, and not for NVIDIA GPUs,
    /// where each variable is checked for itself.
    pub threadgroup_reserve: u64,
    /// As [`anymetal_ir::Module::whole_buffers`]. Not for NVIDIA GPUs.
    pub whole_buffers: bool,
    /// Which passes run. Not under the sanitizer, which runs the code as the front end made it.
    pub passes: PassOptions,
}

impl Default for Specialisation {
    fn default() -> Self {
        Specialisation {
            constants: Vec::new(),
            ignore_unknown_constants: false,
            group_size: None,
            whole_threadgroups_only: false,
            keeps_threadgroups: false,
            checks: true,
            threadgroup_reserve: 0,
            whole_buffers: false,
            passes: PassOptions::new(),
        }
    }
}

impl Specialisation {
    /// The one threadgroup size, if there are whole threadgroups of it only.
    pub(crate) fn whole_group_size(&self) -> Option<[u32; 3]> {
        self.group_size.filter(|_| self.whole_threadgroups_only)
    }

    pub(crate) fn add_to(&self, key: KeyBuilder) -> KeyBuilder {
        let key = constants::add_to(&self.constants, key);
        let size = self.group_size.map(|size| format!("{size:?}")).unwrap_or_default();
        key.number(self.ignore_unknown_constants.into())
            .field(size)
            .number(self.whole_threadgroups_only.into())
            .number(self.keeps_threadgroups.into())
            .number(self.checks.into())
            .number(self.threadgroup_reserve)
            .number(self.whole_buffers.into())
            .field(self.passes.to_string())
    }
}

/// The target of a compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// This processor: machine code, or the interpreter with a note if there is no LLVM.
    Cpu,
    /// Machine code for this processor, or an error if there is no LLVM.
    CpuLlvm,
    /// PTX for NVIDIA GPUs of an architecture and later ones, or an error if there is no LLVM. No GPU is
    /// needed.
    Nvidia {
        /// The architecture: 80 for `sm_80`.
        sm: u32,
    },
    /// Apple GPUs: the source as one text, which their device compiles. Needs no LLVM; accesses are not
    /// checked.
    Metal,
    /// The interpreter.
    Interpreter,
}

impl Target {
    /// The architecture that PTX is made for where a card has it: cards of later ones run it as fast.
    const NVIDIA_SM: u32 = 80;

    /// What kernels are compiled for on a device with these capabilities.
    pub fn of_device(capabilities: &Capabilities) -> Self {
        let sm = || capabilities.architecture.strip_prefix("sm_")?.parse::<u32>().ok();
        match capabilities.kind {
            DeviceKind::Nvidia => {
                Target::Nvidia { sm: sm().map_or(Self::NVIDIA_SM, |sm| sm.min(Self::NVIDIA_SM)) }
            }
            DeviceKind::Apple => Target::Metal,
            _ => Target::Cpu,
        }
    }

    /// Whether libLLVM makes its code.
    pub(super) fn needs_llvm(self) -> bool {
        match self {
            Target::Cpu | Target::CpuLlvm | Target::Nvidia { .. } => true,
            Target::Metal | Target::Interpreter => false,
        }
    }
}
