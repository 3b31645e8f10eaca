//! Jobs on every OpenCL CPU runtime of this machine. Without one, that is what must be said.

use anymetal_bench_peers::job::{Argument, Contents, Job, JobStep};
use anymetal_bench_peers::opencl::{OpenCl, runtimes};
use anymetal_bench_peers::peer::{Form, Loaded, PeerError, Runtime as _};

const SCALE: &str = "kernel void scale(global const float* x, global float* y, float a, uint2 range) {
    size_t i = get_global_id(0);
    if (i >= range.x && i < range.y) y[i] = a * x[i];
}";

fn job<'a>(form: &'static str, x: &'a [u8], result: usize) -> Job<'a> {
    let arguments =
        vec![Argument::Buffer(0), Argument::Buffer(1), Argument::F32(2.0), Argument::U32x2([1, 3])];
    let step = JobStep { kernel: "scale", arguments, global: [4, 1, 1], local: None };
    let buffers = vec![Contents::Bytes(x), Contents::Zeroed(16)];
    Job { opencl: vec![form], cuda: None, buffers, steps: vec![step], result, product: None }
}

fn floats(values: [f32; 4]) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// All runtimes; none is fine, any other failure is not.
fn installed() -> Vec<OpenCl> {
    match runtimes() {
        Ok(found) => {
            assert!(!found.is_empty());
            found
        }
        Err(PeerError::NoRuntime) => Vec::new(),
        Err(other) => panic!("{other}"),
    }
}

fn load<'a>(runtime: &'a OpenCl, job: &Job<'_>) -> Result<Box<dyn Loaded + 'a>, PeerError> {
    let form = Form { source: job.opencl[0], options: "" };
    runtime.load(job, form)
}

#[test]
fn a_job_computes_on_every_runtime() {
    let x = floats([1.0, 2.0, 3.0, 4.0]);
    for runtime in installed() {
        let loaded = load(&runtime, &job(SCALE, &x, 1)).expect("the job is right");
        assert_eq!(loaded.result().expect("a read"), floats([0.0; 4]), "{}", runtime.name());
        loaded.run().expect("the job is right");
        assert_eq!(loaded.result().expect("a read"), floats([0.0, 4.0, 6.0, 0.0]), "{}", runtime.name());
    }
}

#[test]
fn a_wrong_job_is_an_error() {
    let x = floats([1.0; 4]);
    for runtime in installed() {
        let broken = "kernel void scale(global float* x) { x[0] = nothing; }";
        let error = load(&runtime, &job(broken, &x, 1)).expect_err("the text is wrong");
        assert!(matches!(&error, PeerError::Build { log, .. } if log.contains("nothing")), "{error}");
        let error = load(&runtime, &job(SCALE, &x, 7)).expect_err("there is no buffer 7");
        assert!(matches!(error, PeerError::NoSuchBuffer { index: 7, count: 2 }), "{error}");
        let mut mistyped = job(SCALE, &x, 1);
        mistyped.steps[0].arguments[3] = Argument::U32(1);
        let error = load(&runtime, &mistyped).expect_err("a uint is no uint2");
        assert!(matches!(error, PeerError::Call { call: "clSetKernelArg", .. }), "{error}");
    }
}
