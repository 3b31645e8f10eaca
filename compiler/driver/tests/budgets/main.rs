//! What a compile may cost is bounded by counts: text grows linearly, work past a budget is done with less
//! effort, and past the last budget a diagnostic names the line that makes the most code.

mod bombs;
mod sources;

use std::fmt::Write as _;

use anymetal_driver::hal::artifact::{Artifact, ArtifactTarget, Effort};
use anymetal_driver::{
    Budget, CacheConfig, CompileError, Compiler, CompilerOptions, Emit, Library, Note, Source, SourceOptions,
    Specialisation, StageCounts, Target,
};

use sources::{cases, ifs, math, private_accesses, samples};

fn compiler(budget: Budget) -> Compiler {
    Compiler::with_budget(&CompilerOptions::with_cache(CacheConfig::memory_only()), budget)
}

fn library(compiler: &Compiler, text: &str) -> Library {
    compiler.library(Source::from_text("budget.metal", text, SourceOptions::default())).unwrap()
}

/// The LLVM text of the kernel, and what it took.
fn llvm(text: &str, budget: Budget) -> (String, StageCounts) {
    let compiler = compiler(budget);
    let llvm = library(&compiler, text).emit("k", &Specialisation::default(), Emit::Llvm).unwrap();
    (llvm, compiler.stage_counts())
}

#[test]
fn text_grows_linearly() {
    let kinds = sources::KINDS.into_iter().zip([100, 50, 200, 30, 50, 3, 20]);
    for (kind, count) in kinds {
        let source = |count| sources::source(kind, count).expect("the kind exists");
        let length = |count| llvm(&source(count), Budget::default()).0.len();
        let (once, twice) = (length(count), length(2 * count));
        assert!(twice * 10 < once * 22, "{kind}: {once} bytes for {count}, {twice} for twice as many");
    }
}

#[test]
fn a_switch_of_many_cases_is_one_jump() {
    let jumps = |count| llvm(&cases(count), Budget::default()).0.matches("  switch i32 ").count();
    // One for each copy of the code.
    assert!((1..=4).contains(&jumps(100)));
    assert_eq!(jumps(200), jumps(100));
    assert_eq!(jumps(8), 0, "few cases are tested one after the other");
}

#[test]
fn math_functions_are_called_beyond_a_budget() {
    let is_inlined = |calls: usize| {
        let (text, _) = llvm(&math(calls), Budget::default());
        let header = text.lines().find(|line| line.starts_with("define") && line.contains("@am_pow_"));
        header.expect("`pow` is defined").contains("alwaysinline")
    };
    assert!(is_inlined(20));
    assert!(!is_inlined(750));
}

#[test]
fn work_past_a_budget_is_done_with_less_effort() {
    let text = ifs(20);
    let (full, counts) = llvm(&text, Budget::default());
    assert_eq!([counts.generated, counts.baseline, counts.unoptimised], [1, 0, 0]);
    let work = Budget::work(&full);

    let mut budget = Budget::default();
    budget.optimised_work = work - 1;
    let (less, counts) = llvm(&text, budget);
    assert!(less.len() * 10 < full.len() * 7, "{} of {} bytes", less.len(), full.len());
    assert_eq!([counts.generated, counts.baseline, counts.unoptimised], [1, 1, 0]);
    assert!(Budget::work(&less) < work);

    budget.optimised_work = 1;
    let (least, counts) = llvm(&text, budget);
    assert_eq!(least, less);
    assert_eq!([counts.generated, counts.baseline, counts.unoptimised], [1, 0, 1]);
}

#[test]
fn code_of_every_effort_is_compiled() {
    let mut budget = Budget::default();
    budget.optimised_work = Budget::work(&llvm(&cases(40), budget).0) - 1;
    let (text, counts) = llvm(&cases(40), budget);
    assert_eq!(counts.baseline, 1);
    let baseline = Budget::work(&text);
    for (work, effort) in
        [(u64::MAX, None), (baseline, Some(Effort::Baseline)), (1, Some(Effort::Unoptimised))]
    {
        budget.optimised_work = work;
        let compiler = compiler(budget);
        let library = library(&compiler, &cases(40));
        let artifact = library.artifact("k", &Specialisation::default(), Target::CpuLlvm).unwrap();
        assert_eq!(effort_of(&artifact), effort);
        assert_eq!(reductions(&compiler), effort.map(|effort| ("k".to_owned(), effort)).as_slice());
    }
}

