//! Files that are not what they should be: outside of the include folders, not regular, or another user's to
//! change. Each ends in time with an error that names the path.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Bench, Ran, source};

/// A run that waits for a pipe has no exit code.
const LIMIT: Duration = Duration::from_secs(50);

fn pipe(bench: &Bench, name: &str) {
    assert!(Command::new("mkfifo").arg(bench.path(name)).status().expect("mkfifo").success());
}

fn saxpy(bench: &Bench) -> Ran {
    let file = source("saxpy.metal");
    bench.run_limited(&["compile", file.as_str(), "-k", "saxpy"], LIMIT)
}

fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, all),
            path => all.push(path),
        }
    }
}

#[test]
fn includes_outside_of_the_roots_are_refused_and_not_shown() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("root/inner")).unwrap();
    bench.write("secret", "root:x:0:0 password\n");
    bench.write("root/inner/b.h", "#define B 2\n");
    bench.write("root/inner/a.h", "#include \"../inner/b.h\"\n");
    let run = |include: &str| {
        let kernel = "kernel void f(device int* x [[buffer(0)]]) { x[0] = B; }\n";
        bench.write("root/main.metal", format!("{include}\n{kernel}"));
        bench.run(&["compile", "root/main.metal", "-k", "f"])
    };
    run("#include \"inner/a.h\"").expect(0);
    let absolute = bench.path("secret").display().to_string();
    let missing = bench.path("no-secret").display().to_string();
    for name in
        ["../secret", "inner/../../secret", "../no-secret", absolute.as_str(), &missing, "/etc/passwd"]
    {
        let ran = run(&format!("#include \"{name}\"")).expect(1);
        assert!(!ran.stderr.contains("password") && !ran.stderr.contains("root:x:"), "{}", ran.stderr);
        ran.says(&["error[include-outside-roots]", name, "files are read below: root"]);
    }
    // Found only through a folder that was given.
    bench.write("root/main.metal", "#include \"../secret\"\nkernel void f() {}\n");
    bench.write("secret", "\n");
    bench.run(&["compile", "root/main.metal", "-k", "f", "-I", "."]).expect(0);
}

#[test]
fn translated_sources_stay_below_the_roots() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("root")).unwrap();
    bench.write("secret.h", "#define SECRET 1\n");
    bench.write("root/near.h", "#define NEAR 2\n");
    let kernel = "kernel void f(global int* x) { x[0] = NEAR; }\n";
    bench.write("root/k.cl", format!("#include \"../secret.h\"\n#include \"near.h\"\n{kernel}"));
    let ran = bench.run(&["translate", "root/k.cl"]).expect(0);
    assert!(
        ran.stdout.contains("#define NEAR 2") && !ran.stdout.contains("#define SECRET"),
        "{}",
        ran.stdout
    );
    ran.says(&["warning[include-outside-roots]", "../secret.h", "files are read below: root"]);
    let ran = bench.run(&["translate", "root/k.cl", "-I", "."]).expect(0);
    assert!(ran.stdout.contains("#define SECRET 1"), "{}", ran.stdout);
}

