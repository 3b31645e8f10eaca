//! `anymetal doctor` on a machine that works and on ones that do not.

use crate::support::Bench;

#[test]
fn a_machine_that_works_ends_with_0_and_verified_results() {
    let mut bench = Bench::new();
    let cache = bench.path("cache");
    bench.set("ANYMETAL_CACHE", cache.to_str().unwrap());
    let ran = bench.run(&["doctor"]).expect(0);
    for part in ["devices\n", "compiler\n", "cache\n", "limits\n", "sensors\n", "settings\n", " 0 problems"] {
        assert!(ran.stdout.contains(part), "no `{part}` in {}", ran.stdout);
    }
    let json = bench.run(&["doctor", "--json"]).expect(0).json();
    assert_eq!(json["devices_work"], true);
    let checks = json["checks"].as_array().unwrap();
    let check = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert!(check("cpu, smoke kernel")["value"].as_str().unwrap().ends_with("results are right"));
    assert_eq!(check("ANYMETAL_CACHE")["value"], format!("{} (environment)", cache.display()));
    assert!(check("size")["value"].as_str().unwrap().contains("files"), "the first run filled the cache");
}

#[test]
fn a_device_that_cannot_be_made_ends_with_4_and_the_reason() {
    let mut bench = Bench::new();
    bench.set("ANYMETAL_CPU_LEVEL", "avx2");
    let ran = bench.run(&["doctor"]).expect(4);
    assert!(
        ran.stdout.contains("problem  listing: `avx2` is no valid value for ANYMETAL_CPU_LEVEL"),
        "{}",
        ran.stdout
    );
    let json = bench.run(&["doctor", "--json"]).expect(4).json();
    assert!(json["problems"].as_u64().unwrap() >= 1);
}

#[test]
fn what_is_slow_or_misspelt_is_a_warning() {
    let mut bench = Bench::new();
    bench.set("ANYMETAL_LLVM", "none");
    bench.set("ANYMETAL_CASHE", "off");
    let ran = bench.run(&["doctor"]).expect(0);
    assert!(ran.stdout.contains("warning  LLVM: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("nothing reads it; did you mean ANYMETAL_CACHE?"), "{}", ran.stdout);
    assert!(ran.stdout.contains("warning  folder: off"), "{}", ran.stdout);
}

#[test]
fn a_programs_needs_are_compared_with_what_is_there() {
    let bench = Bench::new();
    let (whole, lacking, other) = (bench.path("whole.py"), bench.path("lacking.py"), bench.path("other"));
    std::fs::write(&whole, "msg('newBufferWithLength:options:'); getClass(b'MTLCompileOptions')").unwrap();
    std::fs::write(&lacking, "msg('parallelRenderCommandEncoderWithDescriptor:')").unwrap();
    std::fs::write(&other, [0xff, 0xfe]).unwrap();
    let ran = bench.run(&["doctor", "--program", whole.to_str().unwrap()]).expect(0);
    assert!(ran.stdout.contains("classes: 1 used, 0 missing"), "{}", ran.stdout);
    let ran = bench.run(&["doctor", "--program", lacking.to_str().unwrap()]).expect(3);
    assert!(
        ran.stdout.contains("method parallelRenderCommandEncoderWithDescriptor:: no class has it"),
        "{}",
        ran.stdout
    );
    let json = bench.run(&["doctor", "--json", "--program", lacking.to_str().unwrap()]).expect(3).json();
    assert_eq!(json["missing"], 1);
    let ran = bench.run(&["doctor", "--program", other.to_str().unwrap()]).expect(1);
    assert!(ran.stderr.contains("neither an ELF file nor text"), "{}", ran.stderr);
}
