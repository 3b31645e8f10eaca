//! Where a sample of the clock may be stored.

use std::sync::Arc;

use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::device::Device as _;
use anymetal_hal::error::DeviceError;
use anymetal_hal::time_sample::TimeSample;
use anymetal_testing::null::NullDevice;

#[test]
fn a_sample_is_within_its_buffer_and_aligned() {
    let descriptor = BufferDescriptor::shared(20);
    let buffer = NullDevice::new().buffer(&descriptor).unwrap();
    let check = |offset| TimeSample::new(Arc::clone(&buffer), offset).map(drop);
    assert_eq!((check(0), check(8)), (Ok(()), Ok(())));
    assert_eq!(check(4), Err(DeviceError::MisalignedTimeSample { offset: 4 }));
    for offset in [16, u64::MAX] {
        assert!(matches!(check(offset), Err(DeviceError::RangeOutsideBuffer { .. })), "{offset}");
    }
}
