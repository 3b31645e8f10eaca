//! Modules as machine code on the CPU device, below the compiler: for modules that no source made.

use crate::execute::guarded;
use anymetal::reflection::{Artifact, KernelInfo};
use anymetal::{Device, Error, LibraryDescriptor};
use anymetal_codegen::cpu::{CpuCode, CpuOptions, argument_slots, generate};
use anymetal_driver::cpu_features;
use anymetal_hal::artifact::{
    AddressSpace, ArgumentInfo, ArgumentKind, ArtifactCode, ArtifactTarget, FaultSite,
};
use anymetal_ir::{ArgKind, Kernel, Module};
use anymetal_llvm::{CompileOptions, HostCpu, Llvm, OptLevel};
use std::sync::Arc;

/// This machine's LLVM and CPU device.
#[derive(Debug)]
pub struct Machine {
    llvm: Arc<Llvm>,
    device: Device,
}

/// How a module is compiled.
#[derive(Clone, Copy, Debug)]
pub struct MachineOptions {
    /// The one threadgroup size of all launches, if there is one.
    pub fixed_group: Option<[u32; 3]>,
    /// Whether accesses are checked.
    pub checks: bool,
    /// As past the budgets of a compile: baseline code, which LLVM does not optimise.
    pub baseline: bool,
}

impl Machine {
    /// This machine, if it has an LLVM.
    pub fn of_process() -> Result<Self, String> {
        let llvm = Llvm::load().map_err(|error| error.to_string())?;
        let device = guarded().map_err(|error| error.to_string())?;
        Ok(Self { llvm, device })
    }

    /// Compiles a kernel of an inlined module.
    pub fn compile(
        &self,
        module: &Module,
        kernel: &str,
        options: &MachineOptions,
    ) -> Result<Arc<Artifact>, String> {
        let vector = HostCpu::detect().map_err(|error| error.to_string())?.vector;
        let cpu_options = CpuOptions {
            checks: options.checks,
            group_size: options.fixed_group,
            features: cpu_features(vector),
            baseline: options.baseline,
            ..CpuOptions::default()
        };
        let code =
            generate(module, kernel, &cpu_options).map_err(|error| format!("code generator: {error}"))?;
        let opt = if options.baseline { OptLevel::O0 } else { OptLevel::default() };
        let object = self.llvm.compile(&code.llvm_ir, &CompileOptions { opt, ..CompileOptions::default() });
        let object = object.map_err(|error| format!("LLVM: {error}"))?;
        let description = module.kernel(kernel).ok_or_else(|| format!("no kernel `{kernel}`"))?;
        let target = self.llvm.host_target();
        Ok(Arc::new(
            Artifact::new(
                ArtifactTarget::Cpu {
                    triple: target.architecture.triple().to_owned(),
                    cpu: target.cpu.clone(),
                    features: target.features.clone(),
                },
                ArtifactCode::Object(Arc::from(object)),
                vec![info(description, &code, options)],
            )
            .fault_sites(sites(description, &code)),
        ))
    }

    /// Runs an artifact's only kernel; whether it ran without faults.
    pub fn run(
        &self,
        artifact: &Arc<Artifact>,
        threads: [u32; 3],
        group: [u32; 3],
        buffers: &mut [Vec<u8>],
    ) -> Result<bool, String> {
        self.execute(artifact, threads, group, buffers).map_err(|error| format!("the CPU device: {error}"))
    }

    fn execute(
        &self,
        artifact: &Arc<Artifact>,
        threads: [u32; 3],
        group: [u32; 3],
        buffers: &mut [Vec<u8>],
    ) -> Result<bool, Error> {
        let name = artifact.kernels[0].name.clone();
        let pipeline = self
            .device
            .create_library(&LibraryDescriptor::from_artifact(Arc::clone(artifact)))?
            .pipeline(&name)?;
        let queue = self.device.queue()?;
        let bound = buffers.iter().map(|bytes| self.device.buffer(bytes)).collect::<Result<Vec<_>, _>>()?;
        let launch = queue.launch(&pipeline);
        let launch =
            (0u32..).zip(&bound).fold(launch, |launch, (index, buffer)| launch.arg_at(index, buffer));
        let outcome = launch.threads(threads).group_size(group).submit()?.wait();
        for (buffer, bytes) in bound.iter().zip(buffers) {
            *bytes = buffer.read()?;
        }
        match outcome {
            Ok(_) => Ok(true),
            Err(Error::Device(anymetal::error::DeviceError::OutOfBounds(_))) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn info(kernel: &Kernel, code: &CpuCode, options: &MachineOptions) -> KernelInfo {
    let mut info = KernelInfo::new(&kernel.name, &code.symbol);
    info.threadgroup_static_bytes = code.threadgroup_static_bytes;
    info.scratch_bytes = code.scratch_bytes;
    info.scratch_bytes_per_simdgroup = code.scratch_bytes_per_simdgroup;
    info.specialised_group = options.fixed_group;
    let arguments = kernel.args.iter().zip(argument_slots(kernel)).map(|(argument, slot)| {
        ArgumentInfo::new(
            match argument.kind {
                ArgKind::Buffer => ArgumentKind::Buffer,
                ArgKind::ThreadgroupMemory => ArgumentKind::ThreadgroupMemory,
            },
            argument.index,
            argument.name.clone(),
        )
        .address_space(AddressSpace::Device)
        .type_name(argument.type_name.clone())
        .element_size(argument.element_size)
        .element_align(u64::from(argument.element_align))
        .is_reference(argument.reference)
        .enabled(argument.enabled)
        .slot(slot.unwrap_or(0))
    });
    info.arguments = arguments.collect();
    info
}

fn sites(kernel: &Kernel, code: &CpuCode) -> Vec<FaultSite> {
    let site = |site: &anymetal_codegen::cpu::FaultSite| {
        FaultSite::new(kernel.name.clone(), site.kind)
            .argument(
                site.argument.and_then(|position| kernel.args.get(position)).map(|argument| argument.index),
            )
            .argument_name(site.variable.clone())
            .access_bytes(site.access_bytes)
            .element_bytes(1)
            .line(site.loc.line)
            .column(site.loc.column)
    };
    code.fault_sites.iter().map(site).collect()
}
