//! What a compute encoder uses without binding it.

use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::AnyObject;

use super::buffer::Buffer;
use super::indirect::IndirectBuffer;

/// Buffers that encoded commands may have, and indirect command buffers that kernels may encode.
#[derive(Debug, Clone, Default)]
pub(crate) struct Used {
    buffers: Vec<Retained<Buffer>>,
    commands: Vec<Retained<IndirectBuffer>>,
}

impl Used {
    /// Notes a resource; textures and others need no note.
    pub(crate) fn note(&mut self, resource: &AnyObject) {
        if let Some(buffer) = resource.downcast_ref::<Buffer>() {
            if !self.buffers.iter().any(|known| std::ptr::eq(&**known, buffer)) {
                self.buffers.push(buffer.retain());
            }
        } else if let Some(commands) = resource.downcast_ref::<IndirectBuffer>()
            && !self.commands.iter().any(|known| std::ptr::eq(&**known, commands))
        {
            self.commands.push(commands.retain());
        }
    }

    /// Tells an encoder of it.
    pub(crate) fn tell(&self, encoder: &mut anymetal::ComputeEncoder<'_>) -> Result<(), anymetal::Error> {
        self.buffers.iter().for_each(|buffer| encoder.use_region(&buffer.region()));
        // One that kernels have no handle of is none of theirs.
        let mut encoded = self.commands.iter().filter_map(|commands| commands.ivars().encoded());
        encoded.try_for_each(|commands| encoder.use_indirect_command_buffer(commands))
    }
}
