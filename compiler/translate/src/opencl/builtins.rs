//! Words and functions that Metal has under other names.

use super::{Translator, prelude};
use crate::opencl::declarations::vector;

/// Words of the language.
const WORDS: &[(&str, &str)] = &[
    ("__kernel", "kernel"),
    ("__global", "device"),
    ("global", "device"),
    ("__local", "threadgroup"),
    ("local", "threadgroup"),
    ("__constant", "constant"),
    ("__private", "thread"),
    ("private", "thread"),
    ("CLK_LOCAL_MEM_FENCE", "mem_flags::mem_threadgroup"),
    ("CLK_GLOBAL_MEM_FENCE", "mem_flags::mem_device"),
    ("M_PI", "M_PI_F"),
    ("M_E", "M_E_F"),
    ("M_SQRT2", "M_SQRT2_F"),
    ("M_SQRT1_2", "M_SQRT1_2_F"),
    ("M_LN2", "M_LN2_F"),
    ("M_PI_2", "M_PI_2_F"),
    ("M_PI_4", "M_PI_4_F"),
    ("M_1_PI", "M_1_PI_F"),
    ("M_2_PI", "M_2_PI_F"),
    ("HUGE_VALF", "INFINITY"),
];

/// Functions with the same arguments.
const FUNCTIONS: &[(&str, &str)] = &[
    ("barrier", "threadgroup_barrier"),
    ("work_group_barrier", "threadgroup_barrier"),
    ("sub_group_barrier", "simdgroup_barrier"),
    ("mad", "fma"),
    ("mul_hi", "mulhi"),
    ("mad_hi", "madhi"),
    ("mad_sat", "madsat"),
    ("add_sat", "addsat"),
    ("sub_sat", "subsat"),
    ("abs_diff", "absdiff"),
    ("native_exp", "fast::exp"),
    ("native_exp2", "fast::exp2"),
    ("native_exp10", "fast::exp10"),
    ("native_log", "fast::log"),
    ("native_log2", "fast::log2"),
    ("native_log10", "fast::log10"),
    ("native_sin", "fast::sin"),
    ("native_cos", "fast::cos"),
    ("native_tan", "fast::tan"),
    ("native_sqrt", "fast::sqrt"),
    ("native_rsqrt", "fast::rsqrt"),
    ("native_powr", "fast::powr"),
    ("half_exp", "fast::exp"),
    ("half_exp2", "fast::exp2"),
    ("half_exp10", "fast::exp10"),
    ("half_log", "fast::log"),
    ("half_log2", "fast::log2"),
    ("half_log10", "fast::log10"),
    ("half_sin", "fast::sin"),
    ("half_cos", "fast::cos"),
    ("half_tan", "fast::tan"),
    ("half_sqrt", "fast::sqrt"),
    ("half_rsqrt", "fast::rsqrt"),
    ("half_powr", "fast::powr"),
    ("fast_length", "fast::length"),
    ("fast_distance", "fast::distance"),
    ("fast_normalize", "fast::normalize"),
    ("sub_group_reduce_add", "simd_sum"),
    ("sub_group_reduce_min", "simd_min"),
    ("sub_group_reduce_max", "simd_max"),
    ("sub_group_scan_inclusive_add", "simd_prefix_inclusive_sum"),
    ("sub_group_scan_exclusive_add", "simd_prefix_exclusive_sum"),
    ("sub_group_broadcast", "simd_broadcast"),
    ("sub_group_all", "simd_all"),
    ("sub_group_any", "simd_any"),
];

/// What Metal does not have, and what to do.
const REFUSED: &[(&str, &str)] = &[
    ("get_image_channel_data_type", "pass the format"),
    ("get_image_channel_order", "pass the format"),
    ("prefetch", "leave it away"),
    ("erf", "use a polynomial: Metal has no error function"),
    ("erfc", "use a polynomial: Metal has no error function"),
    ("lgamma", "Metal has no gamma function"),
    ("tgamma", "Metal has no gamma function"),
    ("remquo", "use `fmod`"),
    ("enqueue_kernel", "launch from the host"),
];

