//! llama.cpp's kernels, with the parameters that its host code gives them.
//!
//! Each file is one or two sources of ggml's Metal back end. Parameters go in structs whose layout is read
//! from ggml's own header ([`kargs`]), tensors have four dimensions and strides in bytes ([`tensor`]), block
//! formats are those of [`crate::quants`]. [`FAMILIES`] has every file; all entry points have references but
//! those that the host does not launch.

pub mod attention;
pub mod convolution;
pub mod copy;
pub mod elementwise;
pub mod experts;
pub mod glu;
pub mod hyper;
pub mod kargs;
pub mod launch;
pub mod matrix;
pub mod movement;
pub mod norm;
pub mod recurrent;
pub mod resize;
pub mod rope;
pub mod rows;
pub mod selection;
pub mod series;
pub mod softmax;
pub mod state_space;
pub mod sums;
pub mod tensor;

use crate::candle::source;
use crate::execute::Source;
use crate::suite::CasesOf;

/// A source with its references.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// What tests call it: the file, or what of it is compiled.
    pub name: &'static str,
    /// The file, without `.metal`.
    pub file: &'static str,
    /// Whether it is compiled for a device with Metal 4's tensors.
    pub has_tensors: bool,
    /// Whether an entry point has a reference.
    pub covers: fn(&str) -> bool,
    /// The references.
    pub cases_of: CasesOf,
}

/// A source all of whose entry points have references.
const fn whole(name: &'static str, cases_of: CasesOf) -> Family {
    Family { name, file: name, has_tensors: false, covers: |_| true, cases_of }
}

/// Attention of many queries, in one format of keys and values.
const fn many(name: &'static str) -> Family {
    let (covers, cases_of) = (attention::many::covers, attention::many::cases);
    Family { name, file: name, has_tensors: false, covers, cases_of }
}

/// All families.
pub const FAMILIES: &[Family] = &[
    whole("softmax", softmax::cases),
    whole("argsort", selection::cases),
    whole("norm", norm::cases),
    whole("unary", |kernel, level| {
        elementwise::unary_cases(kernel, level).or_else(|| glu::cases(kernel, level))
    }),
    whole("binbcast", |kernel, level| {
        elementwise::binary_cases(kernel, level).or_else(|| movement::cases(kernel, level))
    }),
    whole("misc", |kernel, level| {
        let all = [movement::cases, selection::cases, series::cases, hyper::cases];
        all.iter().find_map(|cases: &CasesOf| cases(kernel, level))
    }),
    whole("pool", resize::pool_cases),
    whole("tri", movement::cases),
    whole("upscale", resize::upscale_cases),
    whole("conv", convolution::cases),
    whole("gated_delta_net", recurrent::cases),
    whole("rope", rope::cases),
    whole("solve_tri", state_space::cases),
    whole("ssm", state_space::cases),
    whole("wkv", recurrent::cases),
    whole("reduce", |kernel, level| rows::sum_cases(kernel, level).or_else(|| sums::cases(kernel, level))),
    whole("quantize", |kernel, level| rows::row_cases(kernel, level).or_else(|| copy::cases(kernel, level))),
    whole("mul_mv", |kernel, level| matrix::cases(kernel, level).or_else(|| experts::cases(kernel, level))),
    whole("mul_mm", |kernel, level| matrix::cases(kernel, level).or_else(|| experts::cases(kernel, level))),
    Family {
        name: "mul_mm_tensors",
        file: "mul_mm",
        has_tensors: true,
        covers: |kernel| kernel.starts_with("kernel_mul_mm_") && !kernel.contains("_id_"),
        cases_of: matrix::tensor_cases,
    },
    whole("mul_mv_mma", matrix::cases),
    whole("fa_aux", attention::auxiliary::cases),
    many("fa_f16"),
    many("fa_f32"),
    many("fa_q4_0"),
    many("fa_q4_1"),
    many("fa_q5_0"),
    many("fa_q5_1"),
    many("fa_q8_0"),
    whole("fa_vec_f16", attention::few::cases),
    whole("fa_vec_f32", attention::few::cases),
    whole("fa_vec_q4_0", attention::few::cases),
    whole("fa_vec_q4_1", attention::few::cases),
    whole("fa_vec_q5_0", attention::few::cases),
    whole("fa_vec_q5_1", attention::few::cases),
    whole("fa_vec_q8_0", attention::few::cases),
];

/// The family of that name.
///
/// # Panics
/// If there is none.
pub fn family(name: &str) -> Family {
    let found = FAMILIES.iter().find(|family| family.name == name);
    *found.unwrap_or_else(|| panic!("there is no family `{name}`"))
}

impl Family {
    /// Its source, from cargo's copy of llama.cpp.
    ///
    /// # Panics
    /// If cargo does not find it: the tests need the crate's sources.
    pub fn source(&self) -> Source {
        // As the host does where the device has the type.
        let mut defines = vec!["GGML_METAL_HAS_BF16"];
        defines.extend(self.has_tensors.then_some("GGML_METAL_HAS_TENSOR"));
        let variant = if self.has_tensors { " with tensors" } else { "" };
        Source { defines, variant, ..source("llama-cpp-sys-2", &format!("{}.metal", self.file)) }
    }
}

#[cfg(test)]
mod tests {
    use super::FAMILIES;
    use anymetal_harness::corpus;

    #[test]
    fn every_file_is_a_family() {
        let files = corpus::files("llama-cpp-sys-2").unwrap_or_else(|error| panic!("{error}"));
        for file in files {
            let is_family = FAMILIES.iter().any(|family| format!("{}.metal", family.file) == file.name);
            assert!(is_family, "{} has no references", file.name);
        }
    }
}
