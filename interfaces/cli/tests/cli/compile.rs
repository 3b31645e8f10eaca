//! `anymetal compile` and `anymetal devices`.

use serde_json::json;

use crate::support::{Bench, source};

#[test]
fn all_kernels_are_compiled_and_counted() {
    let bench = Bench::new();
    for device in ["cpu", "interpreter"] {
        let ran = bench.run(&["compile", &source("saxpy.metal"), "--all", "--device", device]).expect(0);
        assert_eq!(ran.stdout.lines().last(), Some("2 compiled, 0 failed"));
    }
    let ran = bench.run(&["compile", &source("mixed.metal"), "--all"]).expect(1);
    assert_eq!(ran.stdout.lines().last(), Some("1 compiled, 1 failed"));
    ran.says(&["missing_function", "mixed.metal:13", "failed: wrong_float"]);
    let object = bench.run(&["compile", &source("mixed.metal"), "--all", "--json"]).expect(1).json();
    assert_eq!((&object["compiled"], &object["failed"]), (&json!(1), &json!(1)));
    assert_eq!(object["kernels"][0]["name"], "right");
    assert_eq!(object["kernels"][1]["status"], "failed");
}

#[test]
fn files_are_checked_without_code() {
    let bench = Bench::new();
    bench.write("right.metal", "kernel void k(device int* o [[buffer(0)]]) { o[0] = 1; }\n");
    // No kernel calls the function.
    bench.write("wrong.metal", "void f() { int x = missing; }\nvoid g() { also_missing(); }\n");
    bench.run(&["compile", "--check", "right.metal"]).expect(0);
    let ran = bench.run(&["compile", "--check", "right.metal", "wrong.metal"]).expect(1);
    assert_eq!(ran.stdout.lines().last(), Some("2 checked, 1 with errors"));
    ran.says(&["wrong.metal:1", "wrong.metal:2"]);
    let object = bench.run(&["compile", "--check", "wrong.metal", "right.metal", "--json"]).expect(1).json();
    assert_eq!((&object["checked"], &object["failed"]), (&json!(2), &json!(1)));
    assert_eq!(object["files"][0]["diagnostics"].as_array().map(Vec::len), Some(2));
    assert_eq!(object["files"][1]["status"], "ok");
    // Several files are for checks, and a file that is not there does not hide what is wrong with others.
    bench.run(&["compile", "right.metal", "wrong.metal"]).expect(2);
    let ran = bench.run(&["compile", "--check", "none.metal", "wrong.metal"]).expect(1);
    ran.says(&["none.metal", "wrong.metal:1"]);
}

#[test]
fn files_are_changed_as_their_diagnostics_say() {
    let bench = Bench::new();
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    let wrong = "#define HALF(x) ((x) / tow)\nkernel void k(device float* out [[buffer(0)]]) {\n    \
                 float value = 1.0f\n    out[0] = vlaue;\n    out[1] = HALF(valeu);\n}\n";
    bench.write("wrong.metal", wrong);
    // The name in the macro's body stays, and is an error; the argument is spelled where it is used.
    let ran = bench.run(&["compile", "--fix", "wrong.metal"]).expect(1);
    assert_eq!(ran.stdout.lines().last(), Some("1 checked, 1 with errors, 3 diagnostics fixed"));
    let fixed = wrong.replace("1.0f", "1.0f;").replace("vlaue", "value").replace("valeu", "value");
    assert_eq!(read("wrong.metal"), fixed);

    bench.write("member.metal", "struct S { int size; };\nint f(thread S* s) { return s.size; }\n");
    let object = bench.run(&["compile", "--fix", "member.metal", "--json"]).expect(0).json();
    let file = &object["files"][0];
    assert_eq!((&file["fixed"], &file["left_out"], &file["status"]), (&json!(1), &json!(0), &json!("ok")));
    assert_eq!(file["edits"][0]["text"], "->");
    assert_eq!(file["edits"][0]["line"], 2);
    assert!(read("member.metal").contains("s->size"));
    // Without the option the edits are listed only.
    bench.write("wrong.metal", wrong);
    let object = bench.run(&["compile", "--check", "wrong.metal", "--json"]).expect(1).json();
    assert_eq!(object["files"][0]["diagnostics"][0]["edits"][0]["text"], ";");
    assert_eq!(read("wrong.metal"), wrong);
    bench.run(&["compile", "--fix", "--check", "wrong.metal"]).expect(2);
    bench.run(&["compile", "--fix", "kernel.cl"]).expect(2);
}

