//! `MTLCompileOptions`.

use anymetal::{CheckMode, MathMode};
use objc2::runtime::Bool;

use super::descriptor::descriptor;
use super::violation;
use crate::foundation::dictionary::NSDictionary;
use crate::foundation::number::NSNumber;
use crate::foundation::{NSArray, NSString};

/// `MTLMathMode`.
const SAFE: isize = 0;
const RELAXED: isize = 1;
const FAST: isize = 2;

/// `MTLLanguageVersion3_2`: the major version above, the minor below.
const VERSION_3_2: usize = 3 << 16 | 2;
/// `MTLMathFloatingPointFunctionsPrecise`.
const PRECISE: isize = 1;
/// `MTLLibraryTypeDynamic`.
const DYNAMIC: isize = 1;

descriptor! {
    /// How a library is compiled.
    CompileOptions = "MTLCompileOptions", CompileProperties;
    values {
        // Not set: the math mode says.
        fast_math, set_fast_math: Bool = Bool::YES, [fastMathEnabled] [setFastMathEnabled:];
        math_mode, set_math_mode: isize = FAST, [mathMode] [setMathMode:];
        functions, set_functions: isize = 0, [mathFloatingPointFunctions] [setMathFloatingPointFunctions:];
        version, set_version: usize = VERSION_3_2, [languageVersion] [setLanguageVersion:];
        library_type, set_library_type: isize = 0, [libraryType] [setLibraryType:];
        invariance, set_invariance: Bool = Bool::NO, [preserveInvariance] [setPreserveInvariance:];
        optimization, set_optimization: isize = 0, [optimizationLevel] [setOptimizationLevel:];
        visibility, set_visibility: isize = 0, [compileSymbolVisibility] [setCompileSymbolVisibility:];
        undefined, set_undefined: Bool = Bool::NO, [allowReferencingUndefinedSymbols] [setAllowReferencingUndefinedSymbols:];
        max_threads, set_max_threads: usize = 0, [maxTotalThreadsPerThreadgroup] [setMaxTotalThreadsPerThreadgroup:];
        required_threads, set_required_threads: super::size::Size = super::size::Size::default(), [requiredThreadsPerThreadgroup] [setRequiredThreadsPerThreadgroup:];
        logging, set_logging: Bool = Bool::NO, [enableLogging] [setEnableLogging:];
    }
    objects {
        macros, set_macros: NSDictionary, [preprocessorMacros] [setPreprocessorMacros:];
        install_name, set_install_name: NSString, [installName] [setInstallName:];
        libraries, set_libraries: NSArray, [libraries] [setLibraries:];
    }
}

impl CompileProperties {
    /// The same for the compiler.
    pub(crate) fn to_options(&self) -> anymetal::CompileOptions {
        if self.library_type() == DYNAMIC {
            violation("MTLDevice newLibraryWithSource:options:error:", "dynamic libraries are not supported");
        }
        if self.logging().as_bool() {
            super::log_state::enable();
        }
        default_options()
            .defines(self.macros().map(|macros| defines(&macros)).unwrap_or_default())
            .math_mode(self.mode())
            .language_version(language_version(self.version()))
            .logging(self.logging().as_bool())
    }

    fn mode(&self) -> MathMode {
        match self.math_mode() {
            _ if !self.fast_math().as_bool() => MathMode::Safe,
            SAFE => MathMode::Safe,
            RELAXED => MathMode::Relaxed,
            // Precise functions with fast arithmetic: the nearest that keeps the functions'
            // precision.
            FAST if self.functions() == PRECISE => MathMode::Relaxed,
            _ => MathMode::Fast,
        }
    }
}

/// How source is compiled where a program gives no options; the device's settings come on top.
pub(crate) fn default_options() -> anymetal::CompileOptions {
    anymetal::CompileOptions::new().check_mode(CheckMode::Pages).whole_buffers(true)
}

/// Metal's number for a version as `__METAL_VERSION__` gives it: 320 for 3.2.
fn language_version(version: usize) -> u32 {
    let (major, minor) = (version >> 16, version & 0xffff);
    u32::try_from(major * 100 + minor * 10).unwrap_or(320)
}

/// Macros: names with strings or numbers.
fn defines(macros: &NSDictionary) -> Vec<(String, Option<String>)> {
    let text = |object: &objc2::runtime::AnyObject| {
        let string = object.downcast_ref::<NSString>().map(NSString::to_string);
        string.or_else(|| object.downcast_ref::<NSNumber>().map(NSNumber::text))
    };
    macros.pairs().into_iter().filter_map(|(name, value)| Some((text(&name)?, text(&value)))).collect()
}
