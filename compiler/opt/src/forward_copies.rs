//! Passes variables themselves where a call takes copies of them, and results where they go.
//!
//! The front end copies what is passed by value, and assigns from where a result is returned. A copy that
//! only a call reads, which does not write it, is left out if the original does not change in between; so is
//! the place of a result that is only copied on. Works within blocks. Invariant: no pointer of a call that
//! the function called writes through is to the same variable as another pointer of it, unless it was before.

use anymetal_analysis::walk_insts;
use anymetal_ir::{Block, Function, Inst, Local, Op, Space, Type, Value, ValueDef};

/// What a pointer leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Local(Local),
    Param(u32),
}

/// Whether two pointers may be to the same variable. Parameters may be to the same.
fn may_alias(a: Option<Root>, b: Option<Root>) -> bool {
    match (a, b) {
        (Some(Root::Param(_)), Some(Root::Param(_))) | (None, _) | (_, None) => true,
        (a, b) => a == b,
    }
}

fn roots(function: &Function) -> Vec<Option<Root>> {
    let mut roots = vec![None; function.values.len()];
    for &param in &function.params {
        if let ValueDef::Param(number) = function.values[param.index()].def
            && is_private(function, param)
        {
            roots[param.index()] = Some(Root::Param(number));
        }
    }
    walk_insts(function, function.body, &mut |inst| {
        let root = match function.inst(inst).op {
            Op::LocalAddr(local) => Some(Root::Local(local)),
            Op::PtrAdd { base, .. } => roots[base.index()],
            _ => None,
        };
        if root.is_some() {
            roots[function.result(inst).index()] = root;
        }
    });
    roots
}

fn is_private(function: &Function, pointer: Value) -> bool {
    function.ty(pointer) == Type::Ptr(Space::Thread)
}

/// The parameters through which a function may write. `writes` says so of the functions that it calls.
pub(super) fn written_params(function: &Function, writes: &[Vec<bool>]) -> Vec<bool> {
    let roots = roots(function);
    let mut written = vec![false; function.params.len()];
    walk_insts(function, function.body, &mut |inst| {
        for pointer in written_pointers(&function.inst(inst).op, writes) {
            if let Some(Root::Param(param)) = roots[pointer.index()] {
                written[param as usize] = true;
            }
        }
    });
    written
}

/// The pointers that an operation writes through, nested ones apart.
fn written_pointers(op: &Op, writes: &[Vec<bool>]) -> Vec<Value> {
    match op {
        Op::Store { ptr, .. }
        | Op::AtomicStore(ptr, _)
        | Op::AtomicRmw(_, ptr, _)
        | Op::AtomicCas(ptr, ..) => {
            vec![*ptr]
        }
        Op::MemCopy { dst, .. } | Op::MemZero { dst, .. } => vec![*dst],
        Op::Call(callee, args) => {
            let writes = &writes[callee.index()];
            assert!(
                writes.is_empty() || writes.len() == args.len(),
                "one entry for each parameter of {callee}"
            );
            // Without entries the function has not been analysed: it may write through every argument.
            let is_written = |at: usize| writes.get(at).copied().unwrap_or(true);
            args.iter().enumerate().filter(|(at, _)| is_written(*at)).map(|(_, arg)| *arg).collect()
        }
        _ => Vec::new(),
    }
}

/// Forwards copies within one function; returns whether anything changed.
pub(super) fn forward_copies(function: &mut Function, writes: &[Vec<bool>]) -> bool {
    // A change leaves the other variables' numbers of uses as they were, and the temporary without any.
    let facts = Facts::new(function);
    let mut changed = false;
    for block in 0..function.blocks.len() {
        changed |= facts.block(function, Block(block as u32), writes);
    }
    changed
}

struct Facts {
    roots: Vec<Option<Root>>,
    /// How many instructions use a local's address or what is made of it, lifetimes apart.
    uses: Vec<u32>,
}

impl Facts {
    fn new(function: &Function) -> Self {
        let roots = roots(function);
        let mut uses = vec![0; function.locals.len()];
        walk_insts(function, function.body, &mut |inst| {
            function.inst(inst).op.for_each_operand(|value| {
                if let Some(Root::Local(local)) = roots[value.index()] {
                    uses[local.index()] += 1;
                }
            });
        });
        Self { roots, uses }
    }

    fn root(&self, pointer: Value) -> Option<Root> {
        self.roots[pointer.index()]
    }

    /// The local of that size that the pointer is to the first byte of, if it has no uses but two.
    fn temporary(&self, function: &Function, pointer: Value, size: u64) -> Option<Local> {
        match *function.def(pointer)? {
            Op::LocalAddr(local) => {
                let has_size = function.locals[local.index()].size == size;
                (has_size && self.uses[local.index()] == 2).then_some(local)
            }
            _ => None,
        }
    }

    /// The argument by which a call is given the local, and whether that is its first byte.
    fn passed(&self, function: &Function, args: &[Value], local: Local) -> Option<(usize, bool)> {
        let argument = args.iter().position(|arg| self.root(*arg) == Some(Root::Local(local)))?;
        Some((argument, function.def(args[argument]) == Some(&Op::LocalAddr(local))))
    }