#[test]
fn errors_are_reported_up_to_a_limit() {
    let bench = Bench::new();
    let lines: String = (0..30).map(|n| format!("int f{n}() {{ return missing_{n}; }}\n")).collect();
    bench.write("many.metal", &lines);
    let count = |arguments: &[&str]| {
        let ran = bench.run(&[&["compile", "--check", "many.metal"], arguments].concat()).expect(1);
        (ran.stderr.matches("error[unknown-name]").count(), ran.stderr.contains("too-many-errors"))
    };
    assert_eq!(count(&[]), (20, true));
    assert_eq!(count(&["--error-limit", "3"]), (3, true));
    assert_eq!(count(&["--error-limit", "30"]), (30, false));
    assert_eq!(count(&["--error-limit", "0"]), (30, false));
}

#[test]
fn diagnostics_are_explained() {
    let bench = Bench::new();
    let ran = bench.run(&["--explain", "no-conversion"]).expect(0);
    assert!(ran.stdout.starts_with("no-conversion: a value cannot be converted"), "{}", ran.stdout);
    assert!(ran.stdout.contains("An error.") && ran.stdout.contains("For example"), "{}", ran.stdout);
    assert!(bench.run(&["--explain", "-Wshadow"]).expect(0).stdout.contains("-Wshadow switches on"));
    bench.run(&["--explain", "no-conversoin"]).expect(2).says(&["did you mean `no-conversion`?"]);
    bench.run(&["--explain", "no-conversion", "devices"]).expect(2);
    bench.run(&[]).expect(2);
}

#[test]
fn function_constants_get_stand_ins_when_compiling_and_a_note_says_so() {
    let bench = Bench::new();
    bench.write(
        "constants.metal",
        "constant int width [[function_constant(3)]];\nconstant bool twice [[function_constant(0)]];\n\
         kernel void k(device int* o [[buffer(0)]]) { o[0] = twice ? width * 3 : 0; }\n",
    );
    for arguments in [&["--all"][..], &["-k", "k"], &["-k", "k", "--emit", "ir"]] {
        let arguments = [&["compile", "constants.metal"], arguments].concat();
        bench
            .run(&arguments)
            .expect(0)
            .says(&["`bool twice` (index 0), `int width` (index 3)", "--constant"]);
    }
    let given =
        ["compile", "constants.metal", "--all", "--constant", "width=i32:7", "--constant", "0=bool:true"];
    assert_eq!(bench.run(&given).expect(0).stderr, "");
    // Those of conditions of arguments and those of the body are named together.
    bench.write(
        "conditions.metal",
        "constant bool a [[function_constant(2)]];\nconstant bool b [[function_constant(1)]];\n\
         constant int c [[function_constant(0)]];\n\
         kernel void k(device int* o [[buffer(0), function_constant(a)]],\n\
         device int* p [[buffer(1), function_constant(b)]]) { if (a) { o[0] = c; } if (b) { p[0] = 1; } }\n",
    );
    bench
        .run(&["compile", "conditions.metal", "--all"])
        .expect(0)
        .says(&["`int c` (index 0), `bool b` (index 1), `bool a` (index 2)"]);
    // A run needs the real values.
    let run = ["run", "constants.metal", "-k", "k", "--threads", "1", "--arg", "0=zeros:i32:1"];
    bench.run(&run).expect(1).says(&["needs values for its function constants"]);
}

#[test]
fn code_is_shown_for_one_threadgroup_size_and_without_checks() {
    let bench = Bench::new();
    let base = ["compile", &source("saxpy.metal"), "-k", "saxpy", "--emit", "llvm"];
    let shown = |extra: &[&str]| bench.run(&[&base[..], extra].concat()).expect(0).stdout;
    let (any, fixed) = (shown(&[]), shown(&["--group", "64"]));
    assert_ne!(any, fixed);
    assert!(any.contains("am.note") && !shown(&["--checks", "off"]).contains("am.note"));
}

