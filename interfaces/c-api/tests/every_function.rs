//! Every function of the header, called with NULL and hostile values for each parameter.
//!
//! The calls are written from the header: a new function, or a parameter of a new type, fails this test
//! until the tables here have a valid value for it.

mod compiled;

use std::collections::BTreeSet;
use std::fmt::Write;

use compiled::{root, run};

/// The handles: the name of the type without `anymetal_`, and a live handle of another type.
const HANDLES: [(&str, &str); 7] = [
    ("device", "queue"),
    ("library", "device"),
    ("kernel", "library"),
    ("buffer", "queue"),
    ("function_table", "buffer"),
    ("queue", "kernel"),
    ("submission", "buffer"),
];

/// Valid values for the parameters that are not handles and not places for results.
const VALID: &[(&str, &str)] = &[
    ("anymetal_device_open.name", "\"cpu\""),
    ("anymetal_library_compile.source", "SOURCE"),
    ("anymetal_library_compile.length", "strlen(SOURCE)"),
    ("anymetal_library_compile.math_mode", "ANYMETAL_MATH_SAFE"),
    ("anymetal_kernel_make.name", "\"f\""),
    ("anymetal_kernel_make_linked.name", "\"f\""),
    ("anymetal_kernel_make_linked.functions", "functions"),
    ("anymetal_kernel_make_linked.function_count", "1"),
    ("anymetal_kernel_argument.number", "0"),
    ("anymetal_buffer_make.bytes", "16"),
    ("anymetal_buffer_borrow.memory", "memory"),
    ("anymetal_buffer_borrow.bytes", "16"),
    ("anymetal_buffer_read.offset", "4"),
    ("anymetal_buffer_read.bytes", "memory"),
    ("anymetal_buffer_read.count", "4"),
    ("anymetal_buffer_write.offset", "4"),
    ("anymetal_buffer_write.bytes", "memory"),
    ("anymetal_buffer_write.count", "4"),
    ("anymetal_function_table_make.kernel", "kernel_with_table"),
    ("anymetal_function_table_make.names", "NAMES"),
    ("anymetal_function_table_make.count", "1"),
    ("anymetal_function_table_set.index", "0"),
    ("anymetal_function_table_set.name", "\"twice\""),
    ("anymetal_launch.arguments", "arguments"),
    ("anymetal_launch.argument_count", "3"),
    ("anymetal_launch.grid", "GRID"),
    ("anymetal_launch_within.arguments", "arguments"),
    ("anymetal_launch_within.argument_count", "3"),
    ("anymetal_launch_within.grid", "GRID"),
    ("anymetal_launch_within.deadline_seconds", "10.0"),
];

/// The parameters for which NULL has a meaning.
const OPTIONAL: &[&str] = &[
    "anymetal_device_open.name",
    "anymetal_function_table_set.name",
    "anymetal_launch.submission",
    "anymetal_launch_within.submission",
    "anymetal_submission_wait.device_seconds",
];

/// The results of functions without a status for a handle that is not live.
const NEUTRAL: &[(&str, &str)] = &[
    ("anymetal_device_name", "strcmp(RESULT, \"\") == 0"),
    ("anymetal_kernel_max_threads_per_threadgroup", "RESULT == 0"),
    ("anymetal_kernel_is_machine_code", "!RESULT"),
    ("anymetal_kernel_argument_count", "RESULT == 0"),
    ("anymetal_buffer_length", "RESULT == 0"),
    ("anymetal_submission_is_done", "RESULT"),
];

struct Function {
    result: String,
    name: String,
    /// Type and name.
    parameters: Vec<(String, String)>,
}

/// The functions that the header declares.
fn declared(header: &str) -> Vec<Function> {
    let mut text = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        text.push_str(before);
        rest = comment.split_once("*/").expect("a comment ends").1;
    }
    text.push_str(rest);
    let text: String =
        text.lines().filter(|line| !line.starts_with('#')).flat_map(|line| [line, " "]).collect();
    let statements = text.split(';').filter(|one| one.contains("anymetal_") && one.contains('('));
    // Functions with a body are C of the caller's own.
    statements.filter(|one| !one.contains('{') && !one.contains('=')).map(function).collect()
}

