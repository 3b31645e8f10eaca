//! Collectives over a stand-in for the library: what it is asked, and what is refused before.

use std::sync::Mutex;

use super::*;
use crate::collectives::{Collectives, GroupId, Library, Operation, RankOperand, RankRange, ReduceOp, Shard};

/// Does operations on `uint`s in the host's memory, as soon as it is asked.
#[derive(Debug, Default, Clone)]
struct HostLibrary {
    asked: Arc<Mutex<Vec<(Operation, u64)>>>,
}

impl Library for HostLibrary {
    fn run(
        &self,
        operation: Operation,
        element: ScalarType,
        count: u64,
        operands: &[RankOperand],
    ) -> Result<(), DriverError> {
        if element != ScalarType::U32 {
            return Err(DriverError::BadCode(format!("collectives of {element:?} elements")));
        }
        self.asked.lock().unwrap().push((operation, count));
        let (count, cards) = (count as usize, operands.len());
        let reads = if matches!(operation, Operation::ReduceScatter(_)) { count * cards } else { count };
        let read = |operand: &RankOperand| -> Vec<u32> {
            // SAFETY: `Collectives` checked the range of a live buffer, which the stand-in has in the host.
            unsafe { std::slice::from_raw_parts(operand.from as usize as *const u32, reads) }.to_vec()
        };
        let all: Vec<Vec<u32>> = operands.iter().map(read).collect();
        let sums: Vec<u32> = (0..reads).map(|index| all.iter().map(|card| card[index]).sum()).collect();
        for (rank, operand) in operands.iter().enumerate() {
            let result = match operation {
                Operation::AllReduce(_) => sums.clone(),
                Operation::Broadcast(root) => all[root].clone(),
                Operation::AllGather => all.concat(),
                Operation::ReduceScatter(_) => sums[rank * count..][..count].to_vec(),
            };
            // SAFETY: as above.
            unsafe { (operand.to as usize as *mut u32).copy_from(result.as_ptr(), result.len()) };
        }
        Ok(())
    }
}

struct Cards {
    benches: Vec<Bench>,
    library: HostLibrary,
    collectives: Collectives,
}

impl Cards {
    fn new(count: usize) -> Self {
        let benches: Vec<Bench> = (0..count).map(|_| Bench::new(multiply)).collect();
        let devices: Vec<NvidiaDevice> = benches.iter().map(|bench| bench.device.clone()).collect();
        let library = HostLibrary::default();
        let own = library.clone();
        let collectives = Collectives::with(&devices, RankRange { first: 0, ranks: count }, |numbers| {
            assert_eq!(numbers.len(), count);
            Ok(Box::new(own))
        });
        Cards { benches, library, collectives: collectives.unwrap() }
    }

    fn buffers<const N: usize>(&self, of: impl Fn(u32) -> [u32; N]) -> Vec<Shard> {
        let buffer = |(rank, bench): (usize, &Bench)| Shard::from(&bench.buffer(&of(rank as u32)));
        self.benches.iter().enumerate().map(buffer).collect()
    }
}

fn all_values(shards: &[Shard]) -> Vec<Vec<u32>> {
    shards.iter().map(|shard| values(&shard.buffer)).collect()
}

const U32: ScalarType = ScalarType::U32;
const ALONE: RankRange = RankRange { first: 0, ranks: 1 };

#[test]
fn each_operation_reads_and_writes_the_buffers_of_its_cards() {
    let cards = Cards::new(3);
    let all = &cards.collectives;
    let x = cards.buffers(|rank| [rank, 10, 7]);
    all.all_reduce(&x, U32, 2, ReduceOp::Sum).unwrap();
    assert_eq!(all_values(&x), [[3, 30, 7]; 3]);
    let x = cards.buffers(|rank| [rank; 2]);
    all.broadcast(&x, 2, U32, 1).unwrap();
    assert_eq!(all_values(&x), [[2, 0], [2, 1], [2, 2]]);
    let (from, to) = (cards.buffers(|rank| [rank, rank + 10]), cards.buffers(|_| [0; 6]));
    all.all_gather(&from, &to, U32, 2).unwrap();
    assert_eq!(all_values(&to), [[0, 10, 1, 11, 2, 12]; 3]);
    let (from, to) = (cards.buffers(|rank| [rank, 2, 5]), cards.buffers(|_| [0]));
    all.reduce_scatter(&from, &to, U32, 1, ReduceOp::Sum).unwrap();
    assert_eq!(all_values(&to), [[3], [6], [15]]);
    let x = cards.buffers(|rank| [9, rank, 1]);
    let last: Vec<Shard> = x.iter().map(|shard| Shard { offset: 4, ..shard.clone() }).collect();
    all.all_reduce(&last, U32, 2, ReduceOp::Sum).unwrap();
    assert_eq!(all_values(&x), [[9, 3, 3]; 3]);
}

#[test]
fn every_card_is_waited_for_also_after_an_error() {
    let cards = Cards::new(2);
    let x = cards.buffers(|rank| [rank]);
    let before: Vec<usize> = cards.benches.iter().map(|bench| bench.driver.all_calls().len()).collect();
    let error = cards.collectives.all_reduce(&x, ScalarType::U8, 1, ReduceOp::Max).unwrap_err();
    assert!(matches!(&error, DeviceError::Unsupported { what, .. } if what.contains("U8")), "{error}");
    for (bench, before) in cards.benches.iter().zip(before) {
        let calls = bench.driver.all_calls().split_off(before);
        assert!(calls.len() == 1 && calls[0].starts_with("synchronise "), "{calls:?}");
    }
}

