//! Words and functions that Metal has under other names.

use super::{Translator, prelude};
use crate::metal_names;
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
    // Defined in MSL and not in OpenCL C: headers that hosts share take the wrong branch otherwise.
    ("__cplusplus", NOT_CPLUSPLUS),
];

/// A name that nobody defines.
const NOT_CPLUSPLUS: &str = "__cl_cplusplus";

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
    ("half_exp", "exp"),
    ("half_exp2", "exp2"),
    ("half_exp10", "exp10"),
    ("half_log", "log"),
    ("half_log2", "log2"),
    ("half_log10", "log10"),
    ("half_sin", "sin"),
    ("half_cos", "cos"),
    ("half_tan", "tan"),
    ("half_sqrt", "sqrt"),
    ("half_rsqrt", "rsqrt"),
    ("half_powr", "powr"),
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
    "alignas",
    "alignof",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "char16_t",
    "char32_t",
    "compl",
    "const_cast",
    "dynamic_cast",
    "noexcept",
    "not_eq",
    "or_eq",
    "reinterpret_cast",
    "static_assert",
    "static_cast",
    "thread_local",
    "typeid",
    "wchar_t",
    "xor_eq",
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
            } else if self.is_shadowing(word) {
                self.text.replace(token, format!("{word}_"));
            } else if self.is_alias(token) && !self.is_own(word) {
                self.aliased(token);
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

    /// Whether a function of the source has the name of one of Metal's. The names of kernels stay.
    fn is_shadowing(&self, word: &str) -> bool {
        metal_names::FUNCTIONS.contains(&word)
            && !self.declarations.macros.contains_key(word)
            && self.declarations.functions.iter().any(|function| function.name == word && !function.is_kernel)
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

    /// Whether the word is the whole body of a macro without parameters, as `read_imagef` may be.
    fn is_alias(&self, token: usize) -> bool {
        self.text.in_directive(token)
            && self.text.directive_end(token) == token
            && token > 2
            && self.text.at(token - 2) == "define"
    }

    fn aliased(&mut self, token: usize) {
        let word = self.text.at(token);
        if let Some((_, msl)) = FUNCTIONS.iter().find(|(known, _)| *known == word) {
            self.text.replace(token, *msl);
        } else if let Some(name) = prelude::find(word) {
            self.helpers.insert(name);
            if let Some(renamed) = prelude::renamed(name) {
                self.text.replace(token, renamed);
            }
        } else {
            self.plain(token);
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
            if let Some(renamed) = prelude::renamed(name) {
                self.text.replace(token, renamed);
            }
        } else {
            self.plain(token);
        }
    }

    /// `convert_uchar4_sat_rte(x)`
    fn convert(&mut self, token: usize, conversion: &str) {
        let Some(conversion) = Conversion::of(conversion).filter(|one| self.declarations.is_type(&one.ty))
        else {
            return;
        };
        if vector(&conversion.ty).is_some_and(|(_, width)| width > 4) {
            // A function of the vector's halves.
            self.helpers.extend(conversion.helpers());
            return;
        }
        if conversion.scalar() == "half" && !matches!(conversion.rounding, "" | "rte") {
            self.refuse(
                token,
                "a conversion to `half` that does not round to the nearest",
                "round to the nearest, or compute the bits",
            );
            return;
        }
        let Some(close) = self.text.closing(token + 1) else { return };
        self.helpers.extend(conversion.helpers());
        let (before, after) = conversion.around();
        self.text.replace(token, before.strip_suffix('(').unwrap_or(&before).to_owned());
        if after.len() > 1 {
            self.text.insert_before(close, &after[1..]);
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
                "ifdef" | "ifndef" if self.text.at(start + 2) == "__cplusplus" => {
                    self.text.replace(start + 2, NOT_CPLUSPLUS);
                    self.end_of_directive(start)
                }
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

/// The name of a function in MSL.
pub(super) fn metals_name(word: &'static str) -> &'static str {
    let renamed = FUNCTIONS.iter().find(|(known, _)| *known == word).map(|(_, msl)| *msl);
    renamed.or_else(|| prelude::renamed(prelude::find(word)?)).unwrap_or(word)
}

/// `uchar4_sat_rte`: how values are converted.
#[derive(Debug, Clone)]
pub(super) struct Conversion<'a> {
    pub(super) ty: String,
    pub(super) rounding: &'a str,
    pub(super) saturates: bool,
}

impl<'a> Conversion<'a> {
    pub(super) fn of(conversion: &'a str) -> Option<Self> {
        let mut parts = conversion.split('_');
        let ty = parts.next()?.replace("double", "float");
        let mut found = Self { ty, rounding: "", saturates: false };
        for part in parts {
            match part {
                "sat" => found.saturates = true,
                "rte" | "rtz" | "rtn" | "rtp" => found.rounding = part,
                _ => return None,
            }
        }
        Some(found)
    }

    fn scalar(&self) -> &str {
        vector(&self.ty).map_or(&self.ty, |(scalar, _)| scalar)
    }

    fn is_to_float(&self) -> bool {
        matches!(self.scalar(), "float" | "half")
    }

    /// The functions of the prelude that it calls.
    fn helpers(&self) -> impl Iterator<Item = &'static str> {
        let (is_to_float, is_rounded) = (self.is_to_float(), !self.rounding.is_empty());
        let all = [
            (self.saturates && !is_to_float, "cl_sat"),
            (is_rounded && !is_to_float, "cl_rounded"),
            (is_to_float && !matches!(self.rounding, "" | "rte"), "cl_float_toward"),
        ];
        all.into_iter().filter(|(is_called, _)| *is_called).map(|(_, name)| name)
    }

    /// What is before and after the value.
    pub(super) fn around(&self) -> (String, String) {
        let Self { ty, rounding, .. } = self;
        if self.is_to_float() {
            return match *rounding {
                "" | "rte" => (format!("{ty}("), ")".to_owned()),
                _ => (format!("cl_float_{rounding}("), ")".to_owned()),
            };
        }
        let whole = match self.saturates {
            true => format!("cl_sat<{}>(", self.scalar()),
            false => format!("{ty}("),
        };
        match *rounding {
            "" => (whole, ")".to_owned()),
            _ => (format!("{whole}cl_{rounding}("), "))".to_owned()),
        }
    }
}

fn is_double(word: &str) -> bool {
    word == "double" || vector(word).is_some_and(|(scalar, _)| scalar == "double")
}
