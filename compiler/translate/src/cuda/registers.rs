//! Reads of PTX's special registers: `asm("mov.u32 %0, %lanemask_lt;" : "=r"(mask));`
//!
//! Such a statement becomes an assignment of what Metal's positions say. All other `asm` is refused.

use std::collections::BTreeMap;

use crate::token::Text;

/// Registers, the hidden parameters that their values need, and the values.
const REGISTERS: &[(&str, &[&str], &str)] = &[
    ("laneid", &["lane_in_simdgroup"], "lane_in_simdgroup"),
    ("lanemask_eq", &["lane_in_simdgroup"], "1u << lane_in_simdgroup"),
    ("lanemask_lt", &["lane_in_simdgroup"], "(1u << lane_in_simdgroup) - 1u"),
    // Of the last lane the shift yields zero in 64 bits.
    ("lanemask_le", &["lane_in_simdgroup"], "uint((2ul << lane_in_simdgroup) - 1ul)"),
    ("lanemask_gt", &["lane_in_simdgroup"], "~uint((2ul << lane_in_simdgroup) - 1ul)"),
    ("lanemask_ge", &["lane_in_simdgroup"], "~((1u << lane_in_simdgroup) - 1u)"),
    (
        "warpid",
        &["threadIdx", "blockDim"],
        "(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / 32u",
    ),
    ("tid.x", &["threadIdx"], "threadIdx.x"),
    ("tid.y", &["threadIdx"], "threadIdx.y"),
    ("tid.z", &["threadIdx"], "threadIdx.z"),
    ("ntid.x", &["blockDim"], "blockDim.x"),
    ("ntid.y", &["blockDim"], "blockDim.y"),
    ("ntid.z", &["blockDim"], "blockDim.z"),
    ("ctaid.x", &["blockIdx"], "blockIdx.x"),
    ("ctaid.y", &["blockIdx"], "blockIdx.y"),
    ("ctaid.z", &["blockIdx"], "blockIdx.z"),
    ("nctaid.x", &["gridDim"], "gridDim.x"),
    ("nctaid.y", &["gridDim"], "gridDim.y"),
    ("nctaid.z", &["gridDim"], "gridDim.z"),
];

/// A statement that reads a register.
#[derive(Debug, Clone)]
pub(super) struct Read {
    /// The closing parenthesis.
    pub(super) last: usize,
    /// First and last token of the variable that gets the value.
    pub(super) to: (usize, usize),
    pub(super) needs: &'static [&'static str],
    pub(super) value: &'static str,
}

/// The statements of a text that read registers, by their first tokens.
pub(super) fn reads(text: &Text<'_>) -> BTreeMap<usize, Read> {
    let all = (0..text.len()).filter(|&token| is_asm(text.at(token)));
    all.filter_map(|token| Some((token, read(text, token)?))).collect()
}

pub(super) fn is_asm(word: &str) -> bool {
    matches!(word, "asm" | "__asm__" | "__asm")
}

/// `asm volatile ("mov.u32 %0, %laneid;" : "=r"(x))`
fn read(text: &Text<'_>, asm: usize) -> Option<Read> {
    let open = (asm + 1..asm + 3).find(|&token| text.at(token) == "(")?;
    let last = text.closing(open)?;
    // Of the two spellings of a register, one escapes the percent sign.
    let code = text.at(open + 1).trim_matches('"').replace("%%", "%").replace("\\n", " ").replace("\\t", " ");
    let code = code.trim().strip_suffix(';')?;
    let (operation, operands) = code.trim().split_once(char::is_whitespace)?;
    let (result, register) = operands.split_once(',')?;
    let is_read = matches!(operation, "mov.u32" | "mov.b32" | "mov.s32") && result.trim() == "%0";
    let register = register.trim().strip_prefix('%').filter(|_| is_read)?;
    let &(_, needs, value) = REGISTERS.iter().find(|(known, ..)| *known == register)?;
    let is_output = text.at(open + 2) == ":" && text.at(open + 3).trim_matches('"') == "=r";
    let close = text.closing(open + 4).filter(|_| is_output && text.at(open + 4) == "(")?;
    // Nothing but empty lists of inputs and of what changes follows.
    let is_end = (close + 1..last).all(|token| matches!(text.at(token), ":" | "\"memory\""));
    (is_end && open + 5 < close).then_some(Read { last, to: (open + 5, close - 1), needs, value })
}
