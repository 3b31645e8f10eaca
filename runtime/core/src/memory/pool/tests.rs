//! Tests of the pool: single rules on a hand-driven clock, and random programs against a model.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use anymetal_hal::clock::ManualClock;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::TestCaseError;

use anymetal_hal::buffer::Buffer;

use super::*;
use crate::memory::budget::Budget;
use crate::memory::registry::Registry;
use crate::memory::test_device::{TestDevice, test_buffer};
use crate::memory::view::BufferView;
use crate::tenant::Tenant;
use crate::tenant::TenantLimits;

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    device: Arc<TestDevice>,
    clock: Arc<ManualClock>,
    pool: Pool,
}

fn bench(options: PoolOptions) -> Bench {
    let (device, clock) = (TestDevice::new(1 << 20), ManualClock::new());
    let pool = Pool::new(device.clone(), clock.clone(), options);
    Bench { device, clock, pool }
}

fn limited(max_bytes: u64, max_buffers: usize, max_idle_bytes: u64) -> PoolOptions {
    PoolOptions { limits: PoolLimits { max_bytes, max_buffers, max_idle_bytes }, ..PoolOptions::default() }
}

fn address(buffer: &Arc<dyn Buffer>) -> usize {
    Arc::as_ptr(buffer).cast::<u8>() as usize
}

#[test]
fn a_block_comes_back_for_its_class_and_mode_only() {
    let Bench { pool, .. } = bench(PoolOptions::default());
    let first = pool.acquire(&AcquireRequest::new(1000)).unwrap();
    assert_eq!((first.length(), first.capacity(), first.view().length()), (1000, 1024, 1000));
    let block = address(first.whole());
    drop(first);
    let private = pool.acquire(&AcquireRequest::new(1000).mode(StorageMode::Private)).unwrap();
    assert_ne!(address(private.whole()), block);
    let small = pool.acquire(&AcquireRequest::new(500)).unwrap();
    assert_ne!(address(small.whole()), block, "twice the size is too large");
    let again = pool.acquire(&AcquireRequest::new(700)).unwrap();
    assert_eq!(address(again.whole()), block, "two classes larger is near enough");
    let stats = pool.stats();
    assert_eq!((stats.acquisitions, stats.hits, stats.acquired_buffers), (4, 1, 3));
    assert_eq!((stats.acquired_bytes, stats.asked_bytes), (1024 + 1024 + 512, 700 + 1000 + 500));
}

#[test]
fn a_block_waits_for_the_work_and_the_handles_that_use_it() {
    let Bench { pool, .. } = bench(PoolOptions::default());
    let acquired = pool.acquire(&AcquireRequest::new(64)).unwrap();
    let block = address(acquired.whole());
    let view = acquired.view();
    test_buffer(acquired.whole()).uses.store(1, Ordering::SeqCst);
    drop(acquired);
    let other = pool.acquire(&AcquireRequest::new(64)).unwrap();
    assert_ne!(address(other.whole()), block, "work uses it");
    test_buffer(view.buffer()).uses.store(0, Ordering::SeqCst);
    let third = pool.acquire(&AcquireRequest::new(64)).unwrap();
    assert_ne!(address(third.whole()), block, "a view of it lives");
    drop(view);
    assert_eq!(address(pool.acquire(&AcquireRequest::new(64)).unwrap().whole()), block);
}

#[test]
fn zeroed_buffers_hold_zeros_and_private_ones_are_new() {
    let Bench { pool, .. } = bench(PoolOptions::default());
    let acquired = pool.acquire(&AcquireRequest::new(100_000)).unwrap();
    acquired.view().write(0, &[7; 100_000]).unwrap();
    drop(acquired);
    let cleared = pool.acquire(&AcquireRequest::new(99_999).zeroed()).unwrap();
    let mut bytes = vec![1; 99_999];
    cleared.view().read(0, &mut bytes).unwrap();
    assert!(bytes.iter().all(|&byte| byte == 0));
    assert_eq!(pool.stats().hits, 1);
    let private = AcquireRequest::new(64).mode(StorageMode::Private).zeroed();
    drop(pool.acquire(&private).unwrap());
    drop(pool.acquire(&private).unwrap());
    assert_eq!(pool.stats().hits, 1);
}

