//! Remarks by file: each file of `tests/remarks` has the remarks on its lines as annotations at their ends.
//! `cargo xtask bless remarks` writes them.
//!
//! An annotation is `//~ NAME`, or `//~ NAME (ARGUMENT: VALUE, …)` with the arguments that explain a
//! strategy. A line `// group: X Y Z` sets the threadgroup size. Strategies that depend on the processor are
//! not tested here.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anymetal_driver::{
    CacheConfig, Compiler, CompilerOptions, KernelRemark, RemarkId, RemarkKind, Source, SourceOptions,
    Specialisation,
};

const FOLDER: &str = "../../tests/remarks";
/// Arguments that are annotated.
const SHOWN: [&str; 7] = ["cause", "cause_line", "index", "reason", "stride_bytes", "trips", "unmasked_copy"];

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).expect("the folder exists");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn group(text: &str) -> Option<[u32; 3]> {
    let sizes = text.lines().find_map(|line| line.strip_prefix("// group: "))?;
    let mut sizes = sizes.split(' ').map(|size| size.parse().expect("a size is a number"));
    Some(std::array::from_fn(|_| sizes.next().unwrap_or(1)))
}

fn remarks(name: &str, text: &str) -> Vec<KernelRemark> {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let library = compiler.library(Source::from_text(name, text, SourceOptions::default()));
    let library = library.unwrap_or_else(|error| panic!("{name}: {error}"));
    let group_size = group(text);
    let whole_threadgroups_only = group_size.is_some();
    let specialisation = Specialisation { group_size, whole_threadgroups_only, ..Specialisation::default() };
    let of_kernel = |kernel: &String| library.remarks(kernel, &specialisation).expect("the kernel compiles");
    library.kernel_names().iter().flat_map(of_kernel).collect()
}

fn annotation(remark: &KernelRemark) -> String {
    let shown = remark.arguments.iter().filter(|(name, _)| SHOWN.contains(&name.as_str()));
    let shown: Vec<String> = shown.map(|(name, value)| format!("{name}: {value}")).collect();
    match shown.is_empty() {
        true => format!(" //~ {}", remark.name),
        false => format!(" //~ {} ({})", remark.name, shown.join(", ")),
    }
}

/// The text with the annotations that the remarks make.
fn annotated(text: &str, remarks: &[KernelRemark]) -> String {
    let mut out = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut line = line.split(" //~").next().unwrap_or_default().to_owned();
        for remark in remarks.iter().filter(|remark| remark.line == number) {
            line.push_str(&annotation(remark));
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

#[test]
fn each_line_has_its_remarks() {
    let bless = std::env::var_os("ANYMETAL_BLESS").is_some();
    assert!(!files().is_empty(), "{FOLDER} has files");
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
        let expected = annotated(&text, &remarks(&name, &text));
        if bless {
            std::fs::write(&path, &expected).expect("a writable file");
        } else {
            assert_eq!(text, expected, "{name}");
        }
    }
}

#[test]
fn a_remark_has_its_kind_and_place() {
    let text = "kernel void f(device float* y, device uint* at, uint i [[thread_position_in_grid]]) {\n  \
                y[at[i]] = 1;\n}\n";
    let remarks = remarks("scatter.metal", text);
    let scatter = remarks.iter().find(|remark| remark.name == "store-scatter").expect("a scatter");
    assert_eq!(
        (scatter.kind, scatter.line, scatter.file.as_deref()),
        (RemarkKind::Missed, 2, Some("scatter.metal"))
    );
    assert_eq!(scatter.arguments["variable"].to_string(), "y");
    let whole = remarks.iter().find(|remark| remark.name == "kernel-vectorized").expect("it is vectorized");
    assert_eq!((whole.file.as_deref(), whole.line), (None, 0));
}

/// The documentation lists every remark.
#[test]
fn each_remark_is_documented() {
    let page = Path::new("../../docs/how-to/find-out-why-a-kernel-is-slow.md");
    let page = std::fs::read_to_string(page).expect("a readable page");
    for id in RemarkId::ALL {
        let row = format!("| `{}` | {} |", id.name(), id.kind().word());
        assert!(page.contains(&row), "no row `{row}`");
    }
}
