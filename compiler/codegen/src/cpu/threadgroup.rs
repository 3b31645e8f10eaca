//! Where static variables are in threadgroup memory.
//!
//! Owns [`ThreadgroupVariables`]. Invariant: the code that is generated and the description of a kernel take
//! the layout from here.

use crate::limits::cpu::MAX_THREADGROUP_BYTES;
use anymetal_ir::Module;

use crate::cpu::options::CodegenError;

/// The layout of a module's static threadgroup variables.
#[derive(Debug)]
pub(in crate::cpu) struct ThreadgroupVariables {
    /// The offset of each variable in bytes.
    pub(in crate::cpu) offsets: Vec<u64>,
    /// The bytes that accesses to each variable may reach, from its start on.
    pub(in crate::cpu) lengths: Vec<u64>,
    /// The bytes of all.
    pub(in crate::cpu) bytes: u64,
}

impl ThreadgroupVariables {
    /// Lays the variables out one after the other, each aligned for vectors at least.
    pub(in crate::cpu) fn new(module: &Module) -> Result<Self, CodegenError> {
        let mut offsets = Vec::new();
        let mut end: u64 = 0;
        let too_much = |bytes| CodegenError::TooMuchMemory { bytes, limit: MAX_THREADGROUP_BYTES };
        for var in &module.threadgroup_vars {
            let align = u64::from(var.align.max(16)).min(256);
            let start = end.next_multiple_of(align);
            offsets.push(start);
            end = start.checked_add(var.size).ok_or(too_much(u64::MAX))?;
            if end > MAX_THREADGROUP_BYTES {
                return Err(too_much(end));
            }
        }
        let lengths = match module.threadgroup_reserve {
            0 => module.threadgroup_vars.iter().map(|var| var.size).collect(),
            reserve => offsets.iter().map(|start| end.max(reserve) - start).collect(),
        };
        Ok(Self { offsets, lengths, bytes: end })
    }
}
