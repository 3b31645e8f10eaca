//! Every dependency order is respected, over random programs, on a device that really runs them; and what is
//! not to run does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anymetal_core::stream::StreamOptions;
use anymetal_core::stream::context::Context;
use anymetal_core::submission::{CommittedCommands, ExecError, Outcome};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::device::Device;
use anymetal_hal::error::ErrorClass;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::machine::{cpu, read, zeroed};

/// One submission of a random program.
#[derive(Debug, Clone)]
struct Step {
    stream: usize,
    /// Which earlier submissions it depends on, by how far back.
    back: Vec<usize>,
    cancel: bool,
    /// Pauses its stream before, and resumes it after so many more steps.
    pause: Option<usize>,
}

fn program() -> impl Strategy<Value = Vec<Step>> {
    let step = (0usize..4, vec(1usize..12, 0..3), 0u8..12, 0u8..10, 1usize..6).prop_map(
        |(stream, back, cancel, pause, resume)| Step {
            stream,
            back,
            cancel: cancel == 0,
            pause: (pause == 0).then_some(resume),
        },
    );
    vec(step, 1..40)
}

/// Each submission copies the marks of all it depends on next to its own, then sets its own.
struct Run {
    marks: Arc<dyn Buffer>,
    seen: Arc<dyn Buffer>,
    submissions: Vec<CommittedCommands>,
    needs: Vec<Vec<usize>>,
    called_back: Arc<Vec<AtomicUsize>>,
}

fn run(steps: &[Step], device: &Arc<dyn Device>, memory: &dyn Device) -> Run {
    let context = Context::new(Arc::clone(device));
    let options = StreamOptions::default().max_in_flight(3);
    let streams: Vec<_> = (0..4).map(|_| context.stream(options.clone()).unwrap()).collect();
    let count = steps.len();
    let marks = zeroed(memory, count as u64);
    let seen = zeroed(memory, (count * count) as u64);
    let called_back: Arc<Vec<AtomicUsize>> = Arc::new((0..count).map(|_| AtomicUsize::new(0)).collect());
    let (mut submissions, mut needs): (Vec<CommittedCommands>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    let mut last = [None; 4];
    let mut resumes: Vec<(usize, usize)> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        if let Some(after) = step.pause {
            streams[step.stream].pause();
            resumes.push((at + after, step.stream));
        }
        let mut before: Vec<usize> = step.back.iter().filter_map(|back| at.checked_sub(*back)).collect();
        before.sort_unstable();
        before.dedup();
        let mut command_buffer = streams[step.stream].command_buffer().unwrap().label(at.to_string());
        for &dependency in &before {
            command_buffer = command_buffer.after(&submissions[dependency]);
        }
        // The stream's own order binds as well, but a failure before does not keep it from running.
        let watched: Vec<usize> = before.iter().copied().chain(last[step.stream]).collect();
        let mut blit = command_buffer.blit();
        for &earlier in &watched {
            let to = (at * count + earlier) as u64;
            blit.copy(&marks, earlier as u64..earlier as u64 + 1, &seen, to).unwrap();
        }
        blit.fill(&marks, at as u64..at as u64 + 1, 1).unwrap();
        blit.end_encoding();
        let counts = Arc::clone(&called_back);
        let count_call = move |_: &Outcome| {
            counts[at].fetch_add(1, Ordering::SeqCst);
        };
        let submission = command_buffer.on_done(count_call).commit();
        if step.cancel {
            submission.cancel();
        }
        submissions.push(submission);
        needs.push(before);
        last[step.stream] = Some(at);
        resumes.retain(|&(when, stream)| {
            if when == at {
                streams[stream].resume();
            }
            when > at
        });
    }
    streams.iter().for_each(|stream| stream.resume());
    for stream in &streams {
        stream.drain().unwrap();
        assert_eq!((stream.load(), stream.in_flight()), (0, 0));
    }
    Run { marks, seen, submissions, needs, called_back }
}

fn check(steps: &[Step], run: &Run) {
    let (marks, seen) = (read(run.marks.as_ref()), read(run.seen.as_ref()));
    let outcomes: Vec<Outcome> = run.submissions.iter().map(CommittedCommands::wait).collect();
    for at in 0..steps.len() {
        assert_eq!(run.called_back[at].load(Ordering::SeqCst), 1, "{at} is told to have ended once");
        let bad_before = run.needs[at].iter().any(|&before| outcomes[before].is_err());
        match &outcomes[at] {
            Ok(_) => assert!(marks[at] == 1 && !bad_before, "{at} is done, so it ran, on good ground"),
            Err(ExecError::DependencyFailed { .. }) => {
                assert!(marks[at] == 0 && bad_before, "{at} did not run")
            }
            Err(ExecError::Cancelled { .. }) => assert!(marks[at] == 0 && steps[at].cancel),
            Err(_) => assert!(!bad_before, "{at} failed by itself"),
        }
        for &before in run.needs[at].iter().filter(|_| marks[at] == 1) {
            assert_eq!(seen[at * steps.len() + before], 1, "{at} saw that {before} had run");
        }
    }
    let mut last = [None; 4];
    for (at, step) in steps.iter().enumerate().filter(|(at, _)| marks[*at] == 1) {
        if let Some(before) = last[step.stream]
            && steps[before + 1..at].iter().all(|between| between.stream != step.stream)
        {
            assert_eq!(seen[at * steps.len() + before], 1, "{at} ran after {before} of its stream");
        }
        last[step.stream] = Some(at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn dependencies_are_respected(steps in program()) {
        let device = cpu();
        check(&steps, &run(&steps, &device, device.as_ref()));
    }

    #[test]
    fn dependencies_are_respected_under_faults(steps in program(), seed in any::<u64>()) {
        let inner = cpu();
        let plan = FaultPlan::default()
            .seed(seed)
            .commits(Faults::by_chance(50_000, &[ErrorClass::Transient, ErrorClass::Caller]))
            .completions(Faults::by_chance(100_000, &[ErrorClass::Transient, ErrorClass::Exhausted]))
            .latency(Duration::ZERO..Duration::from_micros(200));
        let faulty: Arc<dyn Device> =
            Arc::new(FaultInjectingDevice::new(Arc::clone(&inner), plan, SystemClock::shared()));
        check(&steps, &run(&steps, &faulty, inner.as_ref()));
    }
}