/// Names that are free in OpenCL C and taken in MSL.
pub(super) const TAKEN: &[&str] = &[
    "thread",
    "threadgroup",
    "device",
    "vertex",
    "fragment",
    "class",
    "new",
    "delete",
    "this",
    "template",
    "typename",
    "operator",
    "namespace",
    "using",
    "public",
    "protected",
    "virtual",
    "friend",
    "catch",
    "try",
    "throw",
    "and",
    "or",
    "not",
    "xor",
    "metal",
    "array",
    "vec",
    "constexpr",
    "nullptr",
    "bfloat",
    "explicit",
    "export",
    "mutable",
    "decltype",
    "object_data",
    "ray_data",
    "sampler",
    "texture2d",
    "matrix",
    "tensor",
];

impl Translator<'_> {
    pub(super) fn words(&mut self) {
        let mut has_doubles = false;
        let mut token = 0;
        while token < self.text.len() {
            let word = self.text.at(token);
            if self.text.in_directive(token) && word == "#" {
                token = self.directive(token);
                continue;
            }
            if !self.text.is_word(token) || self.text.replacement(token).is_some() {
                self.number(token);
                token += 1;
                continue;
            }
            if word == "__attribute__" {
                token = self.attribute(token);
                continue;
            }
            let is_member = token > 0 && matches!(self.text.at(token - 1), "." | "->");
            if is_member {
                if TAKEN.contains(&word) {
                    self.text.replace(token, format!("{word}_"));
                }
            } else if is_double(word) {
                if !has_doubles {
                    self.doubles(token);
                }
                has_doubles = true;
                self.text.replace(token, word.replace("double", "float"));
            } else if self.text.at(token + 1) == "(" && !self.is_own(word) {
                self.called(token);
            } else {
                self.plain(token);
            }
            token += 1;
        }
    }

    /// Whether the source defines a function or macro of the name.
    fn is_own(&self, word: &str) -> bool {
        self.declarations.macros.contains_key(word)
            || self.declarations.functions.iter().any(|function| function.name == word)
    }

    fn plain(&mut self, token: usize) {
        let word = self.text.at(token);
        if word == "goto" {
            let hint = "use a loop that `break` leaves, or a flag";
            self.refuse(token, "Metal has no `goto`", hint);
        } else if word == "event_t" {
            self.helpers.insert("event_t");
        } else if matches!(word, "restrict" | "__restrict" | "__restrict__") {
            self.text.remove(token);
        } else if matches!(word, "__inline" | "__inline__") {
            self.text.replace(token, "inline");
        } else if let Some((_, msl)) = WORDS.iter().find(|(known, _)| *known == word) {
            if !self.declarations.macros.contains_key(word) {
                self.text.replace(token, *msl);
            }
        } else if TAKEN.contains(&word) {
            self.text.replace(token, format!("{word}_"));
        }
    }

    fn called(&mut self, token: usize) {
        let word = self.text.at(token);
        if let Some((_, msl)) = FUNCTIONS.iter().find(|(known, _)| *known == word) {
            self.text.replace(token, *msl);
            // A barrier that orders no memory.
            let is_none = self.text.at(token + 2) == "0" && self.text.at(token + 3) == ")";
            if msl.ends_with("_barrier") && is_none {
                self.text.replace(token + 2, "mem_flags::mem_none");
            }
        } else if word == "printf" {
            self.helpers.insert("printf");
            self.text.replace(token, "os_log_default.log");
        } else if let Some((_, hint)) = REFUSED.iter().find(|(known, _)| *known == word) {
            self.refuse(token, format!("Metal has no `{word}`"), hint);
        } else if matches!(word, "mem_fence" | "read_mem_fence" | "write_mem_fence") {
            self.text.replace(token, "atomic_thread_fence");
            if let Some(close) = self.text.closing(token + 1) {
                self.text.insert_before(close, ", memory_order_seq_cst, thread_scope_threadgroup");
            }
        } else if let Some(ty) = word.strip_prefix("as_") {
            if self.declarations.is_type(ty) {
                self.text.replace(token, format!("as_type<{ty}>"));
            }
        } else if let Some(conversion) = word.strip_prefix("convert_") {
            self.convert(token, conversion);
        } else if let Some(name) = prelude::find(word) {
            self.helpers.insert(name);
            if name.contains("_image") {
                self.helpers.insert("image_coordinates");
            }
            if super::positions::GROUP_COPIES.contains(&name) {
                self.helpers.insert("event_t");
            }
            if let Some(renamed) = prelude::renamed(name) {
                self.text.replace(token, renamed);
            }
        } else {
            self.plain(token);
        }
    }

    /// `convert_uchar4_sat_rte(x)`
    fn convert(&mut self, token: usize, conversion: &str) {
        let mut parts = conversion.split('_');
        let ty = parts.next().unwrap_or_default().replace("double", "float");
        if !self.declarations.is_type(&ty) {
            return;
        }
        let (mut rounding, mut saturates) = ("", false);
        for part in parts {
            match part {
                "sat" => saturates = true,
                "rte" => rounding = "rint",
                "rtz" => rounding = "trunc",
                "rtn" => rounding = "floor",
                "rtp" => rounding = "ceil",
                _ => return,
            }
        }
        // To a float every rounding but the nearest is another function.
        if vector(&ty).is_some_and(|(_, width)| width > 4) {
            if saturates || !rounding.is_empty() {
                let hint = "convert four components at a time";
                self.refuse(token, format!("`convert_{conversion}` of 8 or 16 components"), hint);
            }
            return;
        }
        let is_float = matches!(vector(&ty).map_or(&*ty, |(scalar, _)| scalar), "float" | "half");
        let Some(close) = self.text.closing(token + 1) else { return };
        let rounding = if is_float { "" } else { rounding };
        if saturates && !is_float {
            self.helpers.insert("convert_sat");
            self.text.replace(token, format!("convert_sat<{ty}>"));
        } else {
            self.text.replace(token, ty);
        }
        if !rounding.is_empty() {
            self.text.insert_after(token + 1, &format!("{rounding}("));
            self.text.insert_before(close, ")");
        }
    }

    /// Literals with the suffixes of C stay; those of `double` have none.
    fn number(&mut self, token: usize) {
        let text = self.text.at(token);
        let is_hex = text.starts_with("0x") || text.starts_with("0X");
        if !is_hex && text.ends_with(['d', 'D']) && text.len() > 1 && text.as_bytes()[0].is_ascii_digit() {
            self.text.replace(token, format!("{}f", &text[..text.len() - 1]));
        }
    }

    fn doubles(&mut self, token: usize) {
        self.tell(self.options.doubles.diagnostic(self.span(token)));
    }

    /// Extensions are not Metal's; all else is the preprocessor's. Gives the next token to look at.
    fn directive(&mut self, start: usize) -> usize {
        let is_extension = self.text.at(start + 1) == "pragma" && self.text.at(start + 2) == "OPENCL";
        if !is_extension {
            // The words of a macro's body are translated; `# define NAME` and conditions are not.
            return match self.text.at(start + 1) {
                "define" => start + 3,
                "ifdef" | "ifndef" | "undef" | "include" | "pragma" => self.end_of_directive(start),
                _ => start + 2,
            };
        }
        let end = self.end_of_directive(start);
        self.text.replace(start, "// #");
        end
    }

    fn end_of_directive(&self, start: usize) -> usize {
        self.text.directive_end(start) + 1
    }

    /// Gives the token behind it.
    fn attribute(&mut self, start: usize) -> usize {
        let Some(close) = self.text.closing(start + 1) else { return start + 1 };
        let name = self.text.at(start + 3).trim_matches('_');
        let list = self.text.parts(start + 2, self.text.closing(start + 2).unwrap_or(close));
        let is_layout = |first: usize| matches!(self.text.at(first).trim_matches('_'), "packed" | "aligned");
        let layout: Vec<&str> = list
            .into_iter()
            .filter(|&(first, _)| is_layout(first))
            .map(|(first, last)| self.text.between(first, last))
            .collect();
        match name {
            _ if !layout.is_empty() => {
                self.text.replace(start, format!("__attribute__(({}))", layout.join(", ")));
            }
            "reqd_work_group_size" => {
                let given = self.text.closing(start + 4).unwrap_or(close);
                let sizes = self.text.between(start + 5, (given - 1).max(start + 5)).replace(',', ") * (");
                self.text.replace(start, format!("[[max_total_threads_per_threadgroup(({sizes}))]]"));
            }
            _ => self.text.remove(start),
        }
        self.text.remove_all(start + 1..=close);
        close + 1
    }
}

fn is_double(word: &str) -> bool {
    word == "double" || vector(word).is_some_and(|(scalar, _)| scalar == "double")
}
