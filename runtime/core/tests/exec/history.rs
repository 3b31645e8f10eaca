//! The history is told on failure, saved, and replayed.

use std::sync::{Arc, Mutex};

use anymetal_core::history::{History, RecorderOptions, Recording, ReplayError};
use anymetal_core::stream::StreamOptions;
use anymetal_core::stream::context::Context;
use anymetal_hal::clock::{ManualClock, SystemClock};
use anymetal_hal::command::{Dispatch, Grid};
use anymetal_hal::error::ErrorClass;
use anymetal_hal::pipeline::Pipeline;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};
use anymetal_testing::null::NullDevice;

use crate::machine::{artifact, cpu, read, zeroed};

#[test]
fn a_failure_dumps_what_was_encoded_and_cancelling_does_not() {
    let clock = ManualClock::new();
    let plan = FaultPlan::default().completions(Faults::at(1, ErrorClass::Transient));
    let null = Arc::new(NullDevice::with_clock(clock.clone()));
    let device = FaultInjectingDevice::new(null, plan, clock.clone());
    let dumps: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&dumps);
    let history = History::new(RecorderOptions::default())
        .on_error(move |error, text| sink.lock().unwrap().push(format!("{error}\n{text}")));
    let context = Context::with(Arc::new(device), clock, Some(history));
    let stream = context.stream(StreamOptions::default().label("s")).unwrap();
    let buffer = zeroed(context.device().as_ref(), 8);
    let fill = |label: &str| {
        let mut command_buffer = stream.command_buffer().unwrap().label(label);
        command_buffer.blit().fill(&buffer, 2..6, 1).unwrap();
        command_buffer.commit()
    };
    assert!(fill("good").wait().is_ok() && fill("bad").wait().is_err());
    stream.pause();
    fill("never").cancel();
    stream.resume();
    let dumps = dumps.lock().unwrap();
    let [dump] = dumps.as_slice() else { panic!("{dumps:?}") };
    for line in ["\"s\" \"good\": done", "\"bad\": FAILED", "fill 4 bytes of buffer 0+2 with 0x01"] {
        assert!(dump.contains(line), "{line} is not in:\n{dump}");
    }
    assert!(!context.history().unwrap().dump().contains("never"));
}

#[test]
fn a_saved_history_gives_the_same_bytes_again() {
    let device = cpu();
    let history = History::new(RecorderOptions::replayable(16));
    let context = Context::with(Arc::clone(&device), SystemClock::shared(), Some(history.clone()));
    let stream = context.stream(StreamOptions::default()).unwrap();
    let (one, other) = (zeroed(device.as_ref(), 64), zeroed(device.as_ref(), 64));
    one.write(0, &[5; 64]).unwrap();
    for round in 0..8u64 {
        let mut command_buffer = stream.command_buffer().unwrap();
        let mut blit = command_buffer.blit();
        blit.copy(&one, round..round + 32, &other, 8).unwrap().fill(&one, round..64, round as u8).unwrap();
        blit.end_encoding();
        command_buffer.commit();
    }
    stream.drain().unwrap();
    let path = std::env::temp_dir().join(format!("anymetal-history-{}.bin", std::process::id()));
    history.save(&path).unwrap();
    let recording = Recording::load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let replayed = recording.replay(cpu().as_ref(), &|_, _| None).unwrap();
    assert!(replayed.len() == 8 && replayed.iter().all(|entry| entry.is_same()));
    let last = &replayed[7].buffers;
    assert_eq!(
        (read(last[0].1.as_ref()), read(last[1].1.as_ref())),
        (read(one.as_ref()), read(other.as_ref()))
    );
}

#[test]
fn a_pipeline_of_a_context_is_known_to_its_history() {
    let history = History::new(RecorderOptions::replayable(4));
    let context = Context::with(Arc::new(NullDevice::new()), SystemClock::shared(), Some(history.clone()));
    let stream = context.stream(StreamOptions::default()).unwrap();
    let run = |pipeline: &Arc<dyn Pipeline>| {
        let mut command_buffer = stream.command_buffer().unwrap();
        let dispatch = Dispatch::new(Arc::clone(pipeline), Grid::Threads([8, 1, 1]), [8, 1, 1]);
        command_buffer.encode(dispatch).unwrap();
        command_buffer.commit().wait().unwrap();
    };
    run(&context.pipeline(&artifact(), "empty").unwrap());
    let replayed = history.replay(&NullDevice::new()).unwrap();
    assert!(replayed.len() == 1 && replayed[0].is_same());
    // Made past the context, its code is not known.
    run(&context.device().pipeline(&artifact(), "empty").unwrap());
    let refused = *history.replay(&NullDevice::new()).unwrap_err();
    assert!(matches!(refused, ReplayError::NoCode { entry: 1, .. }));
}