/// Acquires, returns the sum of the bytes that were there and the block's address, and writes all bytes.
fn sum_before(pool: &Pool, request: &AcquireRequest<'_>) -> (u64, usize) {
    let acquired = pool.acquire(request).unwrap();
    let mut bytes = vec![1; acquired.capacity() as usize];
    acquired.whole().read(0, &mut bytes).unwrap();
    acquired.whole().write(0, &vec![1; bytes.len()]).unwrap();
    (bytes.iter().map(|&byte| u64::from(byte)).sum(), address(acquired.whole()))
}

#[test]
fn a_tenant_sees_nothing_that_others_left() {
    for mode in [StorageMode::Shared, StorageMode::Managed, StorageMode::Private] {
        let Bench { pool, clock, .. } = bench(PoolOptions::default());
        let [one, two] = [(); 2].map(|()| Tenant::new("same name", TenantLimits::default(), clock.clone()));
        let program = AcquireRequest::new(1000).mode(mode);
        let [one, two] = [&one, &two].map(|tenant| program.clone().tenant(tenant));
        let mut block = None;
        // Private blocks stay with their owners, who would find them again.
        let turns = if mode == StorageMode::Private { 3 } else { 5 };
        for holder in [&one, &two, &program, &one, &two].into_iter().take(turns) {
            let (sum, address) = sum_before(&pool, holder);
            assert_eq!(sum, 0, "{mode:?}");
            let is_reused = *block.get_or_insert(address) == address;
            assert!(mode == StorageMode::Private || is_reused, "what the host can clear is used again");
            assert_eq!(sum_before(&pool, holder), (1024, address), "{mode:?}: a holder's own data stay");
        }
        // Not even of a block that work still uses when it comes back.
        let busy = pool.acquire(&one).unwrap();
        let uses = Arc::clone(&test_buffer(busy.whole()).uses);
        uses.store(1, Ordering::SeqCst);
        drop(busy);
        pool.trim_all();
        uses.store(0, Ordering::SeqCst);
        assert_eq!(sum_before(&pool, &two).0, 0, "{mode:?}");
        pool.check();
    }
}

