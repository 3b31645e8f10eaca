//! The work of operations as metrics, read from the process's own recorder.

use anymetal::{Device, Layers};
use anymetal_ops::{Ops, Path};

#[test]
fn work_is_counted_by_operation() {
    let mut settings = Layers::default();
    settings.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
    let ops = Ops::new(&Device::with_settings(&settings).unwrap()).unwrap().forced(Path::Own);
    let telemetry = anymetal::telemetry::running().unwrap();
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
}