/// The effort that the artifact's kernel was compiled with, if it was reduced.
fn effort_of(artifact: &Artifact) -> Option<Effort> {
    artifact.kernel("k").unwrap().reduced_effort.as_ref().map(|reduced| reduced.effort)
}

/// Which kernels the compiler noted as compiled with less effort.
fn reductions(compiler: &Compiler) -> Vec<(String, Effort)> {
    let reduction = |note| match note {
        Note::ReducedEffort { kernel, reduced } => Some((kernel, reduced.effort)),
        _ => None,
    };
    compiler.notes().into_iter().filter_map(reduction).collect()
}

#[test]
fn kernels_too_large_for_machine_code_are_interpreted() {
    let mut budget = Budget::default();
    budget.text_bytes = 2000;
    let compiler_of_little = compiler(budget);
    let library_of_little = library(&compiler_of_little, &ifs(40));
    for group in [None, Some([64, 1, 1]), None] {
        let specialisation = Specialisation { group_size: group, ..Specialisation::default() };
        let artifact = library_of_little.artifact("k", &specialisation, Target::Cpu).unwrap();
        assert_eq!(artifact.target, ArtifactTarget::Interpreter);
        assert_eq!(effort_of(&artifact), Some(Effort::Interpreted));
        let reduced = artifact.kernel("k").unwrap().reduced_effort.as_ref().unwrap();
        assert!(reduced.largest_line.contains("budget.metal:"), "{reduced}");
    }
    // What was too large once is not generated again.
    let counts = compiler_of_little.stage_counts();
    assert_eq!([counts.generated, counts.interpreted], [2, 2]);
    assert_eq!(reductions(&compiler_of_little), [("k".to_owned(), Effort::Interpreted)]);
    let required = library_of_little.artifact("k", &Specialisation::default(), Target::CpuLlvm);
    assert!(matches!(required, Err(CompileError::TooMuchCode { .. })), "{required:?}");

    // The interpreter has a bound too.
    budget.interpreted_instructions = 10;
    let refused = library(&compiler(budget), &ifs(40)).artifact("k", &Specialisation::default(), Target::Cpu);
    assert!(matches!(refused, Err(CompileError::TooLarge { .. })), "{refused:?}");
}

/// The kernels that took a minute, gigabytes or the process with them.
#[test]
fn large_kernels_are_not_optimised() {
    for text in [ifs(1500), private_accesses(256), samples(40)] {
        let (text, counts) = llvm(&text, Budget::default());
        assert_eq!([counts.generated, counts.unoptimised], [1, 1]);
        assert!(text.len() <= Budget::default().text_bytes);
    }
}

#[test]
fn too_large_kernels_are_refused_and_the_largest_line_is_named() {
    let mut source = ifs(40);
    let line = source.lines().count();
    let repeated = "y[t] = y[t] % 77u + y[t + 5] / 3u; ".repeat(40);
    source.truncate(source.rfind('}').unwrap());
    let _ = writeln!(source, "{repeated}\n}}");
    let error = |budget| {
        let compiled =
            library(&compiler(budget), &source).artifact("k", &Specialisation::default(), Target::CpuLlvm);
        let error = compiled.unwrap_err();
        assert_eq!(error.id(), "kernel-too-large");
        error.to_string()
    };
    let mut budget = Budget::default();
    budget.text_bytes = 20_000;
    assert!(error(budget).contains(&format!("budget.metal:{line} ")), "{}", error(budget));
    let mut budget = Budget::default();
    budget.instructions = 100;
    assert!(error(budget).contains(&format!("budget.metal:{line} ")), "{}", error(budget));
}
