//! Turns small branches into choices: `if (c) x = a; else x = b;` becomes `x = c ? a : b`.
//!
//! Both branches may hold only cheap operations without effect, and stores to variables (as
//! [`super::mem2reg`] knows them) of anything but pointers. Afterwards lanes do not diverge there,
//! and the value is known to what follows.

use super::mem2reg::variables;
use crate::analysis::{LocalPointers, local_pointers};
use crate::{BinOp, Block, Function, Inst, Local, MathFn, Op, Type, Value};

/// Operations that both branches together may add to the path of those that took the other one.
const MAX_OPERATIONS: usize = 10;

/// Variables that the branches together may write.
const MAX_STORES: usize = 4;

/// Rewrites one function; returns whether anything changed.
pub fn if_convert(function: &mut Function) -> bool {
    let pointers = local_pointers(function);
    let variables = variables(function, &pointers);
    let mut chooser = Chooser { function, pointers, variables, changed: false };
    let body = chooser.function.body;
    chooser.block(body);
    chooser.changed
}

/// A store that a branch ends with, in effect.
#[derive(Clone, Copy)]
struct Written {
    local: Local,
    ptr: Value,
    value: Value,
    align: u32,
}

struct Chooser<'a> {
    function: &'a mut Function,
    pointers: LocalPointers,
    variables: Vec<bool>,
    changed: bool,
}

impl Chooser<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            let converted = match self.function.inst(inst).op {
                Op::If { cond, then, otherwise } => self.convert(inst, cond, then, otherwise, &mut out),
                _ => false,
            };
            if !converted {
                out.push(inst);
            }
            self.changed |= converted;
        }
        self.function.blocks[block.index()].insts = out;
    }

    fn variable(&self, ptr: Value) -> Option<Local> {
        let (local, _) = self.pointers.get(ptr.index()).copied().flatten()?;
        self.variables[local.index()].then_some(local)
    }

    /// The stores of a branch that qualifies, last ones only, and how many operations it has.
    fn writes(&self, block: Block) -> Option<(Vec<Written>, usize)> {
        let mut written: Vec<Written> = Vec::new();
        let mut operations = 0;
        for &inst in self.function.block(block) {
            match &self.function.inst(inst).op {
                &Op::Store { ptr, value, align, volatile: false } => {
                    let local = self.variable(ptr)?;
                    if self.function.ty(value).is_ptr() {
                        return None;
                    }
                    written.retain(|other| other.local != local);
                    written.push(Written { local, ptr, value, align });
                }
                // A load reads what was there before the branch only if nothing was stored yet.
                &Op::Load { ptr, volatile: false, .. } => {
                    let local = self.variable(ptr)?;
                    if written.iter().any(|other| other.local == local) {
                        return None;
                    }
                    operations += 1;
                }
                Op::Const(_) | Op::Undef | Op::LocalAddr(_) => {}
                op if is_cheap(self.function, op) => operations += 1,
                _ => return None,
            }
        }
        Some((written, operations))
    }

    fn convert(
        &mut self,
        inst: Inst,
        cond: Value,
        then: Block,
        otherwise: Block,
        out: &mut Vec<Inst>,
    ) -> bool {
        let (Some((then_writes, a)), Some((otherwise_writes, b))) =
            (self.writes(then), self.writes(otherwise))
        else {
            return false;
        };
        let mut both: Vec<(Option<Written>, Option<Written>)> = Vec::new();
        for &written in &then_writes {
            let other = otherwise_writes.iter().find(|other| other.local == written.local);
            both.push((Some(written), other.copied()));
        }
        for &written in &otherwise_writes {
            if !then_writes.iter().any(|other| other.local == written.local) {
                both.push((None, Some(written)));
            }
        }
        let same_type = both.iter().all(|pair| match pair {
            (Some(a), Some(b)) => self.function.ty(a.value) == self.function.ty(b.value),
            _ => true,
        });
        if both.is_empty() || both.len() > MAX_STORES || a + b > MAX_OPERATIONS || !same_type {
            return false;
        }
        for block in [then, otherwise] {
            for moved in std::mem::take(&mut self.function.blocks[block.index()].insts) {
                if !matches!(self.function.inst(moved).op, Op::Store { .. }) {
                    out.push(moved);
                }
            }
        }
        for (a, b) in both {
            self.choice(inst, cond, a, b, out);
        }
        true
    }

    /// Appends the choice and the store of one variable.
    fn choice(
        &mut self,
        inst: Inst,
        cond: Value,
        a: Option<Written>,
        b: Option<Written>,
        out: &mut Vec<Inst>,
    ) {
        let Some(some) = a.or(b) else { return };
        let ty = self.function.ty(some.value);
        let old = match (a, b) {
            (Some(_), Some(_)) => None,
            _ => self.value(inst, Op::Load { ptr: some.ptr, align: some.align, volatile: false }, ty, out),
        };
        let (Some(x), Some(y)) = (a.map(|w| w.value).or(old), b.map(|w| w.value).or(old)) else { return };
        let Some(value) = self.value(inst, Op::Select(cond, x, y), ty, out) else { return };
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let store = Op::Store { ptr: some.ptr, value, align: some.align, volatile: false };
        out.push(self.function.add_inst(store, None, fp, loc));
    }

    fn value(&mut self, inst: Inst, op: Op, ty: Type, out: &mut Vec<Inst>) -> Option<Value> {
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let new = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(new);
        self.function.inst(new).result
    }
}

/// Whether doing it in vain costs little.
fn is_cheap(function: &Function, op: &Op) -> bool {
    match op {
        // Mostly done as a multiplication.
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