    fn block(&self, function: &mut Function, block: Block, writes: &[Vec<bool>]) -> bool {
        let insts = function.block(block).to_vec();
        let mut removed = vec![false; insts.len()];
        for at in 0..insts.len() {
            let Op::MemCopy { dst, src, size, .. } = function.inst(insts[at]).op else { continue };
            if self.root(dst).is_none() || self.root(src).is_none() {
                continue;
            }
            let copy = Copy { at, dst, src, size };
            if let Some((call, argument)) = self.reader(function, &insts, &removed, copy, writes) {
                set_argument(function, insts[call], argument, src);
                removed[at] = true;
            } else if let Some((call, argument)) = self.writer(function, &insts, &removed, copy, writes) {
                set_argument(function, insts[call], argument, dst);
                removed[at] = true;
            }
        }
        if !removed.contains(&true) {
            return false;
        }
        assert!(
            insts.iter().zip(&removed).all(|(&inst, removed)| !removed || is_copy(&function.inst(inst).op)),
            "only copies are removed",
        );
        let kept = insts.iter().zip(&removed).filter(|(_, removed)| !**removed).map(|(inst, _)| *inst);
        function.blocks[block.index()].insts = kept.collect();
        true
    }

    /// The call that is the only one to read what was copied, and the argument.
    fn reader(
        &self,
        function: &Function,
        insts: &[Inst],
        removed: &[bool],
        copy: Copy,
        writes: &[Vec<bool>],
    ) -> Option<(usize, usize)> {
        let local = self.temporary(function, copy.dst, copy.size)?;
        let source = self.root(copy.src);
        for at in copy.at + 1..insts.len() {
            let op = &function.inst(insts[at]).op;
            if let Op::Call(_, args) = op
                && let Some((argument, first)) = self.passed(function, args, local)
            {
                let mut written = written_pointers(op, writes);
                written.retain(|pointer| is_private(function, *pointer));
                let is_written = written.iter().any(|pointer| may_alias(self.root(*pointer), source));
                let is_own = written.contains(&args[argument]);
                return (first && !is_written && !is_own).then_some((at, argument));
            }
            if !removed[at] && self.may_change(function, op, source, writes) {
                return None;
            }
        }
        None
    }

    /// The call that wrote what is copied, which nothing else reads, and the argument.
    fn writer(
        &self,
        function: &Function,
        insts: &[Inst],
        removed: &[bool],
        copy: Copy,
        writes: &[Vec<bool>],
    ) -> Option<(usize, usize)> {
        let local = self.temporary(function, copy.src, copy.size)?;
        let target = self.root(copy.dst);
        for at in (0..copy.at).rev() {
            if function.inst(insts[at]).result == Some(copy.dst) {
                return None;
            }
            let op = &function.inst(insts[at]).op;
            if let Op::Call(_, args) = op
                && let Some((argument, first)) = self.passed(function, args, local)
            {
                let others = args.iter().enumerate().filter(|(other, _)| *other != argument);
                let mut pointers = others.map(|(_, arg)| *arg).filter(|arg| function.ty(*arg).is_ptr());
                let is_free = pointers.all(|other| !may_alias(self.root(other), target));
                let is_visible = defined_before(function, insts, at, copy.dst);
                let writes_it = written_pointers(op, writes).contains(&args[argument]);
                return (first && is_free && is_visible && writes_it).then_some((at, argument));
            }
            if !removed[at] && (self.may_change(function, op, target, writes) || self.may_read(op, target)) {
                return None;
            }
        }
        None
    }

    /// Whether an operation may change a variable, or end the walk: control flow, lifetimes.
    fn may_change(&self, function: &Function, op: &Op, root: Option<Root>, writes: &[Vec<bool>]) -> bool {
        if !op.blocks().is_empty() || op.is_terminator() {
            return true;
        }
        match op {
            Op::LocalStart(local) => root == Some(Root::Local(*local)),
            op => {
                let written = written_pointers(op, writes);
                let mut written = written.iter().filter(|pointer| is_private(function, **pointer));
                written.any(|pointer| may_alias(self.root(*pointer), root))
            }
        }
    }

    fn may_read(&self, op: &Op, root: Option<Root>) -> bool {
        let mut reads = false;
        if !matches!(op, Op::PtrAdd { .. }) {
            op.for_each_operand(|value| reads |= self.root(value).is_some() && self.root(value) == root);
        }
        reads
    }
}

fn is_copy(op: &Op) -> bool {
    matches!(op, Op::MemCopy { .. })
}

/// A copy at a place in a block.
#[derive(Clone, Copy)]
struct Copy {
    at: usize,
    dst: Value,
    src: Value,
    size: u64,
}

/// Whether a value is defined before an instruction of a block: in it, or around it.
fn defined_before(function: &Function, insts: &[Inst], at: usize, value: Value) -> bool {
    match function.values[value.index()].def {
        ValueDef::Param(_) => true,
        ValueDef::Inst(def) | ValueDef::LoopParam(def, _) | ValueDef::Result(def, _) => {
            !insts[at..].contains(&def)
        }
    }
}

fn set_argument(function: &mut Function, call: Inst, argument: usize, value: Value) {
    let ty = function.ty(value);
    match function.inst(call).op.clone() {
        Op::Call(callee, mut args) => {
            assert_eq!(function.ty(args[argument]), ty, "argument {argument} of {callee} keeps its type");
            args[argument] = value;
            function.replace_op(call, Op::Call(callee, args));
        }
        op => unreachable!("{op:?} is not a call"),
    }
}
