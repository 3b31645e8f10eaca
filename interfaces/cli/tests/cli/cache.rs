//! The disk cache and the absence of LLVM, as users meet them.

use crate::support::{Bench, Ran, files, source};

fn run(bench: &Bench) -> Ran {
    let ran = bench.run(&[
        "run",
        &source("saxpy.metal"),
        "-k",
        "doubled",
        "--threads",
        "3",
        "--arg",
        "0=iota:i32:3",
        "--arg",
        "1=zeros:i32:3",
        "--print",
        "1",
        "--json",
    ]);
    let ran = ran.expect(0);
    assert_eq!(ran.json()["outputs"][0]["values"], serde_json::json!([0, 2, 4]));
    ran
}

/// Hides every libLLVM but the system's.
fn hide_llvm(bench: &mut Bench) {
    bench.set("RUSTUP_HOME", "/nonexistent");
    bench.set("RUSTUP_TOOLCHAIN", "");
    bench.set("RUSTC", "/nonexistent/rustc");
}

#[test]
fn a_warm_start_needs_no_llvm() {
    let mut bench = Bench::new();
    let folder = bench.path("cache");
    bench.set("ANYMETAL_CACHE", folder.to_str().unwrap());
    assert_eq!(run(&bench).json()["interpreted"], false);
    assert_eq!(files(&folder).len(), 3, "a description, an object and a manifest");
    hide_llvm(&mut bench);
    let warm = run(&bench);
    assert_eq!(warm.json()["interpreted"], false);
    assert_eq!(warm.stderr, "");
}

#[test]
fn damaged_entries_are_compiled_again_silently() {
    let mut bench = Bench::new();
    let folder = bench.path("cache");
    bench.set("ANYMETAL_CACHE", folder.to_str().unwrap());
    run(&bench);
    for file in files(&folder) {
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        std::fs::write(&file, bytes).unwrap();
    }
    let again = run(&bench);
    assert_eq!((again.json()["interpreted"].clone(), again.stderr.as_str()), (false.into(), ""));
}

#[test]
fn changed_sources_and_headers_are_noticed() {
    let mut bench = Bench::new();
    let folder = bench.path("cache");
    bench.set("ANYMETAL_CACHE", folder.to_str().unwrap());
    bench.write(
        "main.metal",
        "#include \"value.h\"\nkernel void f(device int* x [[buffer(0)]]) { x[0] = VALUE; }\n",
    );
    for value in ["5", "6", "5"] {
        bench.write("value.h", format!("#define VALUE {value}\n"));
        let ran = bench.run(&[
            "run",
            "main.metal",
            "-k",
            "f",
            "--threads",
            "1",
            "--arg",
            "0=zeros:i32:1",
            "--print",
            "0",
        ]);
        assert!(ran.expect(0).stdout.contains(&format!("x (1 i32): {value}\n")));
    }
}

#[test]
fn an_unusable_cache_folder_gives_a_note() {
    let mut bench = Bench::new();
    // A file, since permissions do not stop root.
    bench.write("blocked", "");
    bench.set("ANYMETAL_CACHE", bench.path("blocked").to_str().unwrap());
    let ran = run(&bench).says(&["note: the cache folder", "blocked", "is not used"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn without_llvm_the_interpreter_runs_and_says_so_once() {
    let mut bench = Bench::new();
    bench.set("ANYMETAL_LLVM", "none");
    let ran = run(&bench).says(&["note: LLVM is switched off by ANYMETAL_LLVM=none", "interpreter"]);
    assert_eq!(ran.json()["interpreted"], true);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    let ran = bench.run(&["compile", &source("saxpy.metal"), "--all"]).expect(0);
    assert_eq!(ran.stdout.lines().last(), Some("2 compiled, 0 failed"));
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    bench.set("ANYMETAL_LLVM", "/nonexistent/libLLVM.so");
    assert_eq!(run(&bench).says(&["note: no libLLVM"]).json()["interpreted"], true);
}

#[test]
fn a_kernel_past_a_compile_budget_is_reported_also_from_the_cache() {
    let mut bench = Bench::new();
    let folder = bench.path("cache");
    bench.set("ANYMETAL_CACHE", folder.to_str().unwrap());
    let body: String = (0..800).map(|index| format!("y[t ^ {index}u] += {index}u;\n")).collect();
    let kernel = "kernel void k(device uint* y [[buffer(0)]], uint t [[thread_position_in_grid]])";
    bench.write("large.metal", format!("{kernel} {{\n{body}}}\n"));
    let arguments = ["run", "large.metal", "-k", "k", "--threads", "1", "--arg", "0=zeros:u32:1024"];
    for _ in 0..2 {
        let ran = bench.run(&[&arguments[..], &["--print", "0:4", "--json"]].concat()).expect(0);
        assert_eq!(ran.json()["effort"], "unoptimised");
        assert_eq!(ran.json()["outputs"][0]["values"], serde_json::json!([0, 1, 2, 3]));
        let warnings: Vec<&str> = ran.stderr.lines().collect();
        assert!(
            matches!(warnings[..], [one] if one.starts_with("warning[reduced-effort]: kernel `k` ")
                && one.contains("large.metal:")),
            "{warnings:?}"
        );
    }
    let compiled = bench.run(&["compile", "large.metal", "--all", "--json"]).expect(0).json();
    assert_eq!(compiled["kernels"][0]["effort"], "unoptimised");
}
