//! Runs passes in the order of a list, verifies after each, and lets a caller watch.
//!
//! Owns [`Pass`], [`Step`] and [`PassManager`], as LLVM's pass manager owns its passes and their
//! instrumentation. The lists themselves are in [`super::pipeline`]. Invariant: in builds with debug
//! assertions the verifier runs after every pass that changed something, and a broken rule names the pass.

use std::cell::{Cell, RefCell};
use std::fmt;

use super::pass_options::{Level, PassOptions};
use super::remark::Remark;
use anymetal_analysis::Bounds;
use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::ranges::upper_bound;
use anymetal_ir::{Function, Module, VerifyError, print_module, verify_function};

/// One pass over a function.
#[derive(Clone, Copy)]
pub struct Pass {
    /// As `--print-after` takes it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The lowest level at which it runs; at the lowest of all it is required.
    pub level: Level,
    /// Transforms the function; returns whether it changed anything.
    pub run: fn(&mut Function, &PassContext<'_>) -> bool,
}

impl Pass {
    /// Whether code generators rely on it, so that it always runs.
    pub fn is_required(&self) -> bool {
        self.level == Level::O0
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// An entry of a pipeline.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A pass, and the steps that follow only if it changed something.
    Pass(&'static Pass, &'static [Step]),
    /// Rounds of passes in order, each ended by one more pass, until a round's passes change nothing. The
    /// bound on rounds keeps the cost linear.
    Fixpoint(&'static [&'static Pass], &'static Pass, usize),
}

/// What passes may know besides the function.
#[derive(Clone, Copy)]
pub struct PassContext<'a> {
    /// Gives the constant data; its functions are not looked at.
    pub module: &'a Module,
    /// The round of the [`Step::Fixpoint`] that the pass runs in, from 0.
    pub round: usize,
    /// How threads are assigned to SIMD-groups, in code for a target; `None` in code for all targets.
    pub geometry: Option<Geometry>,
    /// Where remarks are collected; `None`: not requested.
    pub remarks: Option<&'a RefCell<Vec<Remark>>>,
}

impl fmt::Debug for PassContext<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PassContext").field("round", &self.round).finish_non_exhaustive()
    }
}

impl PassContext<'_> {
    /// Adds remarks, if they are requested.
    pub fn remark(&self, remarks: impl FnOnce() -> Vec<Remark>) {
        if let Some(collected) = self.remarks {
            collected.borrow_mut().extend(remarks());
        }
    }

    /// Upper bounds of integers over all threads, as analyses take them.
    pub fn with_bounds<T>(&self, work: impl FnOnce(Bounds<'_>) -> T) -> T {
        let geometry = self.geometry.unwrap_or(Geometry::Any);
        work(&|function, value| upper_bound(function, geometry, value))
    }
}

/// An execution of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution<'a> {
    /// The pass.
    pub pass: &'a str,
    /// How many passes that are not required the manager has executed, this one included: the number that
    /// [`PassOptions::bisect_limit`] limits.
    pub number: u64,
}

/// Called after each pass that changed something: the execution, the module of the constant data, the
/// function.
pub type AfterPass<'a> = &'a mut dyn FnMut(Execution<'_>, &Module, &Function);

/// Runs passes.
#[derive(Default)]
pub struct PassManager<'a> {
    options: PassOptions,
    /// Executions so far of passes that are not required.
    executions: u64,
    after: Option<AfterPass<'a>>,
    remarks: Option<RefCell<Vec<Remark>>>,
}

impl fmt::Debug for PassManager<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PassManager").field("is_watched", &self.after.is_some()).finish()
    }
}

impl<'a> PassManager<'a> {
    /// Runs what the options include.
    pub fn new(options: &PassOptions) -> Self {
        Self { options: options.clone(), ..Self::default() }
    }