#[test]
fn one_kernel_is_chosen_by_name() {
    let bench = Bench::new();
    bench.run(&["compile", &source("mixed.metal"), "-k", "right"]).expect(0);
    bench
        .run(&["compile", &source("mixed.metal"), "-k", "wrong_float"])
        .expect(1)
        .says(&["missing_function"]);
    bench.run(&["compile", &source("mixed.metal"), "-k", "rigth"]).expect(1).says(&["did you mean `right`?"]);
    bench.run(&["compile", &source("mixed.metal")]).expect(2).says(&["-k NAME or --all", "right"]);
}

#[test]
fn stages_are_shown() {
    let bench = Bench::new();
    for (stage, part) in
        [("ir", "saxpy"), ("llvm", "define"), ("asm", "anymetal_kernel"), ("reflect", "buffer(2) a")]
    {
        let ran = bench.run(&["compile", &source("saxpy.metal"), "-k", "saxpy", "--emit", stage]).expect(0);
        assert!(ran.stdout.contains(part), "{stage}: {}", ran.stdout);
    }
    bench.run(&["compile", &source("saxpy.metal"), "-k", "saxpy", "--emit", "ptx"]).expect(2);
    bench.run(&["compile", &source("saxpy.metal"), "-k", "saxpy", "--emit", "soup"]).expect(2);
}

/// The numbers of the executions that `--print-after all` shows, with the names of the passes.
fn executions(bench: &Bench, options: &[&str]) -> Vec<(String, u64)> {
    let file = source("saxpy.metal");
    let command =
        [&["compile", &file, "-k", "saxpy", "--group", "64", "--print-after", "all"], options].concat();
    let ran = bench.run(&command).expect(0);
    let heads = ran.stdout.lines().filter_map(|line| line.strip_prefix("; after "));
    let execution = |head: &str| {
        let (pass, number) = head.split_once(", execution ")?;
        Some((pass.to_owned(), number.split(':').next()?.parse().ok()?))
    };
    heads.map(|head| execution(head).expect("a pass and its number")).collect()
}

#[test]
fn passes_are_chosen_by_level_name_and_number() {
    let bench = Bench::new();
    let all = executions(&bench, &[]);
    let (_, last) = all.last().expect("passes change something");
    let in_the_middle = last / 2;
    let limited = executions(&bench, &["--opt-bisect-limit", &in_the_middle.to_string()]);
    let below: Vec<_> = all.iter().filter(|(_, number)| *number <= in_the_middle).cloned().collect();
    assert_eq!(limited[..below.len()], below[..]);
    assert!(!executions(&bench, &["--disable-pass", "fold"]).iter().any(|(pass, _)| pass == "fold"));
    assert!(executions(&bench, &["-O0"]).iter().all(|(_, number)| *number == 0), "only required passes");
    for wrong in [["--disable-pass", "inline"], ["--disable-pass", "soup"], ["-O", "3"]] {
        bench.run(&[&["compile", &source("saxpy.metal"), "-k", "saxpy"], &wrong[..]].concat()).expect(2);
    }
}

#[test]
fn remarks_have_kind_place_and_cause() {
    let bench = Bench::new();
    let kernel = "kernel void gather(device const float* x, device const uint* at, device float* y,
                   uint i [[thread_position_in_grid]]) {
    y[i] = x[at[i]];
}
";
    bench.write("gather.metal", kernel);
    let remarks = |kinds: &str| {
        let arguments = ["compile", "gather.metal", "--group", "64", "--device", "cpu", "--json", kinds];
        bench.run(&arguments).expect(0).json()["kernels"][0]["remarks"].as_array().expect("a list").clone()
    };
    let all = remarks("--remarks");
    let gather = all.iter().find(|remark| remark["name"] == "load-gather").expect("a gather");
    assert_eq!((&gather["kind"], &gather["line"]), (&"missed".into(), &3.into()));
    assert_eq!((&gather["arguments"]["cause_line"], &gather["file"]), (&3.into(), &"gather.metal".into()));
    assert!(all.iter().any(|remark| remark["name"] == "store-contiguous" && remark["line"] == 3));
    let missed = remarks("--remarks=missed");
    assert!(!missed.is_empty() && missed.len() < all.len());
    assert!(missed.iter().all(|remark| remark["kind"] == "missed"));
    let text = bench.run(&["compile", "gather.metal", "--device", "cpu", "--remarks"]).expect(0).stdout;
    assert!(text.contains("remark[load-gather]") && text.contains("--> gather.metal:3:"), "{text}");
    for refused in [["--device", "nvidia"], ["--device", "interpreter"], ["--emit", "ir"]] {
        bench.run(&[&["compile", "gather.metal", "--remarks"], &refused[..]].concat()).expect(2);
    }
}

