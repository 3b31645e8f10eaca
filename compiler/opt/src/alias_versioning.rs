//! Versions loops for arguments that do not overlap, as LLVM's `LoopVersioning` does with the run-time checks
//! of `LoopAccessAnalysis`.
//!
//! `for (k…) c[i] += a[i * n + k] * b[k]` loads and stores `c[i]` in each iteration, because the buffers of
//! three arguments may overlap. Such a loop becomes
//! `if disjoint(c, a) && disjoint(c, b) { copy } else { loop }`, and `promote_loop_accesses` promotes `c[i]`
//! in the copy. It derives from the branch around the loop which arguments are disjoint.
//!
//! A loop is versioned if promotion has a plan for it under the assumption that arguments are disjoint. The
//! outermost such loop of a nest is versioned for all loops in it. Only arguments of the kernel are compared;
//! a pointer that is loaded may point into any buffer.

use super::copy::Cloner;
use super::limits::{MAX_ALIAS_TESTS, MAX_ALIAS_VERSION_GROWTH, MAX_ALIAS_VERSION_SIZE};
use super::promote_loop_accesses::aliasing::{ArgumentPair, add_disjoint_pairs};
use super::promote_loop_accesses::{Conditions, Planner};
use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_analysis::{nesting, walk_insts};
use anymetal_ir::{BinOp, Block, CmpOp, FpMode, Function, Inst, Loc, MAX_NESTING, Op, Type, Value, Values};
use rustc_hash::FxHashMap;

/// Versions loops of one function; returns whether there were any.
pub fn alias_versioning(function: &mut Function) -> bool {
    if nesting(function) >= MAX_NESTING {
        // No room for a branch around the innermost loop.
        return false;
    }
    let mut search = Search {
        function,
        planner: Planner::new(function),
        room: MAX_ALIAS_VERSION_GROWTH,
        versions: FxHashMap::default(),
    };
    search.block(function.body);
    let versions = search.versions;
    if versions.is_empty() {
        // No loop gains.
        return false;
    }
    let mut versioner = Versioner { function, versions };
    rewrite_blocks(&mut versioner);
    assert!(versioner.versions.is_empty(), "every loop to version is in the function's body");
    true
}

/// Finds the loops to version.
struct Search<'a> {
    function: &'a Function,
    planner: Planner<'a>,
    /// Number of instructions that may still be added.
    room: usize,
    /// The arguments that have to be disjoint.
    versions: FxHashMap<Inst, Vec<ArgumentPair>>,
}

impl Search<'_> {
    fn block(&mut self, block: Block) {
        for &inst in self.function.block(block) {
            let op = &self.function.inst(inst).op;
            if !self.version(inst) && !self.is_version(op) {
                op.blocks().into_iter().for_each(|nested| self.block(nested));
            }
        }
    }

    /// Whether it is the branch around two versions.
    fn is_version(&self, op: &Op) -> bool {
        let mut tested = Vec::new();
        if let Op::If { cond, .. } = *op {
            add_disjoint_pairs(self.function, cond, &mut tested);
        }
        !tested.is_empty()
    }

    /// Decides on one loop; returns whether it is versioned.
    fn version(&mut self, inst: Inst) -> bool {
        let Some((_, body, _)) = self.function.as_loop(inst) else {
            // Another instruction.
            return false;
        };
        let Some(plan) = self.planner.plan(inst, &[], Conditions::Tested) else {
            // Nothing can be promoted in this loop.
            return false;
        };
        let mut size = 1;
        walk_insts(self.function, body, &mut |_| size += 1);
        if size > self.room.min(MAX_ALIAS_VERSION_SIZE) || plan.under.len() > MAX_ALIAS_TESTS {
            // Too large. A loop in it may be small enough.
            return false;
        }
        if plan.under.is_empty() {
            // Promotion is disabled.
            return false;
        }
        self.planner.claim(&plan);
        let mut tests = plan.under;
        let mut inner = Vec::new();
        walk_insts(self.function, body, &mut |nested| {
            inner.extend(self.function.as_loop(nested).map(|_| nested));
        });
        for nested in inner {
            let Some(plan) = self.planner.plan(nested, &tests, Conditions::Tested) else { continue };
            if tests.len() + plan.under.len() <= MAX_ALIAS_TESTS {
                self.planner.claim(&plan);
                tests.extend(plan.under);
            }
        }
        self.room -= size;
        self.versions.insert(inst, tests);
        true
    }
}

struct Versioner<'a> {
    function: &'a mut Function,
    versions: FxHashMap<Inst, Vec<ArgumentPair>>,
}

impl BlockRewriter for Versioner<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        match self.versions.remove(&inst) {
            Some(tests) => self.version(inst, &tests, out),
            None => out.push(inst),
        }
    }
}

impl Versioner<'_> {
    fn version(&mut self, inst: Inst, tests: &[ArgumentPair], out: &mut Vec<Inst>) {
        let cond = self.all_disjoint(tests, out);
        let copies = Cloner::new(self.function).insts(&[inst]);
        // Users keep the values that were the loop's results: they become those of the branch.
        let results = self.function.inst(inst).op.results().to_vec();
        self.function.insts[inst.index()].op.results_mut().expect("a loop may have results").clear();
        for &result in &results {
            let own = self.function.add_construct_result(inst, self.function.ty(result));
            self.function.values[own.index()].variable = self.function.values[result.index()].variable;
        }
        let [then, otherwise] = [copies[0], inst].map(|version| self.yielding(version));
        let results = results.into_iter().collect();
        let branch = self.add(Op::If { cond, then, otherwise, results }, None);
        self.function.number_definitions(branch);
        out.push(branch);
    }

    /// Whether the arguments of each pair are disjoint.
    fn all_disjoint(&mut self, tests: &[ArgumentPair], out: &mut Vec<Inst>) -> Value {
        let mut all = None;
        for &ArgumentPair(a, b) in tests {
            let one = self.value(Op::Compare(CmpOp::Disjoint, a, b), out);
            all = Some(match all {
                Some(all) => self.value(Op::Binary(BinOp::And, all, one), out),
                None => one,
            });
        }
        all.expect("a version has a test")
    }

    /// A block of one construct that passes its results on.
    fn yielding(&mut self, construct: Inst) -> Block {
        let results: Values = self.function.inst(construct).op.results().iter().copied().collect();
        let mut insts = vec![construct];
        if !results.is_empty() {
            insts.push(self.add(Op::Yield(results), None));
        }
        let block = self.function.add_block();
        self.function.blocks[block.index()].insts = insts;
        block
    }

    fn value(&mut self, op: Op, out: &mut Vec<Inst>) -> Value {
        let inst = self.add(op, Some(Type::BOOL));
        out.push(inst);
        self.function.result(inst)
    }

    fn add(&mut self, op: Op, ty: Option<Type>) -> Inst {
        self.function.add_inst(op, ty, FpMode::default(), Loc::default())
    }
}