fn function(declaration: &str) -> Function {
    // What a body before it leaves: `}`.
    let declaration = declaration.rsplit('}').next().unwrap_or_default();
    let (head, parameters) = declaration.split_once('(').unwrap();
    let name = head.split_whitespace().last().unwrap().trim_start_matches('*').to_owned();
    let result = head.trim().strip_suffix(&name).unwrap().trim().to_owned();
    let parameters = parameters.trim().trim_end_matches(')').split(',').map(str::trim);
    let parameters = parameters.filter(|one| !one.is_empty() && *one != "void").map(|one| {
        let at = one.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap() + 1;
        let kind: Vec<&str> = one[..at].split_whitespace().collect();
        (kind.join(" "), one[at..].to_owned())
    });
    Function { result, name, parameters: parameters.collect() }
}

/// Which handle a type is, by its place in [`HANDLES`].
fn handle_of(kind: &str) -> Option<(&'static str, &'static str)> {
    let kind = kind.trim_start_matches("const ").strip_suffix('*')?.trim();
    HANDLES.into_iter().find(|(name, _)| kind.strip_prefix("anymetal_") == Some(name))
}

fn is_place(kind: &str) -> bool {
    let is_result = |kind: &str| matches!(kind, "double *" | "uint64_t *" | "anymetal_argument_info *");
    !kind.starts_with("const ") && (kind.ends_with("**") || is_result(kind))
}

fn valid(function: &Function, kind: &str, name: &str) -> String {
    let parameter = format!("{}.{name}", function.name);
    let listed = VALID.iter().find(|(listed, _)| *listed == parameter).map(|(_, value)| (*value).to_owned());
    let value = listed.or_else(|| handle_of(kind).map(|(handle, _)| handle.to_owned()));
    let value = value.or_else(|| is_place(kind).then(|| format!("({kind})&place")));
    value.unwrap_or_else(|| panic!("add a valid value for `{parameter}` to `VALID`"))
}

/// Hostile values of a parameter, and whether each must be refused whatever the other arguments are.
fn hostile(function: &Function, kind: &str, name: &str) -> Vec<(String, bool)> {
    let parameter = format!("{}.{name}", function.name);
    let is_required = !OPTIONAL.contains(&&*parameter);
    let mut values = Vec::new();
    let mut add = |value: &str, is_refused: bool| values.push((value.to_owned(), is_refused));
    if let Some((handle, other)) = handle_of(kind) {
        add("NULL", true);
        for value in ["8", "memory", other, &format!("released_{handle}"), "(uintptr_t)-1"] {
            add(&format!("({kind})({value})"), true);
        }
        return values;
    }
    if is_place(kind) {
        add("NULL", is_required);
        add(&format!("({kind})((char *)&place + 1)"), true);
        return values;
    }
    match kind {
        "size_t" => {
            add("0", false);
            (0..6).for_each(|at| add(&format!("HUGE[{at}]"), true));
        }
        // With a length: NULL is valid for none.
        "const char *" if name == "source" => {
            add("NULL", false);
            add("\"\\xff\\xfe and a text that is as long as the length says\"", false);
        }
        "const char *" => {
            add("NULL", is_required);
            add("\"\\xff\\xfe\"", true);
        }
        "const void *" | "void *" => add("NULL", false),
        "anymetal_math_mode" => {
            ["-1", "3", "INT_MAX"].iter().for_each(|one| add(&format!("({kind})({one})"), true));
        }
        "const anymetal_linked_function *" => {
            add("NULL", false);
            (0..5).for_each(|at| add(&format!("bad_functions[{at}]"), false));
            add("(void *)((char *)functions + 1)", false);
        }
        "const char *const *" => {
            add("NULL", false);
            add("BAD_NAMES", false);
        }
        "const anymetal_argument *" => {
            add("NULL", false);
            add("(void *)((char *)arguments + 1)", false);
            // 13 and three of each of the lengths.
            (0..28).for_each(|at| add(&format!("bad_arguments[{at}]"), false));
        }
        "double" => {
            ["-1.0", "1e300", "1.0 / 0.0", "-1.0 / 0.0", "0.0 / 0.0"].iter().for_each(|one| add(one, true));
        }
        "anymetal_grid" => {
            add("(anymetal_grid){{0, 0, 0}, {0, 0, 0}}", false);
            add("(anymetal_grid){{UINT_MAX, UINT_MAX, UINT_MAX}, {0, 0, 0}}", false);
            add("(anymetal_grid){{UINT_MAX, UINT_MAX, UINT_MAX}, {UINT_MAX, UINT_MAX, UINT_MAX}}", false);
            add("(anymetal_grid){{1, 1, 1}, {UINT_MAX, 1, 0}}", false);
            add("(anymetal_grid){{1, 1, 1}, {0, 1, 1}}", false);
        }
        other => panic!("`{parameter}` is a `{other}`, for which there are no hostile values here"),
    }
    values
}