    /// With a function that is called after each pass that changed something.
    pub fn watched(options: &PassOptions, after: AfterPass<'a>) -> Self {
        Self { after: Some(after), ..Self::new(options) }
    }

    /// With remarks collected.
    #[must_use]
    pub fn with_remarks(mut self) -> Self {
        self.remarks = Some(RefCell::default());
        self
    }

    /// The remarks of the passes that ran.
    pub fn take_remarks(&mut self) -> Vec<Remark> {
        self.remarks.as_mut().map(|remarks| std::mem::take(remarks.get_mut())).unwrap_or_default()
    }

    /// How many times a pass that is not required was to run.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Runs the steps over the function; returns whether anything changed.
    ///
    /// # Panics
    /// In builds with debug assertions, if a pass leaves a function that the verifier refuses: the message
    /// names the pass and the rules.
    pub fn run(
        &mut self,
        steps: &[Step],
        module: &Module,
        geometry: Option<Geometry>,
        function: &mut Function,
    ) -> bool {
        let remarks = self.remarks.take();
        let context = PassContext { module, round: 0, geometry, remarks: remarks.as_ref() };
        let changed = self.run_steps(steps, &context, function);
        self.remarks = remarks;
        changed
    }

    fn run_steps(&mut self, steps: &[Step], context: &PassContext<'_>, function: &mut Function) -> bool {
        let mut changed = false;
        for step in steps {
            changed |= match step {
                Step::Pass(pass, then) => {
                    let changed = self.run_pass(pass, context, function);
                    if changed {
                        self.run_steps(then, context, function);
                    }
                    changed
                }
                Step::Fixpoint(passes, last, rounds) => {
                    (0..*rounds)
                        .take_while(|&round| {
                            let context = PassContext { round, ..*context };
                            let run =
                                |changed, pass: &&Pass| changed | self.run_pass(pass, &context, function);
                            let changed = passes.iter().fold(false, run);
                            self.run_pass(last, &context, function);
                            changed
                        })
                        .count()
                        > 0
                }
            };
        }
        changed
    }

    /// Whether a pass runs now. Counts it.
    fn admits(&mut self, pass: &Pass) -> bool {
        if pass.is_required() {
            return true;
        }
        if !self.options.includes(pass) {
            return false;
        }
        self.executions += 1;
        self.options.bisect_limit.is_none_or(|limit| self.executions <= limit)
    }

    fn run_pass(&mut self, pass: &Pass, context: &PassContext<'_>, function: &mut Function) -> bool {
        if !self.admits(pass) {
            return false;
        }
        let _running = Running::begin(pass.name);
        let changed = (pass.run)(function, context);
        if changed {
            self.after_pass(pass.name, context.module, function);
        }
        changed
    }

    /// Verifies and calls the watcher.
    fn after_pass(&mut self, pass: &str, module: &Module, function: &Function) {
        if cfg!(debug_assertions)
            && let Err(errors) = verify_function(module, function)
        {
            panic!("{}", broken(pass, &errors, module, function));
        }
        if let Some(after) = &mut self.after {
            after(Execution { pass, number: self.executions }, module, function);
        }
    }

    /// As [`Self::run`] for what a pass over the whole module left: all its functions are verified and shown.
    pub(super) fn after_module_pass(&mut self, pass: &str, module: &Module) {
        for function in &module.functions {
            self.after_pass(pass, module, function);
        }
    }
}

thread_local! {
    static CURRENT: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The pass that runs on this thread, for reports of panics.
pub fn current_pass() -> Option<&'static str> {
    CURRENT.get()
}

/// Names a pass as the current one until it is dropped, in a panic as well.
struct Running {
    before: Option<&'static str>,
}

