//! The target of code generation: triple, processor, features, and the facts that the code generator needs.

use crate::host::{CpuLevel, VectorFacts};

/// A processor family that this crate generates code for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// NVIDIA's PTX; text only.
    Nvptx64,
}

impl Architecture {
    /// The architecture of the running program, when it is one that code can be generated for.
    pub fn host() -> Option<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The triple used. CPU code is always ELF, whatever the host's own format is: the objects are
    /// read by this crate's loader only.
    pub fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
            Self::Nvptx64 => "nvptx64-nvidia-cuda",
        }
    }

    /// LLVM's name of the target, as in `LLVMInitialize<name>Target`.
    pub(crate) fn llvm_name(self) -> &'static str {
        match self {
            Self::X86_64 => "X86",
            Self::Aarch64 => "AArch64",
            Self::Nvptx64 => "NVPTX",
        }
    }
}

/// A target description: plain data, from [`crate::Llvm::host_target`] or written by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Processor family, which gives the triple.
    pub architecture: Architecture,
    /// LLVM's name of the processor. A name that LLVM does not know is ignored by LLVM with a line
    /// on stderr, so use the host's, `x86-64-v3`, `sm_80` and the like.
    pub cpu: String,
    /// LLVM's feature list, as in `+avx2,-avx512f`.
    pub features: String,
    /// Facts that the code generator may rely on.
    pub vector: VectorFacts,
    /// The LLVM that made this description, as in `22.1.2`; part of the fingerprint.
    pub llvm_version: String,
}

impl Target {
    /// A string that changes whenever the same IR could become different code: for cache keys.
    pub fn fingerprint(&self) -> String {
        let triple = self.architecture.triple();
        format!("llvm={};triple={triple};cpu={};features={}", self.llvm_version, self.cpu, self.features)
    }

    /// The same LLVM, but for any processor with one of the x86-64 levels instead of the host's.
    pub fn x86_64_level(&self, level: CpuLevel) -> Self {
        Self {
            architecture: Architecture::X86_64,
            cpu: level.name().to_owned(),
            features: String::new(),
            vector: level.vector(),
            llvm_version: self.llvm_version.clone(),
        }
    }

    /// The same LLVM, generating code for every 64-bit Arm processor.
    pub fn aarch64(&self) -> Self {
        let vector = VectorFacts { fma: true, f16c: true, neon: true, ..VectorFacts::default() };
        Self {
            architecture: Architecture::Aarch64,
            cpu: "generic".to_owned(),
            features: String::new(),
            vector,
            llvm_version: self.llvm_version.clone(),
        }
    }

    /// The same LLVM, generating PTX: `cpu` as in `sm_80`, `features` as in `+ptx70`.
    pub fn nvptx(&self, cpu: &str, features: &str) -> Self {
        Self {
            architecture: Architecture::Nvptx64,
            cpu: cpu.to_owned(),
            features: features.to_owned(),
            vector: VectorFacts::default(),
            llvm_version: self.llvm_version.clone(),
        }
    }
}