#[test]
fn reflection_has_the_contracts_fields() {
    let bench = Bench::new();
    let ran = bench.run(&["compile", &source("arguments.metal"), "--emit", "reflect", "--json"]).expect(0);
    let object = ran.json();
    let kernel = |name: &str| {
        let kernels = object["kernels"].as_array().expect("a list");
        kernels.iter().find(|kernel| kernel["name"] == name).cloned().unwrap_or_else(|| panic!("no {name}"))
    };
    let expected = json!({
        "index": 1, "name": "params", "kind": "buffer", "address_space": "constant", "type": "Params",
        "scalar": null, "size": 12, "alignment": 4, "reference": true, "access": "read", "enabled": true,
    });
    assert_eq!(kernel("with_struct")["arguments"][1], expected);
    let shared = kernel("with_memory")["arguments"][2].clone();
    assert_eq!((&shared["kind"], &shared["address_space"]), (&json!("threadgroup"), &json!("threadgroup")));
    assert_eq!(kernel("with_vectors")["arguments"][0]["type"], "float4");
    assert_eq!(kernel("with_limit")["max_threads_per_threadgroup"], 64);
    let constants = object["function_constants"].as_array().expect("a list");
    assert_eq!(constants.len(), 2);
    assert_eq!(constants[0], json!({ "index": 0, "name": "factor", "type": "int", "required": true }));
}

#[test]
fn diagnostics_are_json_too_and_plain_off_a_terminal() {
    let bench = Bench::new();
    bench.write(
        "broken.metal",
        "kernel void f(device float* x) { x[0] = y; }\nkernel void g(device flot* x) {}\n",
    );
    let ran = bench.run(&["compile", "broken.metal", "--all", "--json"]).expect(1);
    let ran = ran.says(&["broken.metal:2", "flot", "did you mean `float`?"]);
    assert!(!ran.stderr.contains('\u{1b}'), "no colours off a terminal: {}", ran.stderr);
    let object = ran.json();
    let diagnostic = &object["kernels"][1]["error"]["diagnostics"][0];
    assert_eq!((&diagnostic["severity"], &diagnostic["line"]), (&json!("error"), &json!(2)));
    bench.write("broken.metal", "kernel void f(device float* x { }\n");
    let object = bench.run(&["compile", "broken.metal", "--all", "--json"]).expect(1).json();
    assert!(object["error"]["diagnostics"].is_array());
}

#[test]
fn includes_are_searched() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("headers")).unwrap();
    bench.write("headers/value.h", "#define VALUE 5\n");
    let text = "#include \"value.h\"\nkernel void f(device int* x [[buffer(0)]]) { x[0] = VALUE; }\n";
    bench.write("main.metal", text);
    bench.run(&["compile", "main.metal"]).expect(1).says(&["value.h", "not found"]);
    bench.run(&["compile", "main.metal", "-I", "headers"]).expect(0);
    bench.write("value.h", "#define VALUE 6\n");
    bench.run(&["compile", "main.metal"]).expect(0);
}

#[test]
fn devices_are_listed() {
    let bench = Bench::new();
    let object = bench.run(&["devices", "--json"]).expect(0).json();
    let cpu = &object["devices"][0];
    assert_eq!((&cpu["name"], &cpu["simd_width"]), (&json!("cpu"), &json!(32)));
    assert!(cpu["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert!(bench.run(&["devices"]).expect(0).stdout.contains("cpu"));
}
