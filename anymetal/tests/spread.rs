//! Launches over several devices, here one device several times.

use anymetal::command::Spread;
use anymetal::error::DeviceError;
use anymetal::{Device, Error};

const SOURCE: &str = "
    kernel void scale(device const float* x, device const float* factors, device float* y,
                      constant uint& width, uint2 at [[thread_position_in_grid]]) {
      y[at.y * width + at.x] = x[at.y * width + at.x] * factors[at.x];
    }
    kernel void add(device uint* y, constant uint& value, uint i [[thread_position_in_grid]]) { y[i] += value; }";

fn over(weights: &[u32]) -> Spread {
    let device = Device::system_default().unwrap();
    let devices: Vec<_> = weights.iter().map(|weight| (device.clone(), *weight)).collect();
    Spread::weighted(&devices).unwrap()
}

#[test]
fn shares_are_the_whole_in_the_order_of_the_devices_and_in_proportion() {
    let ranges = |weights: &[u32], elements| {
        over(weights).shares().map(|share| share.range(elements)).collect::<Vec<_>>()
    };
    assert_eq!(ranges(&[3, 1], 100), [0..75, 75..100]);
    assert_eq!(ranges(&[1, 0, 1], 5), [0..2, 2..2, 2..5]);
    assert_eq!(ranges(&[1, 1, 1], 1), [0..0, 0..0, 0..1]);
    assert_eq!(ranges(&[u32::MAX, u32::MAX], usize::MAX).last().map(|range| range.end), Some(usize::MAX));
    for devices in [&[][..], &[(Device::system_default().unwrap(), 0)]] {
        assert!(matches!(Spread::weighted(devices), Err(Error::Device(DeviceError::Unsupported { .. }))));
    }
}

#[test]
fn rows_are_spread_and_what_all_read_is_copied() {
    let (width, height) = (7, 11);
    let x: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
    let factors: Vec<f32> = (0..width).map(|i| i as f32 + 0.5).collect();
    let expected: Vec<f32> = x.iter().enumerate().map(|(i, x)| x * factors[i % width]).collect();
    for weights in [&[1][..], &[1, 1], &[5, 1, 0, 2]] {
        let spread = over(weights);
        let scale = spread.kernel(SOURCE, "scale").unwrap();
        let (x, factors) = (spread.scatter_rows(&x, width).unwrap(), spread.broadcast(&factors).unwrap());
        let y = spread.scatter_rows(&vec![0f32; width * height], width).unwrap();
        let launched = spread.launch(&scale, |share, launch| {
            let launch = launch.arg(x.on(share)).arg(factors.on(share)).arg(y.on(share));
            launch.arg(width as u32).threads((width, share.range(height).len()))
        });
        let launched = launched.unwrap();
        launched.wait().unwrap();
        assert_eq!(launched.parts().len(), weights.iter().filter(|weight| **weight > 0).count());
        assert_eq!(y.gather().unwrap(), expected, "{weights:?}");
        assert_eq!(factors.gather().unwrap().len(), width);
    }
}

#[test]
fn more_devices_than_elements_do_them_and_no_other() {
    let spread = over(&[1, 1, 1]);
    let add = spread.kernel(SOURCE, "add").unwrap();
    let y = spread.scatter(&[5u32, 6]).unwrap();
    let launched =
        spread.launch(&add, |share, launch| launch.arg(y.on(share)).arg(7u32).threads(share.range(2).len()));
    launched.unwrap().wait().unwrap();
    assert_eq!(y.gather().unwrap(), [12, 13]);
}

#[test]
fn the_failure_of_a_share_is_told_once_all_have_ended() {
    let spread = over(&[1, 1]);
    let add = spread.kernel(SOURCE, "add").unwrap();
    let y = spread.zeroed::<u32>(200).unwrap();
    // The first share has a thread too many.
    let launched = spread.launch(&add, |share, launch| {
        launch.arg(y.on(share)).arg(1u32).threads(share.range(200).len() + usize::from(share.number() == 0))
    });
    let failure = launched.unwrap().wait().unwrap_err();
    assert!(matches!(failure, Error::Device(DeviceError::OutOfBounds(_))), "{failure}");
    assert_eq!(y.gather().unwrap()[100..], [1; 100]);
}
