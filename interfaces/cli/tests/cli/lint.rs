//! `anymetal lint`: all functions of files and folders, and reports for other programs.

use std::fs;

use serde_json::{Value, json};

use crate::support::Bench;

const RIGHT: &str = "#include <metal_stdlib>\nkernel void k(device int* o [[buffer(0)]]) { o[0] = 1; }\n";
const COMPARES: &str = "kernel void k(device int* o [[buffer(0)]]) {\n    o[0] == 1;\n}\n";
/// Nothing calls the helper.
const WRONG: &str = "void helper() {\n    int x = missing;\n}\n";

fn folder(bench: &Bench, name: &str) {
    fs::create_dir_all(bench.path(name)).unwrap();
}

#[test]
fn graphics_functions_and_helpers_that_nothing_reaches_are_checked() {
    let bench = Bench::new();
    let fragment = "#include <metal_stdlib>\nusing namespace metal;\n\
                    fragment float4 f() { return not_a_function(undeclared); }\n";
    for (name, text, place) in [
        ("fragment.metal", fragment.to_owned(), "fragment.metal:3:"),
        ("helper.metal", format!("{RIGHT}{WRONG}"), "helper.metal:4:"),
        ("alone.metal", WRONG.to_owned(), "alone.metal:2:"),
    ] {
        bench.write(name, text);
        bench.run(&["lint", name]).expect(1).says(&[place]);
    }
}

#[test]
fn warnings_are_shown_and_denied_by_name() {
    let bench = Bench::new();
    bench.write("compares.metal", COMPARES);
    let ran =
        bench.run(&["lint", "compares.metal"]).expect(0).says(&["unused-comparison", "compares.metal:2:"]);
    assert_eq!(ran.stdout, "1 file: 0 errors, 1 warning\n");
    for (denied, code) in [("warnings", 1), ("unused-comparison", 1), ("shadow", 0)] {
        bench.run(&["lint", "compares.metal", "--deny", denied]).expect(code);
    }
    bench.run(&["lint", "compares.metal", "--deny", "no-such"]).expect(0).says(&["unknown warning option"]);
    bench.write(
        "usual.metal",
        "kernel void k(device int* o [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n\
         \x20   int unused;\n    if (i = 3) { o[0] = 1 / 0; }\n}\n",
    );
    let usual = ["unused-variable", "parentheses", "division-by-zero"];
    bench.run(&["lint", "usual.metal", "-Wall"]).expect(0).says(&usual);
}

#[test]
fn files_of_folders_are_taken_unless_git_ignores_them() {
    let bench = Bench::new();
    folder(&bench, "kernels/deep");
    folder(&bench, "kernels/out");
    folder(&bench, "empty");
    bench.write("kernels/.gitignore", "out/\n");
    bench.write("kernels/notes.txt", "no source");
    bench.write(
        "kernels/shared.h",
        "inline int twice(int x) {\n    int unused_one;\n    return missing * x;\n}\n",
    );
    for name in ["kernels/a.metal", "kernels/deep/b.metal"] {
        let path = if name.contains("deep") { "../shared.h" } else { "shared.h" };
        bench.write(name, format!("#include \"{path}\"\n{RIGHT}"));
    }
    bench.write("kernels/out/c.metal", WRONG);
    bench.write("single.metal", COMPARES);
    let ran = bench.run(&["lint", "kernels", "single.metal"]).expect(1);
    // The header's error is reported once, though two files include it.
    assert_eq!(ran.stdout, "3 files: 1 error, 1 warning\n");
    assert_eq!(ran.stderr.matches("unknown-name").count(), 1, "{}", ran.stderr);
    assert_eq!(bench.run(&["lint", "--junit", "l.xml"]).expect(1).stdout, "3 files: 1 error, 1 warning\n");
    let junit = fs::read_to_string(bench.path("l.xml")).unwrap();
    assert!(
        junit.contains("tests=\"4\" failures=\"3\"") && junit.contains("errors in files that it includes"),
        "{junit}"
    );
    let object = bench.run(&["lint", "--json"]).expect(1).json();
    assert_eq!((&object["checked"], &object["failed"]), (&json!(3), &json!(2)));
    bench.run(&["lint", "empty"]).expect(1).says(&["no .metal file", "empty"]);
    bench.run(&["lint", "none"]).expect(1).says(&["no file or folder none"]);
}

#[test]
fn reports_name_files_from_the_root_of_the_repository() {
    let mut bench = Bench::new();
    folder(&bench, ".git");
    folder(&bench, "kernels");
    bench.write("kernels/wrong.metal", WRONG);
    bench.write("kernels/compares.metal", COMPARES);
    bench.write("kernels/right.metal", RIGHT);
    bench.enter("kernels");
    let reports = ["--sarif", "l.sarif", "--junit", "l.xml", "--gitlab", "l.json"];
    let ran = bench.run(&[&["lint", ".", "--github"], &reports[..]].concat()).expect(1);
    let commands: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(commands.len(), 2, "{}", ran.stdout);
    assert!(
        commands[0].starts_with("::warning file=kernels/compares.metal,line=2,col=5,title=unused-comparison")
    );
    assert!(commands[1].starts_with("::error file=kernels/wrong.metal,line=2,col=13,title=unknown-name"));

    let read = |name: &str| fs::read_to_string(bench.path("kernels").join(name)).unwrap();
    let sarif: Value = serde_json::from_str(&read("l.sarif")).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let rules = &sarif["runs"][0]["tool"]["driver"]["rules"];
    assert_eq!(results.len(), 2);
    for result in results {
        assert_eq!(rules[result["ruleIndex"].as_u64().unwrap() as usize]["id"], result["ruleId"]);
    }
    let place = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "kernels/wrong.metal");
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&json!(2), &json!(13)));

    let quality: Value = serde_json::from_str(&read("l.json")).unwrap();
    assert_eq!(quality[0]["location"], json!({ "path": "kernels/compares.metal", "lines": { "begin": 2 } }));
    assert_eq!((&quality[0]["severity"], &quality[1]["severity"]), (&json!("minor"), &json!("critical")));
    assert_ne!(quality[0]["fingerprint"], quality[1]["fingerprint"]);

    let junit = read("l.xml");
    for part in [
        "tests=\"3\" failures=\"1\"",
        "<testcase classname=\"lint\" name=\"kernels/right.metal\"/>",
        "<failure message=\"unknown name `missing`\" type=\"unknown-name\">",
        "<system-out>kernels/compares.metal:2:5: warning",
    ] {
        assert!(junit.contains(part), "no `{part}` in: {junit}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_in_every_report() {
    let bench = Bench::new();
    bench.write("long.metal", vec![b' '; (64 << 20) + 1]);
    bench.write("right.metal", RIGHT);
    let reports = ["--github", "--sarif", "l.sarif", "--junit", "l.xml", "--gitlab", "l.json"];
    let ran = bench.run(&[&["lint", "long.metal", "right.metal"], &reports[..]].concat()).expect(1);
    assert!(
        ran.stdout.starts_with("::error file=long.metal,title=not-checked::cannot read"),
        "{}",
        ran.stdout
    );
    for name in ["l.sarif", "l.xml", "l.json"] {
        let report = fs::read_to_string(bench.path(name)).unwrap();
        assert!(report.contains("long.metal") && report.contains("cannot read"), "{name}: {report}");
    }
    let object = bench.run(&["lint", "long.metal", "right.metal", "--json"]).expect(1).json();
    assert_eq!((&object["checked"], &object["failed"]), (&json!(2), &json!(1)));
}