impl Running {
    fn begin(name: &'static str) -> Self {
        Running { before: CURRENT.replace(Some(name)) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// The message for a pass that broke a rule, the function's text included.
fn broken(pass: &str, errors: &[VerifyError], module: &Module, function: &Function) -> String {
    const SHOWN: usize = 5;
    let rules: Vec<String> = errors.iter().take(SHOWN).map(VerifyError::to_string).collect();
    let alone = Module { functions: vec![function.clone()], kernels: Vec::new(), ..module.clone() };
    format!("pass `{pass}` left invalid IR: {}\n{}", rules.join("; "), print_module(&alone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal_ir::{BinOp, Op, Value, parse_module};

    const SUM: &str = "func f0 \"f\" (v0: i32) -> i32 {\n  v1 = const 0 : i32\n  v2 = add v0, v1 : i32\n  v3 = add v2, v2 : i32\n  return v3\n}\n";

    /// Gives every sum an operand that does not exist.
    const BREAKS: Pass = Pass {
        name: "break_sums",
        summary: "leaves IR that the verifier refuses",
        level: Level::O1,
        run: |function, _| {
            for inst in &mut function.insts {
                if let Op::Binary(BinOp::Add, a, _) = inst.op {
                    inst.op = Op::Binary(BinOp::Add, a, Value(u32::MAX));
                }
            }
            true
        },
    };

    fn run(steps: &[Step], after: AfterPass<'_>) -> Function {
        let module = parse_module(SUM).expect("the text is well formed");
        let mut function = module.functions[0].clone();
        PassManager::watched(&PassOptions::new(), after).run(steps, &module, None, &mut function);
        function
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "pass `break_sums` left invalid IR: in f:")]
    fn a_pass_that_breaks_the_ir_is_named() {
        run(&[Step::Pass(&crate::pipeline::FOLD, &[]), Step::Pass(&BREAKS, &[])], &mut |_, _, _| {});
    }

    #[test]
    fn passes_that_change_something_are_shown_in_order() {
        let mut seen = Vec::new();
        let function =
            run(crate::pipeline::SIMPLIFY, &mut |execution, _, _| seen.push(execution.pass.to_owned()));
        assert_eq!(seen, ["fold", "dce", "compact"]);
        assert_eq!(function.insts.len(), 2);
    }

    #[test]
    fn a_limit_ends_the_executions_and_leaves_required_passes() {
        let module = parse_module(SUM).expect("the text is well formed");
        let count = |options: &PassOptions| {
            let mut executions = Vec::new();
            let mut function = module.functions[0].clone();
            let mut note =
                |execution: Execution<'_>, _: &Module, _: &Function| executions.push(execution.number);
            let mut manager = PassManager::watched(options, &mut note);
            manager.run(crate::pipeline::SIMPLIFY, &module, None, &mut function);
            let all = manager.executions();
            (all, executions, function.insts.len())
        };
        let (all, executions, _) = count(&PassOptions::new());
        assert!(executions.is_sorted() && executions.iter().all(|number| (1..=all).contains(number)));
        let unchanged = count(&PassOptions::new().bisect_limit(0));
        assert_eq!((unchanged.1.len(), unchanged.2), (0, 4), "{unchanged:?}");
        let first = count(&PassOptions::new().bisect_limit(executions[0]));
        assert_eq!(first.1[..1], executions[..1]);
        assert_eq!(count(&PassOptions::new().level(Level::O0)).0, 0);
        let without = PassOptions::new().disable("fold").expect("it is optional");
        assert_eq!(executions[0], 1, "`fold` comes first, and has constants to fold");
        assert!(!count(&without).1.contains(&1));
    }

    #[test]
    fn steps_after_a_pass_without_changes_do_not_run() {
        const KEEPS: Pass =
            Pass { name: "keep", summary: "changes nothing", level: Level::O1, run: |_, _| false };
        let mut seen = Vec::new();
        let then = &[Step::Pass(&crate::pipeline::FOLD, &[])];
        run(&[Step::Pass(&KEEPS, then)], &mut |execution, _, _| seen.push(execution.pass.to_owned()));
        assert_eq!(seen, Vec::<String>::new());
    }
}
