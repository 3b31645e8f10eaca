//! Code generation file tests: each file of `tests/codegen` is a module in the IR's text form, a header of
//! comments, a line `; llvm`, and the lines of the LLVM text that its strategy consists of; or, after a line
//! `; plan`, the SIMD plan of each version.
//! `cargo xtask bless codegen` writes them.
//!
//! The header says for which processor, and which lines are shown:
//! ```text
//! ; Loads of consecutive lanes are one vector load.
//! ; target: avx512
//! ; group: 64
//! ; checks: off
//! ; show: load store
//! ```
//! `target` is one of `sse2`, `avx2`, `avx512`, `neon`, or `sm_80` and the like for NVIDIA GPUs;
//! `group` makes code for one threadgroup size (default:
//! any); `checks` is `on` (default) or `off`; a line of a function's body is shown if it has one of the words
//! of `show`, and `show: plan` shows plans instead. Only the kernel's versions are shown. Registers are
//! renumbered by their order in what is shown, so that a change elsewhere in the function does not show.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anymetal_codegen::cpu::{CpuFeatures, CpuOptions, generate, plans};
use anymetal_codegen::ptx::{self, PtxOptions};
use anymetal_ir::{parse_module, verify};
use anymetal_opt::{PassManager, PrepareOptions, prepare};

/// What precedes the LLVM text, and what precedes plans.
const MARKS: [&str; 2] = ["\n; llvm\n", "\n; plan\n"];

/// What a file's header says.
struct Header {
    options: CpuOptions,
    /// The architecture, for NVIDIA GPUs.
    sm: Option<u32>,
    shown: Vec<String>,
}

fn features(target: &str) -> CpuFeatures {
    let none = CpuFeatures::default();
    let avx2 = CpuFeatures { avx2: true, fma: true, f16c: true, ..none };
    match target {
        "sse2" => none,
        "avx2" => avx2,
        "avx512" => CpuFeatures { avx512: true, fast_gather: true, streams_in_second_level: true, ..avx2 },
        "neon" => CpuFeatures { neon: true, ..none },
        other => panic!("no target `{other}`: sse2, avx2, avx512, neon"),
    }
}

impl Header {
    fn of(text: &str) -> Self {
        let mut header = Header {
            options: CpuOptions { checks: true, ..CpuOptions::default() },
            sm: None,
            shown: Vec::new(),
        };
        let mut has_target = false;
        for line in text.lines().map_while(|line| line.strip_prefix("; ")) {
            let Some((key, value)) = line.split_once(": ") else { continue };
            match key {
                "target" => {
                    header.sm = value.strip_prefix("sm_").map(|sm| sm.parse().expect("a number"));
                    if header.sm.is_none() {
                        header.options.features = features(value);
                    }
                    has_target = true;
                }
                "group" => {
                    let size: Vec<u32> = value.split(' ').map(|n| n.parse().expect("a number")).collect();
                    let extent = |axis: usize| size.get(axis).copied().unwrap_or(1);
                    header.options.group_size = Some([extent(0), extent(1), extent(2)]);
                    header.options.whole_threadgroups_only = true;
                }
                "checks" => header.options.checks = value == "on",
                "show" => header.shown = value.split(' ').map(str::to_owned).collect(),
                _ => {}
            }
        }
        assert!(has_target && !header.shown.is_empty(), "a header has `; target:` and `; show:`");
        header
    }

    fn shows_plan(&self) -> bool {
        self.shown == ["plan"]
    }
}

/// Numbers registers and blocks by their first use in what is shown.
#[derive(Default)]
struct Renumbering(HashMap<String, usize>);

impl Renumbering {
    fn line(&mut self, line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_');
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            if name.bytes().any(|byte| byte.is_ascii_digit()) {
                let next = self.0.len();
                let _ = write!(out, "{}", self.0.entry(name.to_owned()).or_insert(next));
            } else {
                out.push_str(name);
            }
            rest = after;
        }
        out + rest
    }
}

/// The lines of the kernel's versions that the header shows, without metadata. The entry, shared functions
/// and loads of the launch's tables are the same for all kernels.
fn shown(text: &str, words: &[String]) -> String {
    let mut out = String::new();
    for function in format!("\n{text}").split("\ndefine ").skip(1) {
        let (head, body) = function.split_once('\n').unwrap_or((function, ""));
        let version = head.split_once("@am.version.").or_else(|| head.split_once("ptx_kernel void @"));
        let Some((_, version)) = version else { continue };
        let body = body.split("\n}").next().unwrap_or_default();
        let mut renumbering = Renumbering::default();
        let is_shown = |line: &&str| {
            !line.contains("!invariant.load") && words.iter().any(|word| line.contains(word.as_str()))
        };
        let _ = writeln!(out, "version {}", version.split('(').next().unwrap_or_default());
        for line in body.lines().filter(is_shown) {
            let line = line.split(", !").next().unwrap_or(line);
            let _ = writeln!(out, "{}", renumbering.line(line));
        }
    }
    out
}

fn generated(path: &Path, before: &str) -> String {
    let name = path.display();
    let mut module = parse_module(before).unwrap_or_else(|error| panic!("{name}:{error}"));
    verify(&module).unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
    let header = Header::of(before);
    prepare(&mut module, &PrepareOptions::default(), &mut PassManager::default()).expect("it is prepared");
    let [kernel] = module.kernels.as_slice() else { panic!("{name}: a file has one kernel") };
    if let Some(sm) = header.sm {
        let CpuOptions { checks, group_size, whole_threadgroups_only, .. } = header.options;
        let options = PtxOptions { sm, checks, group_size, whole_threadgroups_only, ..PtxOptions::default() };
        let code = ptx::generate(&module, &kernel.name, &options);
        return shown(&code.unwrap_or_else(|error| panic!("{name}: {error}")).llvm_ir, &header.shown);
    }
    if header.shows_plan() {
        let plans = plans(&module, &kernel.name, &header.options);
        return plans.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let code = generate(&module, &kernel.name.clone(), &header.options);
    shown(&code.unwrap_or_else(|error| panic!("{name}: {error}")).llvm_ir, &header.shown)
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/codegen");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ir"));
    files.sort();
    files
}

#[test]
fn generated_code_is_what_the_files_show() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    let files = files();
    assert!(files.len() >= 20, "only {} files", files.len());
    let mut problems = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let mark = MARKS[usize::from(Header::of(&text).shows_plan())];
        let (before, after) = text.split_once(mark).unwrap_or((&text, ""));
        let found = generated(&path, before);
        let has_lines = found.lines().any(|line| !line.starts_with("version "));
        assert!(has_lines, "{}: nothing is shown", path.display());
        if bless {
            let text = format!("{}{mark}{found}", before.trim_end_matches('\n'));
            std::fs::write(&path, text).expect("a writable file");
        } else if found != after {
            problems.push(format!("{}:\n{found}", path.display()));
        }
    }
    assert!(problems.is_empty(), "`cargo xtask bless codegen` accepts:\n{}", problems.join("\n"));
}
