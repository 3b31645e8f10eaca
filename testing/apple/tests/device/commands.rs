//! Order, indirect dispatches, unaligned ranges, times.

use anymetal_hal::command::{BufferFill, IndirectDispatch, Timestamps};
use anymetal_hal::queue::Cancellation;

use super::*;

#[test]
fn commands_run_in_order_and_see_each_other() {
    let bench = Bench::new();
    let (pipeline, x, y) = (bench.pipeline("scale"), bench.buffer(&[1, 2, 3]), bench.buffer(&[0; 3]));
    let fill = Command::Fill(BufferFill::new(Arc::clone(&y), 8..12, 1).unwrap());
    let commands = vec![
        scale(&pipeline, &x, 5, 3),
        copy((&x, 4), (&y, 0), 8),
        fill,
        scale(&pipeline, &y, 2, 2),
        scale(&pipeline, &y, 3, 2),
    ];
    bench.run(commands).unwrap();
    assert_eq!((values(&x), values(&y)), (vec![5, 10, 15], vec![60, 90, 0x0101_0101]));
    bench.run(Vec::new()).unwrap();
    bench.run(vec![scale(&pipeline, &x, 9, 0)]).unwrap();
    assert_eq!(values(&x), [5, 10, 15], "an empty grid does nothing");
}

#[test]
fn what_one_dispatch_binds_is_not_there_for_the_next() {
    let bench = Bench::new();
    let (pipeline, x, by) = (bench.pipeline("scale_by"), bench.buffer(&[1, 2]), bench.buffer(&[7]));
    let first = Command::Dispatch(dispatch(&pipeline, vec![bound(0, &x), bound(1, &by)], 2, 32));
    let unbound = Binding::new(1, BoundResource::Unbound);
    let second = Command::Dispatch(dispatch(&pipeline, vec![bound(0, &x), unbound], 2, 32));
    // Metal leaves open what a kernel reads where nothing is bound; it must not be the first one's factor.
    let ended = bench.run(vec![first, second]);
    assert!(ended.is_err() || values(&x) != [49, 98]);
}

#[test]
fn counts_come_from_a_buffer_that_an_earlier_command_wrote() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1; 12]));
    let counts = bench.buffer(&[0, 1, 1, 1]);
    let by = Binding::new(2, BoundResource::Bytes(4u32.to_le_bytes().to_vec()));
    let direct = dispatch(&pipeline, vec![bound(0, &x), by], 1, 3);
    let indirect = IndirectDispatch::new(direct, Arc::clone(&counts), 4).unwrap();
    bench.run(vec![scale(&pipeline, &counts, 2, 2), Command::DispatchIndirect(indirect)]).unwrap();
    assert_eq!(values(&x), [4, 4, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn any_range_can_be_copied_and_filled() {
    let bench = Bench::new();
    let from: Vec<u8> = (0..64).collect();
    for (source, destination, length) in [(0, 0, 64), (1, 5, 40), (3, 2, 17), (61, 0, 3), (5, 5, 0)] {
        let [x, y] = [64; 2].map(|bytes| bench.device.buffer(&BufferDescriptor::shared(bytes)).unwrap());
        x.write(0, &from).unwrap();
        let (at, end) = (destination as usize, (destination + length) as usize);
        let fill = BufferFill::new(Arc::clone(&x), source..source + length, 0xee).unwrap();
        bench.run(vec![copy((&x, source), (&y, destination), length), Command::Fill(fill)]).unwrap();
        let (mut copied, mut filled) = (vec![0; 64], from.clone());
        copied[at..end].copy_from_slice(&from[source as usize..(source + length) as usize]);
        filled[source as usize..(source + length) as usize].fill(0xee);
        let mut bytes = vec![0; 64];
        y.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, copied, "{length} bytes from {source} to {destination}");
        x.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, filled, "{length} bytes from {source}");
    }
}

#[test]
fn commands_that_were_checked_before_run_again_and_again() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1, 2]));
    let commands = bench.device.indirect_command_buffer(vec![scale(&pipeline, &x, 2, 2)]).unwrap();
    let twice = (0..2).map(|_| Command::ExecuteIndirect(Arc::clone(&commands))).collect();
    bench.run(twice).unwrap();
    assert_eq!(values(&x), [4, 8]);
}

#[test]
fn fences_order_commands_of_one_queue() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1, 1]));
    let fence = bench.device.fence().unwrap();
    let update = || Command::UpdateFence(Arc::clone(&fence));
    let wait = || Command::WaitFence(Arc::clone(&fence));
    let commands = vec![
        update(),
        wait(),
        scale(&pipeline, &x, 3, 2),
        update(),
        wait(),
        copy((&x, 0), (&x, 4), 4),
        update(),
        wait(),
        scale(&pipeline, &x, 2, 1),
    ];
    bench.run(commands).unwrap();
    assert_eq!(values(&x), [6, 3]);
    let other = bench.device.queue(&QueueDescriptor::default()).unwrap();
    let refused = other.submit(CommandList::new(vec![update()]));
    assert_eq!(
        refused.map(drop).unwrap_err().to_string(),
        "a fence orders commands of one queue only; use an event across queues"
    );
}

#[test]
fn each_command_can_be_timed() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1; 1000]));
    let commands =
        vec![scale(&pipeline, &x, 3, 1000), copy((&x, 0), (&x, 400), 400), scale(&pipeline, &x, 5, 1000)];
    let timestamps = Timestamps::EachCommand;
    let completion =
        bench.queue.submit(CommandList::new(commands).timestamps(timestamps)).unwrap();
    let timing = completion.wait().unwrap();
    let each = completion.command_timings().unwrap();
    assert_eq!(each.iter().map(|timed| timed.command).collect::<Vec<_>>(), [0, 1, 2]);
    let mut before = timing.started_ns;
    for timed in each.iter() {
        assert!(before <= timed.started_ns && timed.started_ns <= timed.ended_ns, "{each:?} {timing:?}");
        before = timed.ended_ns;
    }
    assert!(timing.submitted_ns <= timing.started_ns && before <= timing.ended_ns);
    assert_eq!(values(&x)[..2], [15, 15]);
    assert_eq!(bench.queue.cancel(&completion), Cancellation::Ended);
}

#[test]
fn many_submissions_end_once_each_and_leave_the_queue_empty() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1]));
    let submit = |commands| bench.queue.submit(CommandList::new(commands)).unwrap();
    let ends: Vec<_> = (0..200).map(|at| submit(vec![scale(&pipeline, &x, 1 + at % 2 * 2, 1)])).collect();
    ends.iter().for_each(|end| _ = end.wait().unwrap());
    assert_eq!(bench.queue.in_flight(), 0);
    let expected = (0..200).fold(1u32, |value, at| value.wrapping_mul(1 + at % 2 * 2));
    assert_eq!(values(&x), [expected]);
}
