//! `bench --against`: what it says where there is nothing to compare with.

use crate::support::Bench;

#[test]
fn without_a_runtime_it_says_what_to_install() {
    let mut bench = Bench::new();
    // A loader that is installed looks for drivers here and finds none; without a loader it is the same.
    bench.set("OCL_ICD_VENDORS", format!("{}/", bench.path("").display()));
    bench.set("OCL_ICD_FILENAMES", "");
    let ran = bench.run(&["bench", "--against", "opencl", "--suite", "saxpy"]).expect(4);
    ran.says(&["no OpenCL CPU runtime is installed", "pocl-opencl-icd", "intel-opencl-rt"]);
}

#[test]
fn an_unknown_peer_is_wrong_usage() {
    Bench::new().run(&["bench", "--against", "abacus"]).expect(2).says(&["abacus", "opencl"]);
}
