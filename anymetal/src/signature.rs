//! What a kernel declares, in the order in which callers give it.
//!
//! Owns [`Signature`], which pipelines of any device and calls in the making share.

use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind, KernelInfo};
use anymetal_types::texture::{BindingRole, TextureError};

use crate::tuning::default_group_size;

use crate::error::Error;
use crate::tuning::{SizeLimits, TunedSizes};

/// A kernel's reflection with its buffer arguments in the order of a call.
#[derive(Debug)]
pub struct Signature {
    kernel: KernelInfo,
    /// The enabled buffer arguments in the order of their Metal indices, by their places in the
    /// reflection.
    buffer_arguments: Vec<usize>,
    tuned: TunedSizes,
    limits: SizeLimits,
}

impl Signature {
    pub(crate) fn new(kernel: KernelInfo, tuned: TunedSizes, limits: SizeLimits) -> Self {
        let is_buffer = |&place: &usize| {
            let argument: &ArgumentInfo = &kernel.arguments[place];
            argument.enabled
                && argument.kind == ArgumentKind::Buffer
                && argument.role() == BindingRole::Buffer
        };
        let mut buffer_arguments: Vec<usize> = (0..kernel.arguments.len()).filter(is_buffer).collect();
        buffer_arguments.sort_by_key(|&place| kernel.arguments[place].index);
        Signature { kernel, buffer_arguments, tuned, limits }
    }

    /// The reflection.
    pub fn kernel(&self) -> &KernelInfo {
        &self.kernel
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// The buffer arguments in the order of their Metal indices, disabled ones left out.
    pub(crate) fn buffer_arguments(&self) -> impl ExactSizeIterator<Item = &ArgumentInfo> {
        self.buffer_arguments.iter().map(|&place| &self.kernel.arguments[place])
    }

    /// The enabled buffer argument of that name.
    pub(crate) fn buffer_argument_named(&self, name: &str) -> Result<&ArgumentInfo, Error> {
        self.buffer_arguments().find(|argument| argument.name == name).ok_or_else(|| {
            let existing: Vec<String> =
                self.buffer_arguments().map(|argument| format!("`{}`", argument.name)).collect();
            let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            Error::UnknownArgument { kernel: self.name().to_owned(), name: name.to_owned(), existing }
        })
    }

    /// The enabled argument with that role, of a texture or sampler.
    pub(crate) fn resource_argument(&self, role: BindingRole) -> Result<&ArgumentInfo, TextureError> {
        let enabled = || self.kernel.arguments.iter().filter(|argument| argument.enabled);
        enabled().find(|argument| argument.role() == role).ok_or_else(|| {
            let (what, index) = match role {
                BindingRole::Sampler(index) => ("sampler", index),
                BindingRole::Texels(index) | BindingRole::Description(index) => ("texture", index),
                BindingRole::TensorShape(index) => ("tensor", index),
                BindingRole::Buffer
                | BindingRole::Log
                | BindingRole::LogCommand
                | BindingRole::EncodedCommands(_)
                | BindingRole::ResourceTable
                | BindingRole::StageInRegion => ("buffer", 0),
            };
            let is_alike = |argument: &&ArgumentInfo| {
                let role = argument.role();
                matches!(
                    (role, what),
                    (BindingRole::Texels(_), "texture")
                        | (BindingRole::Sampler(_), "sampler")
                        | (BindingRole::TensorShape(_), "tensor")
                )
            };
            let existing: Vec<String> =
                enabled().filter(is_alike).map(|argument| format!("`{}`", argument.name)).collect();
            let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            TextureError::NoSuchArgument { kernel: self.name().to_owned(), what, index, existing }
        })
    }

    /// The group size for a grid of threads that does not come with one.
    pub(crate) fn group_size_for(&self, threads: [u32; 3], dimensions: usize) -> [u32; 3] {
        let kernel = &self.kernel;
        let limit = kernel.max_threads_per_threadgroup;
        let fixed = kernel.required_threads_per_threadgroup.or(kernel.specialised_group);
        fixed
            .or_else(|| self.tuned.size(threads, dimensions, limit))
            .unwrap_or_else(|| default_group_size(threads, kernel, self.limits))
    }

    /// The sizes that measuring found.
    pub(crate) fn tuned(&self) -> &TunedSizes {
        &self.tuned
    }
}
