//! Promotes locals to values by store-to-load forwarding: `mem2reg` without phis, for structured control
//! flow.
//!
//! In textual order, the pass tracks the value that each variable (see [`Variables`]) has on every path to
//! the current position; a load of such a variable is replaced by that value. There are no phis: after an
//! `if` whose branches store different values, and after any construct that can be left in several ways and
//! writes the variable, its contents are unknown until the next store or load. At a loop's entry everything
//! written in the loop is unknown. Stores that are no longer read are left to [`super::dce`].

use super::substitution::Substitution;
use anymetal_analysis::Variables;
use anymetal_ir::{Block, CastOp, Function, Inst, Local, Op, Scalar, Type, Value};

/// Forwards within one function; returns whether anything changed.
pub fn mem2reg(function: &mut Function) -> bool {
    let variables = Variables::of(function);
    let order = Order::new(function, &variables);
    let mut visible = vec![false; function.values.len()];
    for param in &function.params {
        visible[param.index()] = true;
    }
    let mut forwarder = Mem2Reg {
        order,
        contents: vec![Contents::Unknown; function.locals.len()],
        variables,
        log: Vec::new(),
        visible,
        substitution: Substitution::default(),
        changed: false,
        function,
    };
    let body = forwarder.function.body;
    forwarder.block(body);
    debug_assert_eq!(
        forwarder.visible.iter().filter(|visible| **visible).count(),
        forwarder.function.params.len(),
        "only parameters are visible outside of the body",
    );
    forwarder.changed
}

/// Textual positions, to look up the variables that a construct writes.
struct Order {
    /// Position of each instruction, and the position after its last nested one.
    range: Vec<(u32, u32)>,
    /// Writes of variables by position, in order.
    writes: Vec<(u32, Local)>,
}

impl Order {
    fn new(function: &Function, variables: &Variables) -> Self {
        let mut order = Self { range: vec![(0, 0); function.insts.len()], writes: Vec::new() };
        let mut position = 0;
        order.number(function, variables, function.body, &mut position);
        debug_assert!(order.writes.is_sorted_by_key(|&(at, _)| at), "`written_in` searches by position");
        order
    }

    fn number(&mut self, function: &Function, variables: &Variables, block: Block, position: &mut u32) {
        for &inst in function.block(block) {
            let start = *position;
            *position += 1;
            let written = match &function.inst(inst).op {
                Op::Store { ptr, .. } => variables.at(*ptr),
                Op::LocalStart(local) => Some(*local).filter(|local| variables.is_variable[local.index()]),
                op => {
                    for nested in op.blocks() {
                        self.number(function, variables, nested, position);
                    }
                    None
                }
            };
            if let Some(local) = written {
                self.writes.push((start, local));
            }
            self.range[inst.index()] = (start, *position);
        }
    }

    fn written_in(&self, inst: Inst) -> Vec<Local> {
        let (start, end) = self.range[inst.index()];
        let first = self.writes.partition_point(|&(at, _)| at < start);
        self.writes[first..].iter().take_while(|&&(at, _)| at < end).map(|&(_, local)| local).collect()
    }
}

/// The known contents of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contents {
    Unknown,
    /// Nothing was stored since its lifetime began.
    Undefined,
    Value(Value),
}

struct Mem2Reg<'a> {
    function: &'a mut Function,
    variables: Variables,
    order: Order,
    contents: Vec<Contents>,
    /// Earlier contents, to restore the state before a construct.
    log: Vec<(Local, Contents)>,
    /// Whether each value is defined at the current position.
    visible: Vec<bool>,
    substitution: Substitution,
    changed: bool,
}

