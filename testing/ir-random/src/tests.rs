//! Random kernels go through everything that this crate does.

use crate::{RandomOptions, kernel};
use anymetal_ir::{Effect, MatrixOp, Module, Op, PrefetchHint, Value, parse_module, print_module, verify};
use anymetal_opt::PassContext;

fn check(module: &Module, when: &str, seed: u64) {
    if let Err(errors) = verify(module) {
        panic!("seed {seed}, {when}: {}\n{module}", errors[0]);
    }
}

fn options(seed: u64) -> RandomOptions {
    let mut options = RandomOptions { statements: 20 + (seed % 100) as usize, ..RandomOptions::default() };
    options.out_of_bounds = seed.is_multiple_of(5);
    options.small_floats = !seed.is_multiple_of(3);
    options
}

#[test]
fn every_kernel_verifies_and_round_trips() {
    for seed in 0..300 {
        let module = kernel(seed, &options(seed)).module;
        check(&module, "as generated", seed);
        let text = print_module(&module);
        let read = parse_module(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(print_module(&read), text, "seed {seed}");
        check(&read, "read back", seed);
    }
}

#[test]
fn the_same_seed_gives_the_same_kernel() {
    let options = RandomOptions::default();
    assert_eq!(kernel(7, &options), kernel(7, &options));
    assert_ne!(kernel(7, &options).module, kernel(8, &options).module);
}

#[test]
fn passes_keep_kernels_valid_and_come_to_an_end() {
    for seed in 0..120 {
        let mut module = kernel(seed, &options(seed)).module;
        anymetal_opt::inline(&mut module).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        check(&module, "inlined", seed);
        let mut functions = std::mem::take(&mut module.functions);
        for round in 0..4 {
            for pass in anymetal_opt::pipeline::ALL {
                for function in &mut functions {
                    let context = PassContext { module: &module, round, geometry: None, remarks: None };
                    (pass.run)(function, &context);
                }
                let whole = Module { functions: functions.clone(), ..module.clone() };
                check(&whole, &format!("{}, round {round}", pass.name), seed);
            }
        }
        module.functions = functions;
        anymetal_opt::optimise(&mut module);
        check(&module, "optimised", seed);
        let before = print_module(&module);
        anymetal_opt::optimise(&mut module);
        let after = print_module(&module);
        assert_eq!(after, before, "seed {seed}: optimising again changes something");
    }
}

/// Replaces, removes or repeats a word or line of the text.
fn damage(text: &str, rng: &mut crate::rng::Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + rng.below(3) {
        let (at, other) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(4) {
            0 => {
                lines.remove(at);
            }
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            _ => {
                let words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
                let donors: Vec<String> = lines[other].split(' ').map(str::to_owned).collect();
                let mut words = words;
                let n = rng.below(words.len());
                words[n] = donors[rng.below(donors.len())].clone();
                lines[at] = words.join(" ");
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn damaged_kernels_are_refused_or_pass_through_everything() {
    let (mut read, mut valid) = (0, 0);
    for seed in 0..400 {
        let options = RandomOptions { statements: 20, ..options(seed) };
        let text = print_module(&kernel(seed, &options).module);
        let mut rng = crate::rng::Rng::new(seed);
        for _ in 0..10 {
            let Ok(mut module) = parse_module(&damage(&text, &mut rng)) else { continue };
            read += 1;
            if verify(&module).is_err() {
                continue;
            }
            valid += 1;
            if anymetal_opt::inline(&mut module).is_ok() {
                check(&module, "damaged and inlined", seed);
                anymetal_opt::optimise(&mut module);
                check(&module, "damaged and optimised", seed);
            }
        }
    }
    assert!(read > 100 && valid > 50, "the damage is too great to test anything: {read} {valid}");
}

#[test]
fn the_deepest_nesting_does_not_exhaust_the_stack() {
    for (open, close) in [
        ("if v1 {", "store v0, v1, align 1\n}"),
        ("loop label# {", "store v0, v1, align 1\n} continuing {\nif v1 {\nbreak label#\n}\n}"),
        ("scope label# {\nif v1 {\nbreak label#\n}", "store v0, v1, align 1\n}"),
        ("switch label# v2 case 1 {", "store v0, v1, align 1\n} default {\n}"),
    ] {
        let depth = anymetal_ir::MAX_NESTING - 1;
        let mut text = String::from("func f0 \"k\" (v0: ptr.device, v1: bool, v2: i32) {\n");
        for n in 0..depth {
            text.push_str(&open.replace('#', &n.to_string()));
            text.push('\n');
        }
        for n in (0..depth).rev() {
            text.push_str(&close.replace('#', &n.to_string()));
            text.push('\n');
        }
        text.push('}');
        let mut module = parse_module(&text).unwrap_or_else(|error| panic!("{error}"));
        check(&module, "deep", 0);
        anymetal_opt::optimise(&mut module);
        check(&module, "deep, optimised", 0);
        assert!(anymetal_analysis::nesting(&module.functions[0]) >= depth);
        assert!(print_module(&module).len() > depth);
    }
}

/// Relations between the answers that must hold for whatever operation.
fn check_effects(op: &Op) {
    let [pure, computes, effects, repeatable, writes] =
        [op.is_pure(), op.only_computes(), op.has_side_effects(), op.is_repeatable(), op.may_write_memory()];
    assert!(!pure || computes, "{op:?}: what is pure only computes");
    assert!(!computes || !effects && repeatable && !writes, "{op:?}: computing has no effect");
    assert!(!writes || effects && !repeatable, "{op:?}: a write must stay and cannot be repeated");
    let nested_or_jump = !op.blocks().is_empty() || op.is_terminator();
    assert!(!nested_or_jump || effects && !repeatable, "{op:?}: control must stay");
    assert_eq!(op.effect() == Effect::Nests, !op.blocks().is_empty(), "{op:?}");
    assert_eq!(op.effect() == Effect::Jumps, op.ends_block(), "{op:?}");
}

#[test]
fn effects_agree_for_every_kind_of_operation() {
    let mut kinds = std::collections::BTreeSet::new();
    let mut check = |op: &Op| {
        check_effects(op);
        let text = format!("{:?}", op.effect());
        kinds.insert(text.split([' ', '(']).next().unwrap_or_default().to_owned());
    };
    // Those that random kernels do not have.
    let matrix = |op| Op::Matrix(op, Vec::new());
    check(&Op::Undef);
    check(&Op::Fence(None));
    check(&Op::Prefetch { ptr: Value(0), bytes: 4, access: PrefetchHint::Read });
    check(&matrix(MatrixOp::Load { transpose: false }));
    check(&matrix(MatrixOp::Store { transpose: false }));
    check(&matrix(MatrixOp::MultiplyAccumulate));
    for seed in 0..40 {
        let options = RandomOptions { statements: 120, ..RandomOptions::default() };
        for function in &kernel(seed, &options).module.functions {
            for inst in &function.insts {
                check(&inst.op);
            }
        }
    }
    assert_eq!(kinds.len(), 16, "each effect is that of some operation: {kinds:?}");
}