/// A call in C with a check of how it ends.
fn call(function: &Function, arguments: &[String], is_refused: bool, is_neutral: bool) -> String {
    let (name, written) = (&function.name, arguments.join(", "));
    let call = format!("{name}({written})");
    let text = format!("{call:?}");
    if function.result == "anymetal_status" {
        let expected = if is_refused { "REFUSED" } else { "ANY" };
        // A result is given back, so that memory does not grow.
        let made = function.parameters.iter().find(|(kind, _)| kind.ends_with("**") && is_place(kind));
        let released = made.map_or(String::new(), |(kind, _)| {
            let kind = kind.trim_end_matches('*').trim();
            format!(
                "if (status == ANYMETAL_OK && place.handle != untouched.handle) {kind}_release(place.handle);"
            )
        });
        return format!(
            "{{ anymetal_status status = {call}; {released} \
             if (status == ANYMETAL_OK) memset(&place, 0x5a, sizeof place); check({text}, status, {expected}); }}"
        );
    }
    let neutral = NEUTRAL.iter().find(|(listed, _)| listed == name);
    match neutral {
        Some((_, test)) if is_neutral => {
            format!("if (!({})) fail({text}, \"not neutral\");", test.replace("RESULT", &call))
        }
        None if function.result != "void" && is_neutral => {
            panic!("add to `NEUTRAL` what `{name}` returns for handles that are not live")
        }
        Some(_) | None => format!("(void){call};"),
    }
}

fn calls(functions: &[Function]) -> String {
    let mut text = String::from("static void calls(void) {\n");
    for function in functions {
        let parameters = &function.parameters;
        let valid: Vec<String> = parameters.iter().map(|(kind, name)| valid(function, kind, name)).collect();
        let hostile: Vec<_> = parameters.iter().map(|(kind, name)| hostile(function, kind, name)).collect();
        let is_release = function.name.ends_with("_release");
        if !is_release {
            writeln!(text, "    {}", call(function, &valid, false, false)).unwrap();
        }
        for (one, values) in hostile.iter().enumerate() {
            for (value, is_refused) in values {
                let mut arguments = valid.clone();
                arguments[one].clone_from(value);
                writeln!(text, "    {}", call(function, &arguments, *is_refused, true)).unwrap();
                for (two, others) in hostile.iter().enumerate().skip(one + 1) {
                    for (other, is_other_refused) in others {
                        let mut arguments = arguments.clone();
                        arguments[two].clone_from(other);
                        let is_refused = *is_refused || *is_other_refused;
                        writeln!(text, "    {}", call(function, &arguments, is_refused, true)).unwrap();
                    }
                }
            }
        }
    }
    text.push_str("}\n");
    text
}

fn header() -> String {
    std::fs::read_to_string(root().join("include/anymetal.h")).unwrap()
}

#[test]
fn hostile_arguments_are_statuses_without_an_effect() {
    let functions = declared(&header());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("calls.inc"), calls(&functions)).unwrap();
    let include = format!("-I{}", folder.path().display());
    let ended = run(&root().join("tests/every_function.c"), &["-std=c11", "-Wno-unused", &include]);
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{}\n{out}\n{err}", ended.status);
    let made: usize = out.split_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or(0);
    assert!(made > 500, "only {made} calls were made");
}

/// The exported functions are those of the header, and take no pointer that is not checked.
#[test]
fn exported_functions_are_declared_and_take_only_checked_types() {
    let mut exported = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("src")).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in text.split("#[unsafe(no_mangle)]").skip(1) {
            let signature = part.split_once("fn ").unwrap().1;
            let (name, rest) = signature.split_once('(').unwrap();
            let parameters = rest.split_once(')').unwrap().0;
            assert!(!parameters.contains("*const") && !parameters.contains("*mut"), "{name} takes a pointer");
            assert!(
                !parameters.contains('&') && !parameters.contains("bool"),
                "{name} takes an unchecked value"
            );
            exported.insert(name.to_owned());
        }
    }
    let declared: BTreeSet<String> = declared(&header()).into_iter().map(|function| function.name).collect();
    assert_eq!(exported, declared);
}