#[test]
fn pipes_are_not_read() {
    let mut bench = Bench::new();
    for name in ["pipe", "pipe.toml", "pipe.json", "pipe.npy", "pipe.png", "pipe.cl", "pipe.h"] {
        pipe(&bench, name);
    }
    let file = source("saxpy.metal");
    bench.write("main.metal", "#include \"pipe.h\"\nkernel void f() {}\n");
    let cases: [&[&str]; 10] = [
        &["compile", "pipe", "--all"],
        &["compile", "main.metal", "--all"],
        &["compile", "pipe.cl", "--all"],
        &["translate", "pipe.cl"],
        &["trace", "pipe.toml", "-o", "out.json"],
        &["report", "pipe.toml"],
        &["report", "pipe.json"],
        &["audit", "verify", "pipe"],
        &["run", &file, "-k", "saxpy", "--threads", "4", "--arg", "x=pipe.npy"],
        &["check", &file, "-k", "saxpy", "--threads", "4", "--suppressions", "pipe"],
    ];
    for arguments in cases {
        let ran = bench.run_limited(arguments, LIMIT);
        assert_eq!(ran.code, Some(1), "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("a named pipe") && said.contains("pipe"), "{arguments:?}: {said}");
    }
    bench.set("ANYMETAL_CONFIG", bench.path("pipe").to_str().unwrap());
    let ran = bench.run_limited(&["devices"], LIMIT);
    assert!(ran.code.is_some_and(|code| code != 0), "{}", ran.stdout);
    ran.says(&["a named pipe"]);
}

#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_cache_that_others_can_write_is_not_used_and_said_once() {
        let mut bench = Bench::new();
        let cache = bench.path("outer/cache");
        bench.set("ANYMETAL_CACHE", cache.to_str().unwrap());
        saxpy(&bench).expect(0);
        let mut entries = Vec::new();
        files(&cache, &mut entries);
        assert_eq!(entries.len(), 2, "an object and a manifest");
        let shared = [cache.clone(), bench.path("outer"), entries[0].parent().unwrap().to_owned()];
        for path in shared.iter().chain(&entries[..1]) {
            let before = std::fs::metadata(path).unwrap().permissions();
            set_mode(path, 0o777);
            let ran = saxpy(&bench).expect(0).says(&["note: the cache folder", "mode 0777", "chmod go-w"]);
            assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
            if path.is_dir() {
                let shown = std::fs::canonicalize(path).unwrap().display().to_string();
                let doctor = bench.run(&["doctor"]);
                assert!(path != &cache || doctor.stdout.contains(&shown), "{}", doctor.stdout);
                std::fs::set_permissions(path, before).unwrap();
            }
        }
        assert_eq!(saxpy(&bench).expect(0).stderr, "", "the entry was replaced by one of this user");
    }

    #[test]
    fn pipes_in_the_cache_are_not_waited_for() {
        let mut bench = Bench::new();
        let cache = bench.path("cache");
        bench.set("ANYMETAL_CACHE", cache.to_str().unwrap());
        saxpy(&bench).expect(0);
        let mut entries = Vec::new();
        files(&cache, &mut entries);
        for entry in &entries {
            std::fs::remove_file(entry).unwrap();
            assert!(Command::new("mkfifo").arg(entry).status().unwrap().success());
        }
        saxpy(&bench).expect(0).says(&["note: the cache folder", "a named pipe"]);
    }
}

#[test]
fn a_compiler_bug_is_reported_with_a_reproducer_that_replays() {
    let mut bench = Bench::new();
    bench.set("ANYMETAL_CACHE", bench.path("cache").to_str().unwrap());
    for (stage, kernel) in
        [("front end", None), ("middle end", Some("saxpy")), ("code generator", Some("saxpy"))]
    {
        bench.set("ANYMETAL_TEST_COMPILER_BUG", stage);
        let ran = saxpy(&bench).expect(4).says(&[
            &format!("compiler bug in stage `{stage}`"),
            "injected_bug.rs:",
            "anymetal-reproducers",
        ]);
        assert!(!ran.stderr.contains("panicked at"), "{}", ran.stderr);
        let after = ran.stderr.split_once("the reproducer ").expect("a path").1;
        let path = after.lines().next().expect("a path").to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let replay = kernel.map_or(" --all".to_owned(), |kernel| format!(" -k '{kernel}'"));
        assert!(
            text.contains(&format!("// replay: anymetal compile THIS_FILE{replay} --math fast")),
            "{text}"
        );
        assert!(text.contains("kernel void saxpy"), "{text}");
        let replay = ["compile", path.as_str(), "-k", "saxpy"];
        bench.run(&replay).expect(4).says(&[&format!("stage `{stage}`")]);
        bench.set("ANYMETAL_TEST_COMPILER_BUG", "");
        bench.run(&replay).expect(0);
    }
    bench.set("ANYMETAL_TEST_COMPILER_BUG", "middle end");
    let file = source("saxpy.metal");
    let json = bench.run(&["compile", file.as_str(), "-k", "saxpy", "--json"]).expect(4).json();
    assert!(json.to_string().contains("\"compiler-bug\""), "{json}");
    // A bug that only optimisation shows: compiled without, unless the user searches for the pass.
    bench.set("ANYMETAL_TEST_COMPILER_BUG", "optimiser");
    saxpy(&bench).expect(0).says(&[
        "warning[compiler-bug]: kernel `saxpy` was compiled without optimisation",
        "anymetal-reproducers",
    ]);
    let bisected = ["compile", file.as_str(), "-k", "saxpy", "--opt-bisect-limit", "100"];
    bench.run(&bisected).expect(4).says(&["compiler bug in stage `middle end`"]);
}
