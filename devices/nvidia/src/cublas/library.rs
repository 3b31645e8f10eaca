//! Finding and opening the library.
//!
//! Owns [`Cublas`]. Invariant: it is searched for once in a process, and never closed, so that its functions
//! stay. The file that `ANYMETAL_CUBLAS` names is the only one that is tried, if the variable is set; `none`
//! is no library.

use std::ffi::{OsString, c_int, c_longlong, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

use libloading::Library;

use crate::cublas::error::CublasError;

/// The variable that names the file.
const VARIABLE: &str = "ANYMETAL_CUBLAS";

/// Names that the system's loader is asked for. What they have in common is what is bound here.
#[cfg(not(windows))]
const NAMES: &[&str] = &["libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11"];
#[cfg(windows)]
const NAMES: &[&str] = &["cublas64_13.dll", "cublas64_12.dll", "cublas64_11.dll"];

pub(crate) type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
pub(crate) type Destroy = unsafe extern "C" fn(*mut c_void) -> c_int;
pub(crate) type SetStream = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
pub(crate) type SetMathMode = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
type GetProperty = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
/// Handle; operations; sizes; the scale; both factors with type, leading dimension and stride; the other
/// scale; the result likewise; batches, type of the sums, algorithm.
pub(crate) type Gemm = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    c_longlong,
    *const c_void,
    c_int,
    c_int,
    c_longlong,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_longlong,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// cuBLAS.
pub struct Cublas {
    pub(crate) create: Create,
    pub(crate) destroy: Destroy,
    pub(crate) set_stream: SetStream,
    pub(crate) set_math_mode: SetMathMode,
    pub(crate) gemm: Gemm,
    version: String,
    file: String,
    _library: ManuallyDrop<Library>,
}

impl Cublas {
    /// The process's cuBLAS, searched for at the first call. Nothing of CUDA starts by that.
    pub fn load() -> Result<&'static Cublas, CublasError> {
        static LOADED: OnceLock<Result<Cublas, CublasError>> = OnceLock::new();
        let loaded = LOADED.get_or_init(|| search(anymetal_environment::value(VARIABLE)));
        loaded.as_ref().map_err(Clone::clone)
    }

    /// Its version, such as `12.8.4`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The name by which it was opened.
    pub fn file(&self) -> &str {
        &self.file
    }
}

impl fmt::Debug for Cublas {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "cuBLAS {} ({})", self.version, self.file)
    }
}

fn search(named: Option<OsString>) -> Result<Cublas, CublasError> {
    let names = match named.filter(|name| !name.is_empty()) {
        Some(name) if name == "none" => Vec::new(),
        Some(name) => vec![name],
        None => NAMES.iter().map(OsString::from).collect(),
    };
    for name in &names {
        // SAFETY: opening it runs its initialisers. That the name leads to cuBLAS is the promise of the
        // system's loader, and of whoever sets the variable.
        if let Ok(library) = unsafe { Library::new(name) } {
            return bind(library, name.to_string_lossy().into_owned());
        }
    }
    let tried = names.iter().map(|name| name.to_string_lossy().into_owned());
    let tried: Vec<_> = tried.collect();
    Err(CublasError::NotFound { tried: if tried.is_empty() { vec!["nothing".to_owned()] } else { tried } })
}

fn bind(library: Library, file: String) -> Result<Cublas, CublasError> {
    macro_rules! function {
        ($type:ty, $name:literal) => {
            // SAFETY: the type is that of cuBLAS's header, the same from CUDA 11 on.
            match unsafe { library.get::<$type>($name) } {
                Ok(function) => *function,
                Err(_) => return Err(CublasError::NoFunction { file, function: $name }),
            }
        };
    }
    let (create, destroy) = (function!(Create, "cublasCreate_v2"), function!(Destroy, "cublasDestroy_v2"));
    let set_stream = function!(SetStream, "cublasSetStream_v2");
    let set_math_mode = function!(SetMathMode, "cublasSetMathMode");
    let gemm = function!(Gemm, "cublasGemmStridedBatchedEx");
    let property = function!(GetProperty, "cublasGetProperty");
    let part = |which: c_int| {
        let mut part = 0;
        // SAFETY: it needs no handle; the result outlives the call.
        let status = unsafe { property(which, &raw mut part) };
        if status == 0 { part.to_string() } else { "?".to_owned() }
    };
    let version = [0, 1, 2].map(part).join(".");
    let _library = ManuallyDrop::new(library);
    Ok(Cublas { create, destroy, set_stream, set_math_mode, gemm, version, file, _library })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_names_what_was_tried() {
        let error = search(Some("/nowhere/libcublas.so".into())).unwrap_err();
        assert_eq!(error, CublasError::NotFound { tried: vec!["/nowhere/libcublas.so".to_owned()] });
        assert!(error.to_string().contains("ANYMETAL_CUBLAS"), "{error}");
    }

    #[test]
    fn none_is_no_library() {
        assert_eq!(
            search(Some("none".into())).unwrap_err(),
            CublasError::NotFound { tried: vec!["nothing".to_owned()] }
        );
    }

    /// Another library has none of the functions.
    #[cfg(target_os = "linux")]
    #[test]
    fn another_library_is_an_error_that_names_the_function() {
        let error = search(Some("libc.so.6".into())).unwrap_err();
        let CublasError::NoFunction { file, function } = error else { panic!("{error}") };
        assert_eq!((file.as_str(), function), ("libc.so.6", "cublasCreate_v2"));
    }

    /// On most machines there is none, which must not end the program.
    #[test]
    fn the_process_has_one_or_a_reason() {
        match Cublas::load() {
            Ok(library) => assert!(!library.version().is_empty()),
            Err(error) => {
                assert!(matches!(error, CublasError::NotFound { .. } | CublasError::NoFunction { .. }))
            }
        }
    }
}
