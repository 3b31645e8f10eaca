//! Words of OpenCL C and CUDA C++, for a hint that the whole source is in another language.

const OPENCL: &[&str] = &[
    "__constant",
    "__global",
    "__kernel",
    "__local",
    "__private",
    "barrier",
    "get_global_id",
    "get_global_size",
    "get_group_id",
    "get_local_id",
    "get_local_size",
    "get_num_groups",
    "get_work_dim",
];

const CUDA: &[&str] = &[
    "__constant__",
    "__device__",
    "__forceinline__",
    "__global__",
    "__host__",
    "__launch_bounds__",
    "__restrict__",
    "__shared__",
    "__syncthreads",
    "__syncwarp",
    "blockDim",
    "blockIdx",
    "gridDim",
    "threadIdx",
    "warpSize",
];

/// What to say of a name that nothing declares and that another language has.
pub(crate) fn hint(name: &str) -> Option<String> {
    let is_in = |words: &[&str]| words.binary_search(&name).is_ok();
    let (language, ending) = match () {
        () if is_in(OPENCL) => ("OpenCL C", "cl"),
        () if is_in(CUDA) => ("CUDA C++", "cu"),
        () => return None,
    };
    let how = "`anymetal translate` makes Metal of such a source";
    Some(format!(
        "`{name}` is {language}: {how}, and a file named `*.{ending}` is translated when it is read"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_sorted_and_of_one_language() {
        for words in [OPENCL, CUDA] {
            assert!(words.is_sorted() && words.iter().all(|word| hint(word).is_some()));
        }
        assert!(OPENCL.iter().all(|word| !CUDA.contains(word)));
        assert!(hint("get_global_id").unwrap().contains("OpenCL C"));
        assert!(hint("threadIdx").unwrap().contains("CUDA C++"));
        assert_eq!(hint("device"), None);
    }
}
