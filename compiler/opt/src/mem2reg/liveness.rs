//! Which variables are live where: a backward analysis over the structure.

use rustc_hash::FxHashMap;

use super::Numbers;
use anymetal_analysis::Variables;
use anymetal_ir::{Block, Function, Inst, Label, Op};

/// A set of promoted variables.
#[derive(Clone)]
struct LocalSet {
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

    fn contains(&self, variable: usize) -> bool {
        self.words[variable / 64] >> (variable % 64) & 1 == 1
    }

    fn extend(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }
}

/// What is known of a variable that a construct writes.
#[derive(Clone, Copy)]
struct Written {
    variable: usize,
    /// It is live after the construct.
    after: bool,
    /// It is live where each iteration of a loop begins.
    head: bool,
}

/// The variables that each construct writes, and whether they are live after it and at the start of a loop.
/// Its size is that of what [`super::within_budget`] counts.
pub(super) struct Liveness {
    facts: FxHashMap<Inst, Vec<Written>>,
}

impl Liveness {
    /// Analyses a function.
    pub(super) fn of(function: &Function, variables: &Variables, numbers: &Numbers) -> Self {
        let (facts, breaks, continues) = Default::default();
        let mut walk = Walk { function, variables, numbers, facts, breaks, continues };
        walk.written(function.body);
        walk.block(function.body, LocalSet::new(numbers.locals.len()));
        Liveness { facts: walk.facts }
    }

    /// The variables that are written in a construct, or whose lifetime begins in it.
    pub(super) fn written_in(&self, construct: Inst) -> impl Iterator<Item = usize> + '_ {
        self.facts[&construct].iter().map(|written| written.variable)
    }

    /// Those of them that are live after the construct.
    pub(super) fn live_after(&self, construct: Inst) -> impl Iterator<Item = usize> + '_ {
        self.facts[&construct].iter().filter(|written| written.after).map(|written| written.variable)
    }

    /// Those of them that are live at the start of a loop's iterations.
    pub(super) fn live_at_head(&self, construct: Inst) -> impl Iterator<Item = usize> + '_ {
        self.facts[&construct].iter().filter(|written| written.head).map(|written| written.variable)
    }
}

struct Walk<'a> {
    function: &'a Function,
    variables: &'a Variables,
    numbers: &'a Numbers,
    facts: FxHashMap<Inst, Vec<Written>>,
    /// What is live where the breaks of a label lead.
    breaks: FxHashMap<Label, LocalSet>,
    continues: FxHashMap<Label, LocalSet>,
}

impl Walk<'_> {
    /// Collects the variables that each construct of a block writes; returns those that the block writes.
    fn written(&mut self, block: Block) -> Vec<usize> {
        let function = self.function;
        let mut all = Vec::new();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            all.extend(self.numbers.written(self.variables, op));
            let blocks = op.blocks();
            if !blocks.is_empty() {
                let mut own: Vec<usize> =
                    blocks.into_iter().flat_map(|nested| self.written(nested)).collect();
                own.sort_unstable();
                own.dedup();
                all.extend(&own);
                let written = |variable| Written { variable, after: false, head: false };
                self.facts.insert(inst, own.into_iter().map(written).collect());
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    fn facts(&mut self, construct: Inst) -> &mut Vec<Written> {
        self.facts.get_mut(&construct).expect("all constructs were collected")
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
        for written in self.facts(inst) {
            written.after |= after.contains(written.variable);
        }
        match &function.inst(inst).op {
            &Op::Loop { label, body, continuing, .. } => {
                self.breaks.insert(label, after.clone());
                let before = self.endless(inst, &after, label, body, continuing);
                self.breaks.remove(&label);
                self.continues.remove(&label);
                before
            }
            op => {
                let label = op.label();
                self.breaks.extend(label.map(|label| (label, after.clone())));
                let mut before = LocalSet::new(self.numbers.locals.len());
                for nested in op.blocks() {
                    before.extend(&self.block(nested, after.clone()));
                }
                label.and_then(|label| self.breaks.remove(&label));
                before
            }
        }
    }

    /// Walks a loop until no more of the variables that it writes are live at its start. It begins with those
    /// that an earlier walk, for an iteration of a loop around it, has found: nested loops are not walked
    /// exponentially often. Other variables are live throughout the loop if they are live at the start of the
    /// first walk.
    fn endless(
        &mut self,
        inst: Inst,
        after: &LocalSet,
        label: Label,
        body: Block,
        continuing: Block,
    ) -> LocalSet {
        let mut head = LocalSet::new(after.words.len() * 64);
        for written in self.facts(inst) {
            if written.head {
                head.insert(written.variable);
            }
        }
        loop {
            // A loop with parameters continues at its start, where the continuing block is empty.
            let continued = self.block(continuing, head.clone());
            self.continues.insert(label, continued.clone());
            let start = self.block(body, continued);
            let mut grew = false;
            for written in self.facts(inst) {
                let is_new = start.contains(written.variable) && !written.head;
                written.head |= is_new;
                grew |= is_new;
            }
            head.extend(&start);
            if !grew {
                return start;
            }
        }
    }
}
