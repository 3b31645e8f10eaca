//! What every code generator asks of a request before it begins.

use anymetal_abi::MAX_THREADS_PER_THREADGROUP;
use anymetal_ir::{Kernel, Module};

use crate::cpu::CodegenError;

/// The kernel of that name, if the threadgroup size that code is wanted for is possible.
pub(crate) fn requested_kernel<'m>(
    module: &'m Module,
    kernel: &str,
    group_size: Option<[u32; 3]>,
) -> Result<&'m Kernel, CodegenError> {
    let unknown = || CodegenError::UnknownKernel { name: kernel.to_owned() };
    let kernel = module.kernel(kernel).ok_or_else(unknown)?;
    if let Some(size) = group_size {
        let threads: u64 = size.iter().fold(1, |product, &n| u64::from(n).saturating_mul(product));
        if threads == 0 || threads > MAX_THREADS_PER_THREADGROUP.into() {
            return Err(CodegenError::BadGroupSize { size });
        }
    }
    Ok(kernel)
}
