//! Demotes loop parameters and results of constructs to private variables, as LLVM's `reg2mem` demotes phi
//! nodes: for the CPU's code generator, which knows variables only.
//!
//! Each jump stores what it passes, and each parameter and result is loaded where it is used. Before its
//! variable gets another value it is loaded once more if later instructions use it. So values that are passed
//! on to each other share a variable, whatever their live ranges are; only parameters of one loop, and
//! results of one construct, never do.
//!
//! A variable that [`super::mem2reg`] has promoted becomes one variable again in most cases, with the
//! accesses that the program had. A value is stored where it is computed rather than at the jump if nothing
//! in between needs the variable, and a jump does not store a value that the variable contains already:
//! keeping a value across a barrier costs code generators more than keeping it in a variable.

mod classes;

use rustc_hash::FxHashMap;

use anymetal_analysis::{IncomingValues, use_counts};
use anymetal_ir::{Block, FpMode, Function, Inst, Label, Loc, Local, Op, Space, Type, Value, ValueDef};
use classes::Classes;

/// Demotes the parameters and results of a function. Returns these values, each with the loads that take its
/// place; `None` if there were no such values.
pub fn reg2mem(function: &mut Function) -> Option<Vec<(Value, Value)>> {
    let jumps = IncomingValues::of(function);
    if jumps.is_empty() {
        return None;
    }
    let classes = Classes::of(function, &jumps);
    let mut demoter = Demoter {
        variables: Vec::new(),
        contents: vec![None; classes.count()],
        constructs: vec![0; classes.count()],
        log: Vec::new(),
        loaded: FxHashMap::default(),
        loads: Vec::new(),
        all_loads: Vec::new(),
        uses: use_counts(function),
        classes,
        function,
    };
    let entry = demoter.add_variables();
    let body = demoter.function.body;
    demoter.block(body, &[]);
    debug_assert!(demoter.uses.iter().all(|&uses| uses == 0), "the walk has met every use");
    demoter.function.blocks[body.index()].insts.splice(0..0, entry);
    let loads = demoter.all_loads;
    function.variable_names.clear();
    function.values.iter_mut().for_each(|value| value.variable = 0);
    Some(loads)
}

/// The variable of a class.
#[derive(Clone, Copy)]
struct Variable {
    local: Local,
    ptr: Value,
    ty: Type,
    align: u32,
}

struct Demoter<'a> {
    function: &'a mut Function,
    classes: Classes,
    /// By class.
    variables: Vec<Variable>,
    /// The value that the variable of each class is known to contain.
    contents: Vec<Option<Value>>,
    /// The number of constructs around the current position that have a parameter or result of each class.
    constructs: Vec<u32>,
    /// Earlier contents, to restore the state before a block.
    log: Vec<(usize, Option<Value>)>,
    /// The loads of parameters and results that are visible here, and their order.
    loaded: FxHashMap<Value, Value>,
    loads: Vec<Value>,
    /// All loads, each after the parameter or result.
    all_loads: Vec<(Value, Value)>,
    /// How often each value is used from here on, in textual order.
    uses: Vec<u32>,
}

/// A position in [`Demoter::log`] and [`Demoter::loads`].
type Mark = (usize, usize);