impl Mem2Reg<'_> {
    fn set(&mut self, local: Local, contents: Contents) {
        assert!(
            self.variables.is_variable[local.index()],
            "{local} is not a variable, its contents may change unseen"
        );
        let old = std::mem::replace(&mut self.contents[local.index()], contents);
        if old != contents {
            self.log.push((local, old));
        }
    }

    fn go_back(&mut self, mark: usize) {
        assert!(mark <= self.log.len(), "changes before the mark were undone already");
        for (local, old) in self.log.drain(mark..).rev() {
            self.contents[local.index()] = old;
        }
    }

    /// Restores the state at `mark`; returns the contents of each variable that had changed since.
    fn undo(&mut self, mark: usize) -> Vec<(Local, Contents)> {
        let mut locals: Vec<Local> = self.log[mark..].iter().map(|&(local, _)| local).collect();
        locals.sort_unstable();
        locals.dedup();
        let changed = locals.into_iter().map(|local| (local, self.contents[local.index()])).collect();
        self.go_back(mark);
        changed
    }

    /// Walks a block; returns whether control may reach its end. Values defined in it are not
    /// visible afterwards.
    fn block(&mut self, block: Block) -> bool {
        let mut falls_through = true;
        let insts = self.function.blocks[block.index()].insts.clone();
        let mut kept = Vec::with_capacity(insts.len());
        for &inst in &insts {
            self.substitution.apply(&mut self.function.insts[inst.index()].op);
            let data = self.function.inst(inst);
            let stays = match &data.op {
                &Op::Load { ptr, .. } => !self.load(inst, ptr),
                &Op::Store { ptr, value, .. } => {
                    if let Some(local) = self.variables.at(ptr) {
                        self.set(local, Contents::Value(value));
                    }
                    true
                }
                &Op::LocalStart(local) => {
                    let variable = self.variables.is_variable[local.index()];
                    let fresh = variable && self.contents[local.index()] == Contents::Undefined;
                    if variable {
                        self.set(local, Contents::Undefined);
                    }
                    self.changed |= fresh;
                    !fresh
                }
                &Op::If { then, otherwise, .. } => {
                    falls_through = self.branch(then, otherwise);
                    true
                }
                op if op.is_terminator() => {
                    falls_through = false;
                    true
                }
                op => {
                    let blocks = op.blocks();
                    if !blocks.is_empty() {
                        self.region(inst, &blocks);
                    }
                    true
                }
            };
            if stays {
                kept.push(inst);
                if let Some(result) = self.function.inst(inst).result {
                    self.visible[result.index()] = true;
                }
            }
        }
        for &inst in &kept {
            if let Some(result) = self.function.inst(inst).result {
                self.visible[result.index()] = false;
            }
        }
        self.function.blocks[block.index()].insts = kept;
        falls_through
    }

    /// Returns whether the load is replaced by a value.
    fn load(&mut self, inst: Inst, ptr: Value) -> bool {
        let Some(local) = self.variables.at(ptr) else {
            // What this memory contains is not tracked.
            return false;
        };
        let result = self.function.result(inst);
        let ty = self.function.ty(result);
        match self.contents[local.index()] {
            Contents::Unknown => self.set(local, Contents::Value(result)),
            Contents::Undefined => {
                self.function.replace_op(inst, Op::Undef);
                self.set(local, Contents::Value(result));
                self.changed = true;
            }
            Contents::Value(value) if self.function.ty(value) == ty => {
                self.substitution.replace(self.function, result, value);
                self.changed = true;
                return true;
            }
            Contents::Value(value) if can_bitcast(self.function.ty(value), ty) => {
                self.function.replace_op(inst, Op::Cast(CastOp::Bitcast, value));
                self.changed = true;
            }
            Contents::Value(_) => {}
        }
        false
    }

    fn branch(&mut self, then: Block, otherwise: Block) -> bool {
        let mark = self.log.len();
        let then_goes_on = self.block(then);
        let after_then = self.undo(mark);
        let otherwise_goes_on = self.block(otherwise);
        let after_otherwise = self.undo(mark);
        match (then_goes_on, otherwise_goes_on) {
            (true, true) => self.join(after_then, &after_otherwise),
            (true, false) => self.adopt(after_then),
            _ => self.adopt(after_otherwise),
        }
        then_goes_on || otherwise_goes_on
    }

    /// The state after the only branch that reaches the end.
    fn adopt(&mut self, after: Vec<(Local, Contents)>) {
        for (local, contents) in after {
            let contents = self.still_visible(contents);
            self.set(local, contents);
        }
    }

    /// Both lists are sorted by local; one that is missing did not change.
    fn join(&mut self, after_then: Vec<(Local, Contents)>, after_otherwise: &[(Local, Contents)]) {
        let find = |list: &[(Local, Contents)], local: Local| {
            list.binary_search_by_key(&local, |&(local, _)| local).ok().map(|n| list[n].1)
        };
        let sorted = |list: &[(Local, Contents)]| list.is_sorted_by(|a, b| a.0 < b.0);
        debug_assert!(sorted(&after_then) && sorted(after_otherwise), "`find` searches by local");
        let mut locals: Vec<Local> =
            after_then.iter().chain(after_otherwise).map(|&(local, _)| local).collect();
        locals.sort_unstable();
        locals.dedup();
        for local in locals {
            let before = self.contents[local.index()];
            let a = self.still_visible(find(&after_then, local).unwrap_or(before));
            let b = self.still_visible(find(after_otherwise, local).unwrap_or(before));
            let joined = match (a, b) {
                (a, b) if a == b => a,
                // An undefined variable may have any value: the one that the other branch stored.
                (Contents::Undefined, Contents::Value(_)) => b,
                (Contents::Value(_), Contents::Undefined) => a,
                _ => Contents::Unknown,
            };
            self.set(local, joined);
        }
    }

    fn still_visible(&self, contents: Contents) -> Contents {
        match contents {
            Contents::Value(value) if !self.visible[value.index()] => Contents::Unknown,
            other => other,
        }
    }

    /// A loop, switch or scope: what it writes is unknown at the entry of a loop's blocks, and
    /// after it.
    fn region(&mut self, inst: Inst, blocks: &[Block]) {
        let written = self.order.written_in(inst);
        let is_loop = matches!(self.function.inst(inst).op, Op::Loop { .. });
        let mark = self.log.len();
        for &block in blocks {
            if is_loop {
                for &local in &written {
                    self.set(local, Contents::Unknown);
                }
            }
            self.block(block);
            self.go_back(mark);
        }
        for &local in &written {
            self.set(local, Contents::Unknown);
        }
    }
}

fn can_bitcast(from: Type, to: Type) -> bool {
    let plain = |ty: Type| ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    plain(from) && plain(to) && from.size() == to.size()
}
