//! The work of operations as metrics, read from the process's own recorder.

use std::process::Command;
use std::time::{Duration, Instant};

use anymetal::Device;
use anymetal_service::ServiceLayers;
use anymetal_tensor_ops::{DType, MatmulOptions, Ops, Path, Tensor};

const CHILD: &str = "ANYMETAL_TEST_CHILD";

/// Runs in a child process, because the recorder counts the operations of all tests of its process.
#[test]
fn work_is_counted_by_operation() {
    if std::env::var_os(CHILD).is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "work_is_counted_by_operation", "--nocapture"]).env(CHILD, "1");
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    let mut settings = ServiceLayers::default();
    settings.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
    anymetal_service::start_with(&settings).unwrap();
    let ops = Ops::new(&Device::system_default().unwrap()).unwrap().forced(Path::Own);
    let telemetry = anymetal_service::telemetry::running().unwrap();
    let x = ops.tensor(&[1.0f32; 12], &[3, 4]).unwrap();
    ops.matmul(&x, &x.t().unwrap()).unwrap();
    let mut recording = ops
        .record("counted", &[&x], |ops, inputs| {
            let y = ops.neg(&inputs[0])?;
            Ok(vec![ops.exp(&y)?, ops.sum(&inputs[0], &[], false)?])
        })
        .unwrap();
    recording.replay(&[&x]).unwrap();
    recording.replay(&[&x]).unwrap();
    ops.wait().unwrap();

    let families = telemetry.snapshot().families;
    let value = |metric: &str, operation: &str| {
        let family = families.iter().find(|family| family.name == metric).unwrap();
        let has = |labels: &[(String, String)], name: &str, value: &str| {
            labels.iter().any(|(known, text)| known == name && text == value)
        };
        let series = family.series.iter().find(|series| {
            has(&series.labels, "operation", operation)
                && has(&series.labels, "path", "own")
                && has(&series.labels, "device", ops.device().name())
        });
        series.unwrap().value.number()
    };
    let all = |operation: &str| {
        ["anymetal_operations_total", "anymetal_operation_flop_total", "anymetal_operation_bytes_total"]
            .map(|metric| value(metric, operation))
    };
    assert_eq!(all("matmul"), [1.0, 72.0, 4.0 * (12 + 12 + 9) as f64]);
    // Two operations read the input and write the result, in each replay.
    assert_eq!(all("fused"), [2.0, 48.0, 192.0]);
    assert_eq!(all("sum"), [2.0, 24.0, 104.0]);
    // Times are noted when calls have ended; of replays with several pieces no piece has one.
    let start = Instant::now();
    let duration = || {
        let families = telemetry.snapshot().families;
        let family = families.iter().find(|family| family.name == "anymetal_operation_duration_seconds");
        let is_product = |labels: &[(String, String)]| labels.iter().any(|(_, value)| value == "matmul");
        let series = family?.series.iter().find(|series| is_product(&series.labels))?;
        Some(series.value.number())
    };
    while duration() != Some(1.0) {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", duration());
        std::thread::yield_now();
    }
}

#[test]
fn a_profile_has_the_device_time_of_each_call() {
    let ops = Ops::new(&Device::system_default().unwrap()).unwrap();
    let x = ops.ones(&[96, 96], DType::F32).unwrap();
    let bias = ops.ones(&[96], DType::F32).unwrap();
    let own = ops.forced(Path::Own);
    own.matmul(&x, &x).unwrap();
    let (result, profile) = ops
        .profile(|_| {
            let y = own.matmul(&x, &x)?;
            let options = MatmulOptions { bias: Some(&bias), ..MatmulOptions::default() };
            own.exp(&own.matmul_with(&x, &y, &options)?)
        })
        .unwrap();
    assert_eq!(result.shape(), [96, 96]);
    let totals = profile.totals();
    let of = |operation: &str| totals.iter().find(|total| total.operation == operation).unwrap();
    let (product, exp) = (of("matmul"), of("exp"));
    assert_eq!((product.calls, exp.calls, profile.calls.len()), (2, 1, 3));
    assert_eq!(product.work.flop, 2 * 2 * 96 * 96 * 96);
    let rate = product.work.flop as f64 / product.device_ns as f64;
    assert_eq!(product.gflops(), Some(rate));
    assert!(profile.calls.iter().all(|call| call.device_ns > 0), "{profile:?}");
    let text = profile.to_string();
    assert!(text.contains("GFLOP/s") && text.contains("matmul") && text.lines().count() == 3, "{text}");
    let report = profile.to_report("three \"calls\"");
    assert!(report.starts_with("{\"schema\":1,\"title\":\"three \\\"calls\\\"\""), "{report}");
    assert_eq!(report.matches("\"name\":\"matmul\"").count(), 2);
    // A product by a library on the host has the host's time.
    let vendor = ops.forced(Path::Vendor);
    let (_, profile) = ops.profile(|_| vendor.exp(&vendor.matmul(&x, &x)?)).unwrap();
    let paths: Vec<Path> = profile.calls.iter().map(|call| call.record.path).collect();
    assert_eq!(paths, [Path::Vendor, Path::Own]);
    assert!(profile.calls.iter().all(|call| call.device_ns > 0), "{profile:?}");
    // What ran before and after is not in it, and what is not profiled is not kept.
    let ((), nothing) = ops.profile(|_| Ok(())).unwrap();
    assert_eq!((nothing.calls.len(), nothing.totals().len()), (0, 0));
}

#[test]
fn a_replay_is_one_call_of_a_profile() {
    let ops = Ops::new(&Device::system_default().unwrap()).unwrap();
    let x = ops.ones(&[64], DType::F32).unwrap();
    let body =
        |ops: &Ops, inputs: &[Tensor]| Ok(vec![ops.exp(&inputs[0])?, ops.sum(&inputs[0], &[], false)?]);
    let mut recording = ops.record("step", &[&x], body).unwrap();
    let (_, profile) = ops.profile(|_| recording.replay(&[&x])).unwrap();
    let totals = profile.totals();
    assert_eq!((totals.len(), totals[0].operation, totals[0].calls), (1, "replay", 1));
    assert!(totals[0].device_ns > 0 && totals[0].work.flop >= 128, "{totals:?}");
}