impl Demoter<'_> {
    /// Adds a variable for each class; returns the instructions that the function begins with.
    fn add_variables(&mut self) -> Vec<Inst> {
        let mut entry = Vec::new();
        for class in 0..self.classes.count() {
            let representative = self.classes.representative(class);
            let ty = self.function.ty(representative);
            // The smallest power of two that holds the value is an alignment that suits it.
            let align = ty.size().next_power_of_two();
            let name = self.function.variable_name(representative).unwrap_or("carried").to_owned();
            let local = self.function.add_local(name, u64::from(ty.size()), align);
            let addr = Op::LocalAddr(local);
            let addr = self.function.add_inst(
                addr,
                Some(Type::Ptr(Space::Thread)),
                FpMode::default(),
                Loc::default(),
            );
            entry.push(addr);
            let ptr = self.function.result(addr);
            self.variables.push(Variable { local, ptr, ty, align });
        }
        entry
    }

    fn add(&mut self, op: Op, ty: Option<Type>, like: Inst) -> Inst {
        let (fp, loc) = (self.function.inst(like).fp, self.function.inst(like).loc);
        self.function.add_inst(op, ty, fp, loc)
    }

    fn set(&mut self, class: usize, value: Option<Value>) {
        let old = std::mem::replace(&mut self.contents[class], value);
        self.log.push((class, old));
    }

    fn mark(&self) -> Mark {
        (self.log.len(), self.loads.len())
    }

    fn restore(&mut self, (log, loads): Mark) {
        for (class, old) in self.log.drain(log..).rev() {
            self.contents[class] = old;
        }
        for value in self.loads.drain(loads..) {
            self.loaded.remove(&value);
        }
    }

    /// Walks a block, whose yield passes values to `results`. Restores the knowledge of the variables'
    /// contents at its end.
    fn block(&mut self, block: Block, results: &[Value]) {
        let mark = self.mark();
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let early = self.early_stores(&insts, results);
        let mut out = Vec::with_capacity(insts.len());
        for &inst in &insts {
            let op = self.function.inst(inst).op.clone();
            if op.blocks().is_empty() {
                let targets = self.classes.targets(&op, results);
                self.pass(op.passed(), &targets, inst, &mut out);
                self.plain(inst, &op, &mut out);
            } else {
                self.construct(inst, &op, &mut out);
            }
            for &(class, value) in early.get(&inst).into_iter().flatten() {
                self.store_early(class, value, inst, &mut out);
            }
        }
        self.function.blocks[block.index()].insts = out;
        self.restore(mark);
    }

    /// The values that the last jump of a block passes, by the instruction that defines them, if nothing
    /// between these two needs the variable.
    fn early_stores(&self, insts: &[Inst], results: &[Value]) -> FxHashMap<Inst, Vec<(usize, Value)>> {
        let mut early: FxHashMap<Inst, Vec<(usize, Value)>> = FxHashMap::default();
        let Some((&last, before)) = insts.split_last() else {
            // The block is empty.
            return early;
        };
        let op = &self.function.inst(last).op;
        let targets = self.classes.targets(op, results);
        let classes = targets.iter().map(|&target| self.classes.of_value(target));
        let mut wanted: FxHashMap<Inst, Vec<(usize, Value)>> = FxHashMap::default();
        for (class, &value) in classes.zip(op.passed()) {
            if let ValueDef::Inst(inst) | ValueDef::Result(inst, _) = self.function.values[value.index()].def
            {
                wanted.entry(inst).or_default().push((class, value));
            }
        }
        let mut touched = vec![false; self.classes.count()];
        for &inst in before.iter().rev() {
            if let Some(mut stores) = wanted.remove(&inst) {
                stores.retain(|&(class, _)| !touched[class]);
                early.insert(inst, stores);
            }
            self.classes.touched_in(inst).iter().for_each(|&class| touched[class] = true);
        }
        early
    }

    /// Stores a value that is passed later, unless the variable's value is still used.
    fn store_early(&mut self, class: usize, value: Value, inst: Inst, out: &mut Vec<Inst>) {
        let is_used = |value: Value| self.uses[value.index()] > 0 && !self.loaded.contains_key(&value);
        if !self.contents[class].is_some_and(|value| self.classes.has(value) && is_used(value)) {
            self.store(class, value, inst, out);
        }
    }

    /// Stores the values that a jump passes.
    fn pass(&mut self, values: &[Value], targets: &[Value], jump: Inst, out: &mut Vec<Inst>) {
        assert_eq!(values.len(), targets.len(), "{jump} passes a value for each parameter or result");
        // All are loaded before the first store.
        let classes = targets.iter().map(|&target| self.classes.of_value(target));
        let mut stored: Vec<(usize, Value)> = classes.zip(values.iter().copied()).collect();
        stored.sort_unstable();
        stored.retain(|&(class, value)| self.contents[class] != Some(value));
        for &value in values {
            self.count_use(value);
        }
        let stored: Vec<(usize, Value)> =
            stored.into_iter().map(|(class, value)| (class, self.operand(value, jump, out))).collect();
        for (class, value) in stored {
            self.store(class, value, jump, out);
        }
    }

    fn count_use(&mut self, value: Value) {
        let uses = &mut self.uses[value.index()];
        *uses = uses.checked_sub(1).expect("no use is met that was not counted");
    }

    fn store(&mut self, class: usize, value: Value, like: Inst, out: &mut Vec<Inst>) {
        if self.contents[class] == Some(value) {
            return;
        }
        self.keep(class, like, out);
        let Variable { ptr, align, .. } = self.variables[class];
        let stored = self.operand(value, like, out);
        out.push(self.add(Op::Store { ptr, value: stored, align, volatile: false }, None, like));
        self.set(class, Some(value));
    }

    /// Loads the value of a variable that is about to change, if it is used later.
    fn keep(&mut self, class: usize, like: Inst, out: &mut Vec<Inst>) {
        if let Some(value) = self.contents[class]
            && self.classes.has(value)
            && self.uses[value.index()] > 0
        {
            self.operand(value, like, out);
        }
    }

    /// The value to use for an operand: the load of a parameter or result.
    fn operand(&mut self, value: Value, like: Inst, out: &mut Vec<Inst>) -> Value {
        if !self.classes.has(value) {
            return value;
        }
        if let Some(&loaded) = self.loaded.get(&value) {
            return loaded;
        }
        let class = self.classes.of_value(value);
        assert_eq!(self.contents[class], Some(value), "a value is loaded while its variable has it");
        let Variable { ptr, align, ty, .. } = self.variables[class];
        let load = self.add(Op::Load { ptr, align, volatile: false }, Some(ty), like);
        out.push(load);
        let loaded = self.function.result(load);
        self.loaded.insert(value, loaded);
        self.loads.push(value);
        self.all_loads.push((value, loaded));
        loaded
    }

    /// Replaces the operands that an instruction does not pass on.
    fn plain(&mut self, inst: Inst, op: &Op, out: &mut Vec<Inst>) {
        let mut op = match op {
            Op::Yield(_) => return,
            Op::Break(label, _) => Op::break_(*label),
            Op::Continue(label, _) => Op::continue_(*label),
            op => op.clone(),
        };
        let mut operands = Vec::new();
        op.for_each_operand(|value| operands.push(value));
        operands.iter().for_each(|&value| self.count_use(value));
        let mut replaced =
            operands.into_iter().map(|value| self.operand(value, inst, out)).collect::<Vec<_>>();
        replaced.reverse();
        op.for_each_operand_mut(|value| *value = replaced.pop().expect("there is one for each operand"));
        self.function.replace_op(inst, op);
        out.push(inst);
    }

    fn construct(&mut self, inst: Inst, op: &Op, out: &mut Vec<Inst>) {
        let (params, results) = (op.params().to_vec(), op.results().to_vec());
        let mut own: Vec<usize> =
            params.iter().chain(&results).map(|&value| self.classes.of_value(value)).collect();
        own.sort_unstable();
        own.dedup();
        for &class in &own {
            if self.constructs[class] == 0 && self.contents[class].is_none() {
                out.push(self.add(Op::LocalStart(self.variables[class].local), None, inst));
            }
            self.constructs[class] += 1;
        }
        let mut bare = match op {
            &Op::Loop { label, ref inits, body, continuing, .. } => {
                self.pass(inits, &params, inst, out);
                Op::endless(label, body, continuing)
            }
            &Op::If { cond, then, otherwise, .. } => Op::branch(cond, then, otherwise),
            &Op::Scope { label, body, .. } => Op::scope(label, body),
            Op::Switch { label, selector, cases, default, .. } => {
                Op::switch(*label, *selector, cases.clone(), *default)
            }
            _ => unreachable!("{op:?} is not a construct"),
        };
        if let Op::If { cond: operand, .. } | Op::Switch { selector: operand, .. } = &mut bare {
            self.count_use(*operand);
            *operand = self.operand(*operand, inst, out);
        }
        let changed = self.classes.changed_by(inst).to_vec();
        changed.iter().for_each(|&class| self.keep(class, inst, out));
        let mark = self.mark();
        if matches!(op, Op::Loop { .. }) {
            // Later iterations find the values that earlier iterations have stored.
            changed.iter().for_each(|&class| self.set(class, None));
            for &param in &params {
                self.set(self.classes.of_value(param), Some(param));
            }
        }
        for block in op.blocks() {
            self.block(block, &results);
        }
        self.restore(mark);
        changed.iter().for_each(|&class| self.set(class, None));
        for &result in &results {
            self.set(self.classes.of_value(result), Some(result));
        }
        own.iter().for_each(|&class| self.constructs[class] -= 1);
        if let Op::Loop { label, body, .. } = bare {
            self.drop_last_continue(body, label);
        }
        self.function.replace_op(inst, bare);
        out.push(inst);
    }

    /// Removes a continue at the end of a body, where the next iteration begins in any case.
    fn drop_last_continue(&mut self, body: Block, label: Label) {
        let function = &mut *self.function;
        let insts = &mut function.blocks[body.index()].insts;
        insts.pop_if(|last| function.insts[last.index()].op == Op::continue_(label));
    }
}
