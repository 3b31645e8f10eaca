//! `--family`: what GPUs of a family refuse is refused, with its place.

use crate::support::Bench;

const SUM: &str = "#include <metal_stdlib>
using namespace metal;
kernel void sum(device float* y, uint i [[thread_position_in_grid]])
{
    y[i] = simd_sum(y[i]);
}
kernel void twice(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }
";
const REFUSED: &str = "kernel `sum` uses what the GPU family apple5 does not have: SIMD-scoped reduction \
                       operations at sum.metal:5:12 (apple7 and later)";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("sum.metal", SUM);
    bench
}

#[test]
fn run_check_and_compile_refuse_what_the_family_refuses() {
    let bench = bench();
    let call = ["sum.metal", "-k", "sum", "--threads", "64", "--arg", "y=iota:f32:64", "--family"];
    for command in ["run", "check"] {
        let with = |family| [&[command], &call[..], &[family]].concat();
        bench.run(&with("apple5")).expect(1).says(&[REFUSED]);
        bench.run(&with("apple7")).expect(0);
    }
    bench.run(&["compile", "sum.metal", "-k", "sum", "--family", "apple5"]).expect(1).says(&[REFUSED]);
    let all = bench.run(&["compile", "sum.metal", "--all", "--family", "paravirtual"]).expect(1);
    assert!(all.stdout.ends_with("1 compiled, 1 failed\n"), "{}", all.stdout);
    let unknown = bench.run(&["compile", "sum.metal", "--all", "--family", "apple3"]).expect(2);
    unknown.says(&["`apple3` is not a family: apple4 to apple10"]);
}

#[test]
fn a_setting_does_the_same_and_json_names_the_place() {
    let mut bench = bench();
    bench.set("ANYMETAL_FAMILY", "apple5");
    let arguments = ["run", "sum.metal", "-k", "sum", "--threads", "64", "--arg", "y=iota:f32:64", "--json"];
    let error = bench.run(&arguments).expect(1).json()["error"].clone();
    assert_eq!((&error["id"], &error["family"]), (&"family".into(), &"apple5".into()));
    let used = &error["uses"][0];
    assert_eq!(
        (&used["line"], &used["column"], &used["first_family"]),
        (&5.into(), &12.into(), &"apple7".into())
    );
    bench.set("ANYMETAL_FAMILY", "");
    bench.write("settings.toml", "family = 'apple5'\n");
    bench.set("ANYMETAL_CONFIG", "settings.toml");
    bench.run(&arguments).expect(1);
    bench.write("settings.toml", "family = 'apple55'\n");
    bench.run(&arguments).expect(1).says(&["`apple55` is not a family"]);
}

#[test]
fn a_workload_is_refused_before_it_runs() {
    let bench = bench();
    bench.write(
        "work.toml",
        "source = 'sum.metal'\n[buffers]\ny = 'iota:f32:64'\n[[queue]]\nname = 'q'\n[[step]]\nname = 's'\n\
         queue = 'q'\nkernel = 'sum'\nargs = ['y']\nthreads = 64\n",
    );
    let run = |family| bench.run(&["trace", "work.toml", "-o", "out.json", "--family", family]);
    run("apple6").expect(1).says(&["the GPU family apple6 does not have"]);
    run("apple9").expect(0);
}

#[test]
fn the_table_of_families_is_printed() {
    let bench = bench();
    let text = bench.run(&["devices", "--families"]).expect(0).stdout;
    assert!(text.contains("SIMD-scoped reduction operations") && text.contains("apple10"), "{text}");
    let json = bench.run(&["devices", "--families", "--json"]).expect(0).json();
    let families = json["families"].as_array().unwrap();
    assert_eq!(families.len(), 11);
    let runner = families.iter().find(|family| family["name"] == "paravirtual").unwrap();
    assert_eq!(runner["features"]["brain float (bfloat)"], false);
    assert_eq!(runner["limits"]["buffer_bytes"], 3_758_096_384u64);
}
