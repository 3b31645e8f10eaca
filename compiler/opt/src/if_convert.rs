//! If-conversion: replaces a small `if` by selects, as LLVM's SimplifyCFG does.
//!
//! `if (c) x = a; else x = b;` becomes `x = c ? a : b`. Both arms may contain only cheap operations without
//! effect, and yield anything but pointers. Afterwards lanes do not diverge there, and later passes see the
//! value.

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use super::substitution::Substitution;
use crate::limits::{MAX_SPECULATED, MAX_SPECULATED_RESULTS};
use anymetal_ir::{BinOp, Block, Function, Inst, MathFn, Op, Space, Type, Value};

/// Rewrites one function; returns whether anything changed.
pub fn if_convert(function: &mut Function) -> bool {
    let mut converter = IfConverter { function, substitution: Substitution::default(), changed: false };
    rewrite_blocks(&mut converter);
    let IfConverter { function, mut substitution, changed } = converter;
    if changed {
        substitution.apply_everywhere(function);
    }
    changed
}

/// Why a branch without results was not converted, in a few words. What its arms assign is stored by then.
pub fn refusal(function: &Function, then: Block, otherwise: Block) -> &'static str {
    let is_private_access = |op: &Op| match op {
        Op::Load { ptr, .. } | Op::Store { ptr, .. } => function.ty(*ptr) == Type::Ptr(Space::Thread),
        _ => false,
    };
    match [then, otherwise].map(|arm| speculated(function, arm, is_private_access)) {
        [Some(a), Some(b)] if a + b > MAX_SPECULATED => "its arms have too many operations",
        [Some(_), Some(_)] => "its arms assign too many variables, or pointers",
        _ => "an arm has effects or expensive operations",
    }
}

/// The number of operations of an arm; `None` if they have effects or cost too much to be executed
/// speculatively. Operations for which `is_free` holds do not count.
fn speculated(function: &Function, arm: Block, is_free: impl Fn(&Op) -> bool) -> Option<usize> {
    let mut operations = 0;
    for &inst in function.block(arm) {
        match &function.inst(inst).op {
            Op::Const(_) | Op::Undef | Op::LocalAddr(_) | Op::Yield(_) => {}
            op if is_free(op) => {}
            op if is_speculatable(function, op) => operations += 1,
            _ => return None,
        }
    }
    Some(operations)
}

struct IfConverter<'a> {
    function: &'a mut Function,
    /// The selects that replace the results of branches.
    substitution: Substitution,
    changed: bool,
}

impl BlockRewriter for IfConverter<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        let converted = match self.function.inst(inst).op.clone() {
            Op::If { cond, then, otherwise, results } if self.is_convertible(then, otherwise, &results) => {
                self.convert(inst, cond, [then, otherwise], &results, out);
                true
            }
            _ => false,
        };
        if !converted {
            out.push(inst);
        }
        self.changed |= converted;
    }
}

impl IfConverter<'_> {
    fn is_convertible(&self, then: Block, otherwise: Block, results: &[Value]) -> bool {
        let is_small = (1..=MAX_SPECULATED_RESULTS).contains(&results.len());
        let is_plain = !results.iter().any(|&result| self.function.ty(result).is_ptr());
        let operations = [then, otherwise].map(|arm| speculated(self.function, arm, |_| false));
        is_small && is_plain && matches!(operations, [Some(a), Some(b)] if a + b <= MAX_SPECULATED)
    }

    fn convert(&mut self, inst: Inst, cond: Value, arms: [Block; 2], results: &[Value], out: &mut Vec<Inst>) {
        let [then, otherwise] = arms.map(|arm| {
            let mut insts = std::mem::take(&mut self.function.blocks[arm.index()].insts);
            let last = insts.pop().expect("the arm of a branch with results yields");
            out.append(&mut insts);
            let Op::Yield(values) = self.function.inst(last).op.clone() else {
                unreachable!("{last} ends an arm without effects, so it is a yield")
            };
            values
        });
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        for ((&result, a), b) in results.iter().zip(then).zip(otherwise) {
            let ty = self.function.ty(result);
            let select = self.function.add_inst(Op::Select(cond, a, b), Some(ty), fp, loc);
            out.push(select);
            let value = self.function.result(select);
            self.substitution.replace(self.function, result, value);
        }
    }
}

/// Whether executing it speculatively costs little.
fn is_speculatable(function: &Function, op: &Op) -> bool {
    match op {
        // Mostly compiled to a multiplication.
        Op::Binary(BinOp::FDiv, _, divisor) => function.as_const(*divisor).is_some(),
        Op::Binary(op, ..) => {
            !matches!(op, BinOp::FDiv | BinOp::FRem | BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem)
        }
        Op::Math(function, _) => {
            matches!(function, MathFn::FAbs | MathFn::FMin | MathFn::FMax | MathFn::Fma | MathFn::CopySign)
        }
        Op::Unary(..)
        | Op::Compare(..)
        | Op::Select(..)
        | Op::Cast(..)
        | Op::Splat(_)
        | Op::Compose(_)
        | Op::Extract(..)
        | Op::Insert(..)
        | Op::Shuffle(..)
        | Op::Query(_) => true,
        _ => false,
    }
}
