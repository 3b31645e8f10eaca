//! Which variables are live where: a backward analysis over the structure.

use rustc_hash::FxHashMap;

use super::Numbers;
use anymetal_analysis::Variables;
use anymetal_ir::{Block, Function, Inst, Label, Op};

/// A set of promoted variables.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct LocalSet {
    words: Vec<u64>,
}

impl LocalSet {
    fn new(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)] }
    }

    fn insert(&mut self, variable: usize) {
        self.words[variable / 64] |= 1 << (variable % 64);
    }

    fn remove(&mut self, variable: usize) {
        self.words[variable / 64] &= !(1 << (variable % 64));
    }

    /// Adds all of another set; returns whether any was missing.
    fn extend(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            changed |= *other & !*word != 0;
            *word |= other;
        }
        changed
    }

    /// What is in both.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// The variables, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        })
    }
}

/// The facts of one construct.
#[derive(Clone, Default)]
struct Facts {
    written: LocalSet,
    after: LocalSet,
    /// Where each iteration of a loop begins.
    head: LocalSet,
}

/// The variables that are live after each construct and at the start of each loop, and those that each
/// construct writes.
pub(super) struct Liveness {
    facts: FxHashMap<Inst, Facts>,
}

impl Liveness {
    /// Analyses a function.
    pub(super) fn of(function: &Function, variables: &Variables, numbers: &Numbers) -> Self {
        let count = numbers.locals.len();
        let mut walk = Walk {
            function,
            variables,
            numbers,
            facts: FxHashMap::default(),
            breaks: FxHashMap::default(),
            continues: FxHashMap::default(),
        };
        walk.written(function.body, &mut LocalSet::new(count));
        walk.block(function.body, LocalSet::new(count));
        Liveness { facts: walk.facts }
    }

    /// The variables that are written in a construct, or whose lifetime begins in it.
    pub(super) fn written_in(&self, construct: Inst) -> LocalSet {
        self.facts[&construct].written.clone()
    }

    /// The variables that are live after a construct.
    pub(super) fn after(&self, construct: Inst) -> &LocalSet {
        &self.facts[&construct].after
    }

    /// The variables that are live at the start of a loop's iterations.
    pub(super) fn at_head(&self, construct: Inst) -> &LocalSet {
        &self.facts[&construct].head
    }
}

struct Walk<'a> {
    function: &'a Function,
    variables: &'a Variables,
    numbers: &'a Numbers,
    facts: FxHashMap<Inst, Facts>,
    /// What is live where the breaks of a label lead.
    breaks: FxHashMap<Label, LocalSet>,
    continues: FxHashMap<Label, LocalSet>,
}

impl Walk<'_> {
    /// Collects what a block writes, and each construct in it.
    fn written(&mut self, block: Block, all: &mut LocalSet) {
        let function = self.function;
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            if let Some(variable) = self.numbers.written(self.variables, op) {
                all.insert(variable);
            }
            let blocks = op.blocks();
            if blocks.is_empty() {
                continue;
            }
            let mut own = LocalSet::new(self.numbers.locals.len());
            for nested in blocks {
                self.written(nested, &mut own);
            }
            all.extend(&own);
            let head = LocalSet::new(self.numbers.locals.len());
            self.facts.insert(inst, Facts { written: own, after: head.clone(), head });
        }
    }

    /// Walks a block backwards, from what is live at its end to what is live at its start.
    fn block(&mut self, block: Block, mut live: LocalSet) -> LocalSet {
        let function = self.function;
        for &inst in function.block(block).iter().rev() {
            let op = &function.inst(inst).op;
            match op {
                Op::Load { ptr, .. } => {
                    if let Some(variable) = self.numbers.at(self.variables, *ptr) {
                        live.insert(variable);
                    }
                }
                Op::Break(label, _) => live.clone_from(&self.breaks[label]),
                Op::Continue(label, _) => live.clone_from(&self.continues[label]),
                Op::Return(_) => live = LocalSet::new(self.numbers.locals.len()),
                op if !op.blocks().is_empty() => live = self.construct(inst, live),
                op => {
                    if let Some(variable) = self.numbers.written(self.variables, op) {
                        live.remove(variable);
                    }
                }
            }
        }
        live
    }

    fn construct(&mut self, inst: Inst, after: LocalSet) -> LocalSet {
        let function = self.function;
        self.facts.get_mut(&inst).expect("all constructs were collected").after.extend(&after);
        match &function.inst(inst).op {
            &Op::Loop { label, body, continuing, .. } => {
                self.breaks.insert(label, after);
                self.endless(inst, label, body, continuing)
            }
            op => {
                if let Op::Switch { label, .. } | Op::Scope { label, .. } = op {
                    self.breaks.insert(*label, after.clone());
                }
                let mut before = LocalSet::new(self.numbers.locals.len());
                for nested in op.blocks() {
                    before.extend(&self.block(nested, after.clone()));
                }
                before
            }
        }
    }

    /// Walks a loop until what is live at its start does not grow. It begins with what an earlier walk, for
    /// an iteration of a loop around it, has found: nested loops are not walked exponentially often.
    fn endless(&mut self, inst: Inst, label: Label, body: Block, continuing: Block) -> LocalSet {
        loop {
            let head = self.facts[&inst].head.clone();
            // A loop with parameters continues at its start, where the continuing block is empty.
            let continued = self.block(continuing, head);
            self.continues.insert(label, continued.clone());
            let start = self.block(body, continued);
            let facts = self.facts.get_mut(&inst).expect("all constructs were collected");
            if !facts.head.extend(&start) {
                return start;
            }
        }
    }
}
