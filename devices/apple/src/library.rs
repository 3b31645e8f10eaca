//! Libraries: source that the device's compiler has read, and functions of it.
//!
//! Owns [`Libraries`], which keeps the last ones: a source's kernels are made ready one by one.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal_hal::artifact::{KernelInfo, ScalarType};
use anymetal_hal::error::DeviceError;
use anymetal_hal::metal_source::{MathMode, MetalConstant, MetalSource};
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2::sel;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLCompileOptions, MTLDataType, MTLDevice, MTLFunction, MTLFunctionConstantValues, MTLLanguageVersion,
    MTLLibrary, MTLMathFloatingPointFunctions, MTLMathMode,
};

use crate::error;
use crate::object::has;

/// How many libraries are kept.
const MAX_KEPT: usize = 16;

type Library = Retained<ProtocolObject<dyn MTLLibrary>>;

/// The libraries of a device, the last used at the end.
#[derive(Default)]
pub(crate) struct Libraries(Mutex<Vec<CachedLibrary>>);

struct CachedLibrary {
    text: Arc<str>,
    math_mode: MathMode,
    language_version: u32,
    library: Library,
}

impl CachedLibrary {
    fn is_of(&self, source: &MetalSource) -> bool {
        let MetalSource { text, options } = source;
        let same_text = Arc::ptr_eq(&self.text, text) || self.text == *text;
        (self.math_mode, self.language_version) == (options.math_mode, options.language_version) && same_text
    }
}

impl Libraries {
    fn lock(&self) -> MutexGuard<'_, Vec<CachedLibrary>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kernel's function, with its constants.
    pub(crate) fn function(
        &self,
        device: &ProtocolObject<dyn MTLDevice>,
        source: &MetalSource,
        kernel: &KernelInfo,
    ) -> Result<Retained<ProtocolObject<dyn MTLFunction>>, DeviceError> {
        let library = self.library(device, source, &kernel.name)?;
        let name = NSString::from_str(&kernel.name);
        if kernel.function_constants.is_empty() && source.options.constants.is_empty() {
            let function = library.newFunctionWithName(&name);
            return function.ok_or_else(|| DeviceError::UnknownKernel {
                name: kernel.name.clone(),
                existing: library.functionNames().iter().map(|name| name.to_string()).collect(),
            });
        }
        let values = constant_values(&source.options.constants);
        let function = library.newFunctionWithName_constantValues_error(&name, &values);
        function.map_err(|problem| error::of_kernel(&kernel.name, &problem))
    }

    /// The source's library: kept, or compiled now. The lock is not held meanwhile, so two threads may
    /// compile one source at the same time; the second's stays.
    fn library(
        &self,
        device: &ProtocolObject<dyn MTLDevice>,
        source: &MetalSource,
        kernel: &str,
    ) -> Result<Library, DeviceError> {
        {
            let mut known = self.lock();
            if let Some(at) = known.iter().position(|known| known.is_of(source)) {
                let found = known.remove(at);
                let library = found.library.clone();
                known.push(found);
                return Ok(library);
            }
        }
        let text = NSString::from_str(&source.text);
        let options = compile_options(source);
        let library = device.newLibraryWithSource_options_error(&text, Some(&options));
        let library = library.map_err(|problem| error::of_kernel(kernel, &problem))?;
        let mut known = self.lock();
        if known.len() == MAX_KEPT {
            known.remove(0);
        }
        known.push(CachedLibrary {
            text: Arc::clone(&source.text),
            math_mode: source.options.math_mode,
            language_version: source.options.language_version,
            library: library.clone(),
        });
        Ok(library)
    }
}

fn compile_options(source: &MetalSource) -> Retained<MTLCompileOptions> {
    let options = MTLCompileOptions::new();
    options.setLanguageVersion(language_version(source.options.language_version));
    let (mode, functions) = match source.options.math_mode {
        MathMode::Safe => (MTLMathMode::Safe, MTLMathFloatingPointFunctions::Precise),
        MathMode::Relaxed => (MTLMathMode::Relaxed, MTLMathFloatingPointFunctions::Precise),
        MathMode::Fast => (MTLMathMode::Fast, MTLMathFloatingPointFunctions::Fast),
    };
    if has(&*options, sel!(setMathMode:)) {
        options.setMathMode(mode);
        options.setMathFloatingPointFunctions(functions);
    } else {
        // Before macOS 15 there are two modes; relaxed allows nothing that safe forbids a program to see.
        #[allow(deprecated, reason = "older systems have nothing else")]
        options.setFastMathEnabled(mode == MTLMathMode::Fast);
    }
    options
}

/// `__METAL_VERSION__` in Metal's form: 320 is version 3.2, the major number in the upper half.
fn language_version(version: u32) -> MTLLanguageVersion {
    let (major, minor) = (version as usize / 100, version as usize % 100 / 10);
    MTLLanguageVersion(major << 16 | minor)
}

fn constant_values(constants: &[MetalConstant]) -> Retained<MTLFunctionConstantValues> {
    let values = MTLFunctionConstantValues::new();
    for constant in constants {
        // A vector of three takes the room of four.
        let mut bytes = [0u8; 32];
        let size = constant.scalar.size() as usize;
        for (component, bits) in bytes.chunks_exact_mut(size).zip(&constant.bits) {
            component.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        let value = NonNull::from(&bytes).cast();
        let index = constant.index as usize;
        // The vectors of a type are the numbers after it.
        let ty = MTLDataType(data_type(constant.scalar).0 + constant.bits.len().clamp(1, 4) - 1);
        // SAFETY: the value is that of the type, in the first of these bytes, and Metal copies it.
        unsafe { values.setConstantValue_type_atIndex(value, ty, index) };
    }
    values
}

fn data_type(scalar: ScalarType) -> MTLDataType {
    match scalar {
        ScalarType::Bool => MTLDataType::Bool,
        ScalarType::I8 => MTLDataType::Char,
        ScalarType::U8 => MTLDataType::UChar,
        ScalarType::I16 => MTLDataType::Short,
        ScalarType::U16 => MTLDataType::UShort,
        ScalarType::I32 => MTLDataType::Int,
        ScalarType::U32 => MTLDataType::UInt,
        ScalarType::I64 => MTLDataType::Long,
        ScalarType::U64 => MTLDataType::ULong,
        ScalarType::F16 => MTLDataType::Half,
        ScalarType::BF16 => MTLDataType::BFloat,
        ScalarType::F32 => MTLDataType::Float,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_their_major_number_in_the_upper_half() {
        assert_eq!(language_version(320), MTLLanguageVersion::Version3_2);
        assert_eq!(language_version(240), MTLLanguageVersion::Version2_4);
        assert_eq!(language_version(400), MTLLanguageVersion::Version4_0);
    }
}
