//! Pipelines: kernels ready to run, with their reflection.

use std::sync::Arc;

use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind, KernelInfo};
use anymetal_hal::pipeline::Pipeline as HalPipeline;

use crate::error::Error;
use crate::extent::default_group_size;

/// A kernel ready to run on one device. Clones share the code.
#[derive(Debug, Clone)]
pub struct Pipeline {
    inner: Arc<dyn HalPipeline>,
}

impl Pipeline {
    pub(crate) fn new(inner: Arc<dyn HalPipeline>) -> Self {
        Pipeline { inner }
    }

    /// The kernel's reflection: arguments, limits, attributes.
    pub fn kernel(&self) -> &KernelInfo {
        self.inner.kernel()
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel().name
    }

    /// Metal's `maxTotalThreadsPerThreadgroup`.
    pub fn max_total_threads_per_threadgroup(&self) -> u32 {
        self.kernel().max_threads_per_threadgroup
    }

    /// Metal's `threadExecutionWidth`.
    pub fn thread_execution_width(&self) -> u32 {
        self.kernel().simd_width
    }

    /// Metal's `staticThreadgroupMemoryLength`.
    pub fn static_threadgroup_memory_length(&self) -> u64 {
        self.kernel().threadgroup_static_bytes
    }

    /// The pipeline below.
    pub fn hal(&self) -> &Arc<dyn HalPipeline> {
        &self.inner
    }

    /// The buffer arguments in the order of their Metal indices, disabled ones left out.
    pub(crate) fn buffer_arguments(&self) -> Vec<&ArgumentInfo> {
        let arguments = self.kernel().arguments.iter();
        let mut arguments: Vec<&ArgumentInfo> =
            arguments.filter(|argument| argument.enabled && argument.kind == ArgumentKind::Buffer).collect();
        arguments.sort_by_key(|argument| argument.index);
        arguments
    }

    /// The enabled buffer argument of that name.
    pub(crate) fn buffer_argument_named(&self, name: &str) -> Result<&ArgumentInfo, Error> {
        let arguments = self.buffer_arguments();
        arguments.iter().find(|argument| argument.name == name).copied().ok_or_else(|| {
            let existing: Vec<String> =
                arguments.iter().map(|argument| format!("`{}`", argument.name)).collect();
            let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            Error::UnknownArgument { kernel: self.name().to_owned(), name: name.to_owned(), existing }
        })
    }

    /// The group size for a grid of threads that does not come with one.
    pub(crate) fn group_size_for(&self, dimensions: usize) -> [u32; 3] {
        let kernel = self.kernel();
        let fixed = kernel.required_threads_per_threadgroup.or(kernel.specialised_group);
        fixed.unwrap_or_else(|| default_group_size(dimensions, kernel.max_threads_per_threadgroup))
    }
}
