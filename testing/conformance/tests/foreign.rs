//! The comparison of third-party kernels, run on a few of our own to test the tool.

use anymetal_conformance::exec_file::folder;
use anymetal_conformance::execute::{Math, Source};
use anymetal_conformance::foreign::{Foreign, Settings, Verdict};
use anymetal_conformance::machine::Machine;

/// What comes of two launches of every entry point of a text.
fn verdicts(text: &str, math: Math, checks: bool) -> Vec<(String, Verdict)> {
    let source =
        Source { name: "foreign.metal".to_owned(), text: text.to_owned(), math, ..Source::default() };
    let foreign = Foreign::open(source, Settings { max_steps: 1_000_000, checks }).expect("it compiles");
    let kernels = foreign.kernels();
    let launches = kernels.iter().flat_map(|kernel| (0..2).map(move |seed| (kernel, seed)));
    launches.map(|(kernel, seed)| (format!("{kernel}, seed {seed}"), foreign.check(kernel, seed))).collect()
}

#[test]
fn executors_agree_on_generated_arguments() {
    Machine::of_process().expect("these tests need libLLVM");
    let mut same = 0;
    for name in ["library-simdgroup-matrix", "library-simd-groups", "library-pack-unpack"] {
        let text = std::fs::read_to_string(folder().join(format!("{name}.metal"))).expect("it can be read");
        for (math, checks) in [(Math::Safe, true), (Math::Fast, false)] {
            for (launch, verdict) in verdicts(&text, math, checks) {
                assert!(!matches!(verdict, Verdict::Differs(_)), "{name}: {launch}: {verdict:?}");
                same += usize::from(matches!(verdict, Verdict::Same { .. }));
            }
        }
    }
    assert!(same > 10, "only {same} launches were compared");
}

#[test]
fn kernels_without_a_single_outcome_are_skipped() {
    Machine::of_process().expect("these tests need libLLVM");
    let text = "#include <metal_stdlib>\nusing namespace metal;\n\
        kernel void endless(device int* a) { while (a[0] != 77777) { a[1] += 1; } }\n\
        kernel void pointers(device int* device* a) { a[0][0] = 1; }\n\
        kernel void beyond(device float* a, uint i [[thread_position_in_grid]]) { a[i * 4096] += 1.0f; }\n";
    let skipped = |reason: &str| Verdict::Skipped(reason.to_owned());
    let expected = [skipped("takes too long"), skipped("pointer in memory"), Verdict::Same { faults: true }];
    let verdicts = verdicts(text, Math::Safe, true);
    for (n, (launch, verdict)) in verdicts.into_iter().enumerate() {
        assert_eq!(verdict, expected[n / 2], "{launch}");
    }
}
