//! Pipelines and indirect command buffers: what the host keeps of objects that a worker has.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use anymetal_hal::artifact::{Artifact, ArtifactCode, KernelInfo};
use anymetal_hal::attachment::Attachment;
use anymetal_hal::command::Command;
use anymetal_hal::encoding;
use anymetal_hal::error::DeviceError;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::pipeline::Pipeline;

use crate::device::{DEVICE, DeviceShared, unsupported};
use crate::encode::Encoder;
use crate::link::Remote;
use crate::wire::{Body, Bytes, WireCode};

/// A kernel that a worker has loaded, or can load.
pub(crate) struct IsolatedPipeline {
    id: u64,
    artifact: Arc<Artifact>,
    kernel: KernelInfo,
    attachment: Attachment,
    pub(crate) device: Arc<DeviceShared>,
}

impl IsolatedPipeline {
    /// A pipeline that no worker has yet.
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        artifact: &Arc<Artifact>,
        kernel: &str,
    ) -> Result<Self, DeviceError> {
        Ok(IsolatedPipeline {
            id: device.next_id(),
            artifact: Arc::clone(artifact),
            kernel: artifact.existing_kernel(kernel)?.clone(),
            attachment: Attachment::default(),
            device: Arc::clone(device),
        })
    }

    fn unloadable(&self, reason: String) -> DeviceError {
        DeviceError::UnloadableCode { kernel: self.kernel.name.clone(), reason }
    }
}

impl Remote for IsolatedPipeline {
    fn id(&self) -> u64 {
        self.id
    }

    fn creation(&self, blob: &mut Vec<u8>) -> Result<Body, DeviceError> {
        let encoded =
            |artifact| encoding::encode(artifact).map_err(|error| self.unloadable(error.to_string()));
        let code = match &self.artifact.code {
            ArtifactCode::Interpreter(interpreter) => {
                let what = "an interpreter that records what kernels do, such as the sanitizer,";
                let interpreter = interpreter.encoded().ok_or_else(|| unsupported(what))?;
                let code = ArtifactCode::Object(Arc::from([]));
                let description = encoded(&Artifact::clone(&self.artifact).code(code))?;
                WireCode::Interpreter {
                    description: Bytes::append(blob, &description),
                    interpreter: Bytes::append(blob, &interpreter),
                }
            }
            ArtifactCode::Object(_) => {
                *blob = encoded(&self.artifact)?;
                WireCode::Artifact
            }
            code @ (ArtifactCode::Ptx(_) | ArtifactCode::Source(_)) => {
                return Err(self.unloadable(format!("it is {}, this is a CPU", code.kind())));
            }
        };
        Ok(Body::Pipeline { id: self.id, kernel: self.kernel.name.clone(), code })
    }
}

impl Pipeline for IsolatedPipeline {
    fn kernel(&self) -> &KernelInfo {
        &self.kernel
    }

    fn attachment(&self) -> Option<&Attachment> {
        Some(&self.attachment)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for IsolatedPipeline {
    fn drop(&mut self) {
        self.device.forget(self.id);
    }
}

impl fmt::Debug for IsolatedPipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("IsolatedPipeline").field("kernel", &self.kernel.name).finish_non_exhaustive()
    }
}

/// Commands that a worker has checked, or will check.
pub(crate) struct IsolatedIndirect {
    id: u64,
    commands: Vec<Command>,
    pub(crate) device: Arc<DeviceShared>,
}

impl IsolatedIndirect {
    /// Commands that no worker has yet.
    pub(crate) fn new(device: &Arc<DeviceShared>, commands: Vec<Command>) -> Self {
        IsolatedIndirect { id: device.next_id(), commands, device: Arc::clone(device) }
    }
}

impl Remote for IsolatedIndirect {
    fn id(&self) -> u64 {
        self.id
    }

    fn needs(&self) -> Result<Vec<&dyn Remote>, DeviceError> {
        let mut blob = Vec::new();
        let mut encoder = Encoder::new(&self.device, &mut blob);
        encoder.commands(&self.commands)?;
        Ok(encoder.needs)
    }

    fn creation(&self, blob: &mut Vec<u8>) -> Result<Body, DeviceError> {
        let commands = Encoder::new(&self.device, blob).commands(&self.commands)?;
        Ok(Body::Indirect { id: self.id, commands })
    }
}

impl IndirectCommandBuffer for IsolatedIndirect {
    fn commands(&self) -> &[Command] {
        &self.commands
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for IsolatedIndirect {
    fn drop(&mut self) {
        self.device.forget(self.id);
    }
}

impl fmt::Debug for IsolatedIndirect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.commands.len();
        formatter.debug_struct("IsolatedIndirect").field("commands", &count).finish_non_exhaustive()
    }
}

/// The name of the device in errors about its objects.
pub(crate) fn wrong_device(what: &'static str) -> DeviceError {
    DeviceError::WrongDevice { what, device: DEVICE.to_owned() }
}