#[test]
fn reserved_private_blocks_are_for_any_tenant() {
    let Bench { pool, clock, .. } = bench(PoolOptions::default());
    pool.reserve(64, StorageMode::Private, 1).unwrap();
    let tenant = Tenant::new("t", TenantLimits::default(), clock);
    drop(pool.acquire(&AcquireRequest::new(64).mode(StorageMode::Private).tenant(&tenant)).unwrap());
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn limits_evict_the_oldest_idle_block_and_then_refuse() {
    let Bench { device, clock, pool } = bench(limited(1024, 3, u64::MAX));
    let request = AcquireRequest::new(256);
    let [old, young] = [pool.acquire(&request).unwrap(), pool.acquire(&request).unwrap()];
    let young_block = address(young.whole());
    drop(old);
    clock.advance(SECOND);
    drop(young);
    let large = pool.acquire(&AcquireRequest::new(700)).unwrap();
    assert_eq!(pool.stats().evictions, 1);
    assert_eq!(address(pool.acquire(&request).unwrap().whole()), young_block);
    let refused = pool.acquire(&AcquireRequest::new(512)).unwrap_err();
    assert_eq!(refused, MemoryError::PoolBytes { requested: 512, in_use: 768, limit: 1024 });
    drop(large);
    let three = [(); 3].map(|()| pool.acquire(&request).unwrap());
    assert_eq!(pool.acquire(&request).unwrap_err(), MemoryError::PoolBuffers { limit: 3 });
    drop(three);
    let trimmed = pool.trim_all();
    assert_eq!((trimmed.buffers, device.live_buffers(), device.allocated_bytes()), (3, 0, 0));
    let too_large = pool.acquire(&AcquireRequest::new((3 << 20) + 1)).unwrap_err();
    assert!(too_large.to_string().ends_with("split them over 4 buffers"), "{too_large}");
}

#[test]
fn idle_blocks_are_bounded_and_go_by_age() {
    let Bench { clock, pool, .. } = bench(limited(u64::MAX, 100, 512));
    let acquired = [(); 3].map(|()| pool.acquire(&AcquireRequest::new(256)).unwrap());
    for buffer in acquired {
        drop(buffer);
        clock.advance(SECOND);
    }
    assert_eq!((pool.stats().idle_bytes, pool.stats().evictions), (512, 1));
    assert_eq!(pool.trim_older_than(2 * SECOND), Trimmed::default());
    clock.advance(SECOND / 2);
    assert_eq!(pool.trim_older_than(2 * SECOND), Trimmed { bytes: 256, buffers: 1 });
    assert_eq!(pool.trim_older_than(Duration::ZERO), Trimmed { bytes: 256, buffers: 1 });
}

#[test]
fn reserving_is_all_or_nothing() {
    let Bench { device, pool, .. } = bench(limited(u64::MAX, 4, u64::MAX));
    assert_eq!(pool.reserve(256, StorageMode::Shared, 5), Err(MemoryError::PoolBuffers { limit: 4 }));
    assert_eq!(device.live_buffers(), 0);
    pool.reserve(256, StorageMode::Shared, 4).unwrap();
    let acquired: Vec<_> = (0..4).map(|_| pool.acquire(&AcquireRequest::new(200)).unwrap()).collect();
    assert_eq!((pool.stats().hits, acquired.len()), (4, 4));
}

#[test]
fn a_device_out_of_memory_is_relieved_once() {
    let Bench { device, pool, .. } = bench(PoolOptions::default());
    drop(pool.acquire(&AcquireRequest::new(4096)).unwrap());
    device.out_of_memory.store(true, Ordering::SeqCst);
    let refused = pool.acquire(&AcquireRequest::new(64)).unwrap_err();
    assert_eq!(refused, MemoryError::Device(DeviceError::OutOfMemory { requested: 256 }));
    assert_eq!((pool.stats().bytes, device.live_buffers()), (0, 0), "idle memory was given up");
}

#[test]
fn a_budget_is_shared_by_pools_and_a_tenant_pays_for_classes() {
    let budget = Budget::new(1024);
    let options = PoolOptions { budget: Some(budget.clone()), ..PoolOptions::default() };
    let [one, other] = [bench(options.clone()), bench(options)];
    drop(one.pool.acquire(&AcquireRequest::new(1024)).unwrap());
    let acquired = other.pool.acquire(&AcquireRequest::new(512)).unwrap();
    assert_eq!(one.pool.stats().bytes, 0, "the other pool needed it");
    let refused = one.pool.acquire(&AcquireRequest::new(640)).unwrap_err();
    assert_eq!(refused, MemoryError::OverBudget { requested: 640, reserved: 512, limit: 1024 });
    assert_eq!((one.pool.stats().bytes, one.pool.stats().buffers), (0, 0));
    drop(acquired);
    let limits = TenantLimits { bytes: Some(512), ..TenantLimits::default() };
    let tenant = Tenant::new("blue", limits, one.clock.clone());
    let held = one.pool.acquire(&AcquireRequest::new(257).tenant(&tenant)).unwrap();
    assert_eq!(tenant.usage().bytes, 320);
    assert!(matches!(one.pool.acquire(&AcquireRequest::new(1).tenant(&tenant)), Err(MemoryError::Quota(_))));
    drop(held);
    assert!(one.pool.acquire(&AcquireRequest::new(2048).tenant(&tenant)).is_err(), "the budget's refusal");
    assert_eq!((tenant.usage().bytes, tenant.usage().buffers), (0, 0));
}

#[test]
fn what_is_acquired_is_listed() {
    let Bench { clock, pool, .. } = bench(PoolOptions { backtraces: true, ..PoolOptions::default() });
    let registry = Registry::new(clock.clone(), false);
    registry.attach(pool.inventory());
    let acquired = pool.acquire(&AcquireRequest::new(100).label("activations")).unwrap();
    clock.advance(SECOND);
    let live = registry.live();
    assert_eq!((live[0].label.as_str(), live[0].bytes, live[0].held_bytes), ("activations", 100, 256));
    assert!(live[0].age == SECOND && live[0].backtrace.is_some());
    drop(acquired);
    registry.assert_no_leaks();
}

#[test]
fn a_throttled_acquire_gets_what_another_thread_gives_back() {
    let Bench { clock, pool, .. } = bench(limited(256, 10, u64::MAX));
    let acquired = pool.acquire(&AcquireRequest::new(256)).unwrap();
    let refused = pool.acquire_within(&AcquireRequest::new(256), Duration::ZERO).unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Exhausted);
    let waits = std::thread::spawn({
        let pool = pool.clone();
        // The clock stands still, so only the block's return ends the wait.
        move || pool.acquire_within(&AcquireRequest::new(256), SECOND).map(|buffer| buffer.length())
    });
    drop(acquired);
    assert_eq!(waits.join().unwrap(), Ok(256));
    let kept = pool.acquire(&AcquireRequest::new(256)).unwrap();
    let waits = std::thread::spawn({
        let pool = pool.clone();
        move || pool.acquire_within(&AcquireRequest::new(256), SECOND).map(drop)
    });
    while clock.now() < 2 * SECOND && !waits.is_finished() {
        clock.advance(SECOND / 100);
        std::thread::yield_now();
    }
    // Either it saw the time end, or it started late; the test moves on until it has.
    while !waits.is_finished() {
        clock.advance(SECOND);
        std::thread::yield_now();
    }
    assert!(matches!(waits.join().unwrap(), Err(MemoryError::PoolBytes { .. })));
    drop(kept);
}

