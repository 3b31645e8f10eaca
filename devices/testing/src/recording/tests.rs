//! Recordings survive the file and tell what happened. Replays of real kernels are tested with the CPU
//! device.

use std::sync::Arc;

use crate::null::NullDevice;
use crate::recording::RecordingDevice;
use anymetal_core::record::Recording;
use anymetal_core::record::file::RecordingError;
use anymetal_core::record::recorder::RecorderOptions;
use anymetal_hal::artifact::ScalarType;
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::command::{BufferFill, Command, CommandList};
use anymetal_hal::device::Device;
use anymetal_hal::matrix_product::{CheckedProduct, MatrixOperand, MatrixProduct};
use anymetal_hal::queue::QueueDescriptor;
use anymetal_hal::time_sample::TimeSample;

fn recorded(entries: usize, submissions: u64) -> Recording {
    let options = RecorderOptions::replayable(entries);
    let device = RecordingDevice::new(Arc::new(NullDevice::new()), options);
    let queue = device.queue(&QueueDescriptor::default().label("main")).unwrap();
    let buffer = device.buffer(&BufferDescriptor::shared(16)).unwrap();
    buffer.write(0, b"sixteen bytes...").unwrap();
    let foreign = NullDevice::new().buffer(&BufferDescriptor::shared(32)).unwrap();
    for length in 1..=submissions {
        // The device refuses the sixteenth.
        let target = if length < 16 { &buffer } else { &foreign };
        let fill = BufferFill::new(Arc::clone(target), 1..1 + length, 0xab).unwrap();
        let submission = CommandList::new(vec![Command::Fill(fill)]).label("a fill");
        let _refused = queue.submit(submission);
    }
    device.recorder().recording()
}

#[test]
fn the_ring_keeps_the_last_submissions_and_tells_their_ends() {
    let text = recorded(3, 16).text();
    let expected = [
        "#13 queue 0 \"main\" \"a fill\": done in",
        "    fill 15 bytes of buffer 0+1 with 0xab",
        "#15 queue 0 \"main\" \"a fill\": FAILED: a buffer of another device was used with null",
    ];
    assert!(expected.iter().all(|line| text.contains(line)) && !text.contains("#12"), "{text}");
}

#[test]
fn a_recording_survives_the_file_and_damage_is_noticed() {
    let recording = recorded(8, 8);
    let bytes = recording.to_bytes().unwrap();
    let read = Recording::from_bytes(&bytes).unwrap();
    assert_eq!(read.text(), recording.text());
    assert_eq!(read.entries[7].buffers[0].contents.as_deref(), Some(&b"sixteen bytes..."[..]));
    let sixteen = |bytes: &[u8]| bytes.windows(16).filter(|window| window == b"sixteen bytes...").count();
    assert_eq!(sixteen(&bytes), 1, "equal contents are stored once");
    for at in 0..bytes.len() {
        assert!(Recording::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert!(Recording::from_bytes(&damaged).is_err(), "byte {at} flipped");
    }
    let missing = Recording::load(std::path::Path::new("no such file"));
    assert!(matches!(missing, Err(RecordingError::File { .. })));
}

#[test]
fn a_sample_of_the_clock_is_told_kept_and_run_again() {
    let device = RecordingDevice::new(Arc::new(NullDevice::new()), RecorderOptions::replayable(4));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let buffer = device.buffer(&BufferDescriptor::shared(64)).unwrap();
    device.clock_ns().expect("the device below has a clock");
    let commands = vec![Command::SampleTime(TimeSample::new(buffer, 16).unwrap())];
    queue.submit(CommandList::new(commands)).unwrap().wait().unwrap();
    let recording = device.recorder().recording();
    let line = "sample the time into buffer 0+16";
    assert!(recording.text().contains(line), "{}", recording.text());
    let read = Recording::from_bytes(&recording.to_bytes().unwrap()).unwrap();
    let replayed = read.replay(&NullDevice::new(), &|_, _| None).unwrap();
    assert!(replayed.len() == 1 && replayed[0].outcome.is_ok(), "{replayed:?}");
}

#[test]
fn a_product_of_matrices_is_told_kept_and_run_again() {
    let null = Arc::new(NullDevice::new());
    let device = RecordingDevice::new(null, RecorderOptions::replayable(4));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let buffers = [(); 3].map(|()| device.buffer(&BufferDescriptor::shared(64)).unwrap());
    let operand = |index: usize| {
        MatrixOperand::new(Arc::clone(&buffers[index]), 4 * index as u64, ScalarType::F32, 3)
            .transposed(index == 1)
    };
    let [left, right, result] = [0, 1, 2].map(operand);
    let product = MatrixProduct::new([left, right], result, [2, 3, 3]).scales(0.5, -1.0);
    let commands = vec![Command::MatrixProduct(Box::new(CheckedProduct::new(product).unwrap()))];
    queue.submit(CommandList::new(commands)).unwrap().wait().unwrap();
    let recording = device.recorder().recording();
    let line = "multiply 1 of 2x3 in buffer 0+0 by 3x3 in buffer 1+4 into buffer 2+8";
    assert!(recording.text().contains(line), "{}", recording.text());
    let read = Recording::from_bytes(&recording.to_bytes().unwrap()).unwrap();
    assert_eq!(read.entries[0].commands, recording.entries[0].commands);
    let replayed = read.replay(&NullDevice::new(), &|_, _| None).unwrap();
    assert!(replayed.len() == 1 && replayed[0].outcome.is_ok(), "{replayed:?}");
}
