//! A module taken apart is, function by function, the code of the whole.

mod support;

use std::collections::BTreeMap;

use anymetal_codegen::cpu::generate;
use anymetal_ir_random::{RandomOptions, kernel};
use anymetal_llvm::{CompileOptions, Emit, Llvm};
use anymetal_opt::{inline, optimise};
use support::{Launch, llvm, options, parsed};

/// The instructions of a text's functions, by name, with labels that count functions or constants made alike.
fn functions(llvm: &Llvm, text: &str) -> BTreeMap<String, Vec<String>> {
    let options = CompileOptions { emit: Emit::Assembly, ..CompileOptions::default() };
    let assembly = llvm.compile(text, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let assembly = String::from_utf8(assembly).expect("assembly is text");
    let mut functions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut names = Vec::new();
    let mut current = None;
    for line in assembly.lines() {
        if let Some((name, kind)) = line.trim().strip_prefix(".type").and_then(|rest| rest.split_once(',')) {
            names.extend(kind.contains("function").then(|| name.trim().to_owned()));
        } else if let Some(name) = names.iter().find(|name| line.starts_with(&format!("{name}:"))) {
            current = Some(name.clone());
        } else if line.starts_with(".Lfunc_end") {
            current = None;
        } else if let Some(name) = &current
            && line.starts_with('\t')
            && !line.starts_with("\t.")
        {
            let code = line.split('#').next().unwrap_or(line).trim();
            functions.entry(name.clone()).or_default().push(alike(code));
        }
    }
    functions
}

/// Labels are numbered by function, constants' by module, and calls out of a module are marked.
fn alike(code: &str) -> String {
    let without_digits = |label: &str| label.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    let mut parts = code.split(".L");
    let mut alike = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let kind = part.len() - part.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        alike += &format!(".L{}{}", &part[..kind], without_digits(&part[kind..]));
    }
    alike.replace("@PLT", "")
}

#[test]
fn parts_hold_the_functions_of_the_whole() {
    let Some(llvm) = llvm() else { return };
    let mut apart = 0;
    for seed in 0..6 {
        let mut random = kernel(seed, &RandomOptions::default());
        inline(&mut random.module).expect("random kernels can be inlined");
        optimise(&mut random.module);
        let launch = Launch::new(random.threads, random.threads_per_group);
        let code = generate(&random.module, "k", &options(&launch)).expect("code");
        let whole = functions(&llvm, &code.llvm_ir);
        for most in [2, 3] {
            let parts = code.parts(most);
            assert!((1..=most).contains(&parts.len()));
            apart += usize::from(parts.len() > 1);
            let mut joined = BTreeMap::new();
            for part in &parts {
                for (name, code) in functions(&llvm, part) {
                    assert!(
                        joined.insert(name.clone(), code).is_none(),
                        "seed {seed}: {name} is there twice"
                    );
                }
            }
            assert!(joined == whole, "seed {seed} in {most} parts is other code");
        }
    }
    assert!(apart > 6, "only {apart} kernels were taken apart");
}

#[test]
fn little_code_stays_together() {
    let module = parsed(
        "func f0 \"k\" (v0: ptr.device) {
  v1 = const 1 : i32
  store v0, v1, align 4
}
kernel \"k\" f0 {
  arg \"a\" buffer 0 device \"T\" scalar i32 size 4 align 4 read_write
}
",
    );
    let launch = Launch::new([64, 1, 1], [64, 1, 1]);
    let code = generate(&module, "k", &options(&launch)).expect("code");
    assert_eq!(code.parts(8), std::slice::from_ref(&code.llvm_ir));
}