/// One step of a random program. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum PoolStep {
    Acquire {
        length: u64,
        mode: StorageMode,
        zeroed: bool,
    },
    Drop(usize),
    /// Work that uses a pooled buffer; `holds` says whether it holds a handle, as a submission does.
    Submit {
        which: usize,
        holds: bool,
    },
    Complete(usize),
    View(usize),
    DropView(usize),
    Advance(u64),
    TrimOlder(u64),
    TrimAll,
    Reserve {
        length: u64,
        count: usize,
    },
    OutOfMemory(bool),
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![0..2000u64, 0..20u64, (0..9u32).prop_map(|power| 256 << (power / 3))]
}

fn mode() -> impl Strategy<Value = StorageMode> {
    prop_oneof![
        proptest::prelude::Just(StorageMode::Shared),
        proptest::prelude::Just(StorageMode::Private),
        proptest::prelude::Just(StorageMode::Managed)
    ]
}

fn step() -> impl Strategy<Value = PoolStep> {
    prop_oneof![
        8 => (length(), mode(), any::<bool>())
            .prop_map(|(length, mode, zeroed)| PoolStep::Acquire { length, mode, zeroed }),
        6 => any::<usize>().prop_map(PoolStep::Drop),
        4 => (any::<usize>(), any::<bool>()).prop_map(|(which, holds)| PoolStep::Submit { which, holds }),
        4 => any::<usize>().prop_map(PoolStep::Complete),
        1 => any::<usize>().prop_map(PoolStep::View),
        1 => any::<usize>().prop_map(PoolStep::DropView),
        1 => (0..10u64).prop_map(PoolStep::Advance),
        1 => (0..10u64).prop_map(PoolStep::TrimOlder),
        1 => proptest::prelude::Just(PoolStep::TrimAll),
        1 => (length(), 0..4usize).prop_map(|(length, count)| PoolStep::Reserve { length, count }),
        1 => any::<bool>().prop_map(PoolStep::OutOfMemory),
    ]
}

/// A random program's world: what the pool must not hand out again.
struct World {
    bench: Bench,
    limits: PoolLimits,
    tenant: Tenant,
    acquired: Vec<PooledBuffer>,
    working: Vec<Work>,
    views: Vec<BufferView>,
}

/// Work in flight. It ends when it is dropped.
struct Work {
    address: usize,
    uses: Arc<std::sync::atomic::AtomicUsize>,
    _handle: Option<Arc<dyn Buffer>>,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.uses.fetch_sub(1, Ordering::SeqCst);
    }
}

fn choose<T>(from: &mut Vec<T>, which: usize) -> Option<T> {
    (!from.is_empty()).then(|| from.swap_remove(which % from.len()))
}

impl World {
    fn forbidden(&self) -> HashSet<usize> {
        let acquired = self.acquired.iter().map(|buffer| address(buffer.whole()));
        let working = self.working.iter().map(|work| work.address);
        acquired.chain(working).chain(self.views.iter().map(|view| address(view.buffer()))).collect()
    }

    fn acquire(
        &mut self,
        request: AcquireRequest<'_>,
        length: u64,
        zeroed: bool,
    ) -> Result<(), TestCaseError> {
        let forbidden = self.forbidden();
        let before = self.tenant.usage();
        let tenant = self.tenant.clone();
        match self.bench.pool.acquire(&request.tenant(&tenant)) {
            Ok(buffer) => {
                prop_assert!(!forbidden.contains(&address(buffer.whole())), "aliased");
                prop_assert!(buffer.capacity() >= length && buffer.length() == length);
                if zeroed {
                    let mut bytes = vec![1; length as usize];
                    buffer.whole().read(0, &mut bytes).unwrap();
                    prop_assert!(bytes.iter().all(|&byte| byte == 0));
                }
                buffer.whole().write(0, &vec![0xa5; buffer.capacity() as usize]).unwrap();
                self.acquired.push(buffer);
            }
            Err(_) => {
                let after = self.tenant.usage();
                prop_assert_eq!((before.bytes, before.buffers), (after.bytes, after.buffers));
            }
        }
        Ok(())
    }

