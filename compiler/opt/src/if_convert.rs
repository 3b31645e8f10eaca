//! If-conversion: replaces a small `if` by selects, as LLVM's SimplifyCFG does.
//!
//! `if (c) x = a; else x = b;` becomes `x = c ? a : b`. Both arms may contain only cheap operations
//! without effect, and stores to scalar variables (see [`Variables`]) of anything but
//! pointers. Afterwards lanes do not diverge there, and later passes see the value.

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_analysis::Variables;
use anymetal_ir::{BinOp, Block, Function, Inst, Local, MathFn, Op, Type, Value};

/// Operations that both arms together may execute speculatively.
const MAX_SPECULATED: usize = 10;

/// Variables that the arms together may write.
const MAX_STORES: usize = 4;

/// Rewrites one function; returns whether anything changed.
pub fn if_convert(function: &mut Function) -> bool {
    let variables = Variables::of(function);
    let mut converter = IfConverter { function, variables, changed: false };
    rewrite_blocks(&mut converter);
    converter.changed
}

/// The last store to a variable in an arm.
#[derive(Clone, Copy)]
struct FinalStore {
    local: Local,
    ptr: Value,
    value: Value,
    align: u32,
}

struct IfConverter<'a> {
    function: &'a mut Function,
    variables: Variables,
    changed: bool,
}

impl BlockRewriter for IfConverter<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        let converted = match self.function.inst(inst).op {
            Op::If { cond, then, otherwise } => self.convert(inst, cond, then, otherwise, out),
            _ => false,
        };
        if !converted {
            out.push(inst);
        }
        self.changed |= converted;
    }
}

impl IfConverter<'_> {
    /// The last store to each variable in an arm and its number of operations; `None` if it does not qualify.
    fn final_stores(&self, block: Block) -> Option<(Vec<FinalStore>, usize)> {
        let mut stores: Vec<FinalStore> = Vec::new();
        let mut operations = 0;
        for &inst in self.function.block(block) {
            match &self.function.inst(inst).op {
                &Op::Store { ptr, value, align, volatile: false } => {
                    let local = self.variables.at(ptr)?;
                    if self.function.ty(value).is_ptr() {
                        return None;
                    }
                    stores.retain(|other| other.local != local);
                    stores.push(FinalStore { local, ptr, value, align });
                }
                // A load reads the value from before the branch only if the arm has not stored to the
                // variable yet.
                &Op::Load { ptr, volatile: false, .. } => {
                    let local = self.variables.at(ptr)?;
                    if stores.iter().any(|other| other.local == local) {
                        return None;
                    }
                    operations += 1;
                }
                Op::Const(_) | Op::Undef | Op::LocalAddr(_) => {}
                op if is_speculatable(self.function, op) => operations += 1,
                _ => return None,
            }
        }
        Some((stores, operations))
    }

    fn convert(
        &mut self,
        inst: Inst,
        cond: Value,
        then: Block,
        otherwise: Block,
        out: &mut Vec<Inst>,
    ) -> bool {
        let (Some((then_stores, a)), Some((otherwise_stores, b))) =
            (self.final_stores(then), self.final_stores(otherwise))
        else {
            // An arm has effects, or is too expensive to execute speculatively.
            return false;
        };
        let mut both: Vec<(Option<FinalStore>, Option<FinalStore>)> = Vec::new();
        for &store in &then_stores {
            let other = otherwise_stores.iter().find(|other| other.local == store.local);
            both.push((Some(store), other.copied()));
        }
        for &store in &otherwise_stores {
            if !then_stores.iter().any(|other| other.local == store.local) {
                both.push((None, Some(store)));
            }
        }
        let same_type = both.iter().all(|pair| match pair {
            (Some(a), Some(b)) => self.function.ty(a.value) == self.function.ty(b.value),
            _ => true,
        });
        if both.is_empty() || both.len() > MAX_STORES || a + b > MAX_SPECULATED || !same_type {
            return false;
        }
        for block in [then, otherwise] {
            for hoisted in std::mem::take(&mut self.function.blocks[block.index()].insts) {
                if !matches!(self.function.inst(hoisted).op, Op::Store { .. }) {
                    out.push(hoisted);
                }
            }
        }
        for (a, b) in both {
            self.emit_select(inst, cond, a, b, out);
        }
        true
    }

    /// Appends the select and the store of one variable.
    fn emit_select(
        &mut self,
        inst: Inst,
        cond: Value,
        a: Option<FinalStore>,
        b: Option<FinalStore>,
        out: &mut Vec<Inst>,
    ) {
        let FinalStore { local, ptr, align, .. } = a.or(b).expect("an arm stores to the variable");
        let mut arm = |store: Option<FinalStore>, other: Option<FinalStore>| match (store, other) {
            (Some(store), _) => store.value,
            // The arm leaves the variable as it is.
            (None, Some(other)) => {
                let ty = self.function.ty(other.value);
                self.value(inst, Op::Load { ptr, align, volatile: false }, ty, out)
            }
            (None, None) => unreachable!("neither arm stores to {local}"),
        };
        let (x, y) = (arm(a, b), arm(b, a));
        let ty = self.function.ty(x);
        assert_eq!(ty, self.function.ty(y), "both values of {local} have one type");
        let value = self.value(inst, Op::Select(cond, x, y), ty, out);
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let store = Op::Store { ptr, value, align, volatile: false };
        out.push(self.function.add_inst(store, None, fp, loc));
    }

    fn value(&mut self, inst: Inst, op: Op, ty: Type, out: &mut Vec<Inst>) -> Value {
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let new = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(new);
        self.function.result(new)
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