#[test]
fn what_does_not_fit_the_cards_is_refused_before_the_library_is_asked() {
    let cards = Cards::new(2);
    let all = &cards.collectives;
    let (x, y) = (cards.buffers(|_| [1, 2]), cards.buffers(|_| [0; 4]));
    let swapped = [x[1].clone(), x[0].clone()];
    let sum = ReduceOp::Sum;
    let unsupported = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::Unsupported { .. })), "{result:?}");
    };
    let outside = |result: Result<(), DeviceError>| {
        assert!(matches!(result, Err(DeviceError::RangeOutsideBuffer { .. })), "{result:?}");
    };
    unsupported(all.all_reduce(&x[..1], U32, 1, sum));
    unsupported(all.broadcast(&x, 2, U32, 1));
    unsupported(all.all_gather(&x, &x, U32, 1));
    let wrong = all.all_reduce(&swapped, U32, 1, sum);
    assert!(matches!(wrong, Err(DeviceError::WrongDevice { .. })), "{wrong:?}");
    outside(all.all_reduce(&x, U32, 3, sum));
    outside(all.all_reduce(&x, U32, u64::MAX, sum));
    outside(all.all_gather(&y, &x, U32, 2));
    outside(all.reduce_scatter(&x, &y, U32, 2, sum));
    let at = |offset| x.iter().map(|shard| Shard { offset, ..shard.clone() }).collect::<Vec<_>>();
    outside(all.all_reduce(&at(4), U32, 2, sum));
    unsupported(all.all_reduce(&at(2), U32, 1, sum));
    all.all_reduce(&x, U32, 0, sum).unwrap();
    let mapping = Arc::clone(&x[1].buffer).map(0..4, MapMode::Read).unwrap();
    let mapped = all.all_reduce(&x, U32, 1, sum);
    assert!(matches!(mapped, Err(DeviceError::BufferMapped { .. })), "{mapped:?}");
    drop(mapping);
    assert!(cards.library.asked.lock().unwrap().is_empty());
}

#[test]
fn a_card_takes_part_once_and_there_is_one_at_least() {
    let bench = Bench::new(multiply);
    let with = |devices: &[NvidiaDevice]| {
        let made = Collectives::with(devices, RankRange { first: 0, ranks: devices.len() }, |_| {
            Ok(Box::<HostLibrary>::default())
        });
        made.map(|collectives| collectives.rank_count())
    };
    assert!(matches!(with(&[]), Err(DeviceError::Unsupported { .. })));
    let twice = [bench.device.clone(), bench.device.clone()];
    assert!(matches!(with(&twice), Err(DeviceError::Unsupported { .. })));
    assert_eq!(with(&twice[..1]), Ok(1));
}

#[test]
fn a_missing_library_is_an_error_and_gives_the_streams_back() {
    let bench = Bench::new(multiply);
    let before = bench.driver.live_handles();
    let missing = || Err(DriverError::BadCode("collectives without NCCL (libnccl.so is missing)".to_owned()));
    let error = Collectives::with(std::slice::from_ref(&bench.device), ALONE, |_| missing()).unwrap_err();
    assert!(error.to_string().contains("libnccl.so"), "{error}");
    assert_eq!(bench.driver.live_handles(), before);
}

/// On no machine is there such a card; on most there is no NCCL either, which must not end the program.
#[test]
fn the_real_library_gives_an_error_where_it_or_the_card_is_missing() {
    let error = crate::nccl::Nccl::new(&[9999]).unwrap_err();
    assert!(matches!(error, DriverError::BadCode(_) | DriverError::Other(_)), "{error:?}");
}

#[test]
fn ranks_are_those_of_the_group_and_sizes_count_all_of_them() {
    let bench = Bench::new(multiply);
    let devices = std::slice::from_ref(&bench.device);
    let at = |first, ranks| {
        Collectives::with(devices, RankRange { first, ranks }, |_| Ok(Box::<HostLibrary>::default()))
    };
    let refused = |first, ranks| matches!(at(first, ranks), Err(DeviceError::Unsupported { .. }));
    assert!(refused(0, 0) && refused(2, 2) && refused(usize::MAX, 2));
    let second = at(1, 2).unwrap();
    assert_eq!(second.rank_count(), 2);
    let (x, y) = (vec![Shard::from(&bench.buffer(&[1, 2]))], vec![Shard::from(&bench.buffer(&[0; 3]))]);
    let short = second.all_gather(&x, &y, U32, 2);
    assert!(matches!(short, Err(DeviceError::RangeOutsideBuffer { .. })), "{short:?}");
    let beyond = second.broadcast(&x, 2, U32, 1);
    assert!(matches!(beyond, Err(DeviceError::Unsupported { .. })), "{beyond:?}");
    second.broadcast(&x, 0, U32, 1).unwrap();
    let id = GroupId::from_bytes([7; GroupId::BYTES]);
    assert_eq!((id.to_bytes()[127], format!("{id:?}").as_str()), (7, "GroupId(..)"));
}