    fn run(&mut self, step: PoolStep) -> Result<(), TestCaseError> {
        match step {
            PoolStep::Acquire { length, mode, zeroed } => {
                let request = AcquireRequest::new(length).mode(mode);
                self.acquire(if zeroed { request.zeroed() } else { request }, length, zeroed)?;
            }
            PoolStep::Drop(which) => drop(choose(&mut self.acquired, which)),
            PoolStep::Submit { which, holds } if !self.acquired.is_empty() => {
                let which = which % self.acquired.len();
                let buffer = self.acquired[which].whole();
                let uses = Arc::clone(&test_buffer(buffer).uses);
                uses.fetch_add(1, Ordering::SeqCst);
                let handle = holds.then(|| Arc::clone(buffer));
                self.working.push(Work { address: address(buffer), uses, _handle: handle });
            }
            PoolStep::Submit { .. } => {}
            PoolStep::Complete(which) => drop(choose(&mut self.working, which)),
            PoolStep::View(which) if !self.acquired.is_empty() => {
                self.views.push(self.acquired[which % self.acquired.len()].view());
            }
            PoolStep::View(_) => {}
            PoolStep::DropView(which) => drop(choose(&mut self.views, which)),
            PoolStep::Advance(seconds) => self.bench.clock.advance(SECOND * seconds as u32),
            PoolStep::TrimOlder(seconds) => drop(self.bench.pool.trim_older_than(SECOND * seconds as u32)),
            PoolStep::TrimAll => drop(self.bench.pool.trim_all()),
            PoolStep::Reserve { length, count } => {
                let _ = self.bench.pool.reserve(length, StorageMode::Shared, count);
            }
            PoolStep::OutOfMemory(on) => self.bench.device.out_of_memory.store(on, Ordering::SeqCst),
        }
        self.check()
    }

    fn check(&self) -> Result<(), TestCaseError> {
        self.bench.pool.check();
        let stats = self.bench.pool.stats();
        prop_assert!(stats.bytes <= self.limits.max_bytes && stats.buffers <= self.limits.max_buffers);
        prop_assert!(stats.idle_bytes <= self.limits.max_bytes);
        prop_assert_eq!(self.bench.device.live_buffers(), stats.buffers);
        prop_assert_eq!(self.bench.device.allocated_bytes(), stats.bytes);
        prop_assert_eq!(stats.acquired_buffers, self.acquired.len());
        prop_assert_eq!(self.tenant.usage().buffers, self.acquired.len() as u64);
        Ok(())
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(400))]

    #[test]
    fn random_programs_keep_the_rules(
        steps in proptest::collection::vec(step(), 1..120),
        max_bytes in 0..8000u64,
        max_buffers in 0..12usize,
        max_idle_bytes in 0..4000u64,
        budget in 0..10_000u64,
    ) {
        let budget = Budget::new(budget);
        let options = limited(max_bytes, max_buffers, max_idle_bytes);
        let limits = options.limits;
        let bench = bench(PoolOptions { budget: Some(budget.clone()), ..options });
        let tenant_limits = TenantLimits { bytes: Some(6000), buffers: Some(9), ..TenantLimits::default() };
        let tenant = Tenant::new("t", tenant_limits, bench.clock.clone());
        let mut world = World {
            bench, limits, tenant, acquired: Vec::new(), working: Vec::new(), views: Vec::new(),
        };
        for step in steps {
            world.run(step)?;
            prop_assert_eq!(budget.stats().reserved, world.bench.pool.stats().bytes);
        }
        world.acquired.clear();
        world.working.clear();
        world.views.clear();
        world.bench.pool.trim_all();
        prop_assert_eq!(world.bench.device.allocated_bytes(), 0);
        prop_assert_eq!(world.bench.device.live_buffers(), 0);
        prop_assert_eq!(budget.stats().reserved, 0);
        let stats = world.bench.pool.stats();
        prop_assert_eq!((stats.bytes, stats.buffers, stats.idle_bytes, stats.busy_bytes), (0, 0, 0, 0));
    }
}
