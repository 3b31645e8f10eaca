//! Several observers as one. Each is notified of all accesses that any of them is interested in.

use super::{
    Access, Accesses, ArithmeticLint, AtomicKind, BarrierArrival, DivergentSimd, EarlyReturn, FenceExecuted,
    Group, Interests, LanesExit, LocalStart, MemorySizes, Observer, VectorIndex,
};
use crate::report::{DivergentBarrier, Fault, PartialBarrier};
use crate::{Dispatch, Program};

/// Passes every event on, in order.
#[derive(Default)]
pub struct Several<'o> {
    observers: Vec<&'o mut dyn Observer>,
}

impl std::fmt::Debug for Several<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Several").field("observers", &self.observers.len()).finish()
    }
}

impl<'o> Several<'o> {
    /// Of no observers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more.
    #[must_use]
    pub fn with(mut self, observer: &'o mut dyn Observer) -> Self {
        self.observers.push(observer);
        self
    }
}

macro_rules! pass_on {
    ($($method:ident($($arg:ident: $ty:ty),*);)*) => {
        $(fn $method(&mut self, $($arg: $ty),*) {
            for observer in &mut self.observers {
                observer.$method($($arg),*);
            }
        })*
    };
}

impl Observer for Several<'_> {
    fn interests(&self) -> Interests {
        self.observers.iter().fold(Interests::default(), |all, observer| all.or(observer.interests()))
    }

    pass_on! {
        on_dispatch(program: &Program, dispatch: &Dispatch, sizes: MemorySizes);
        on_group_start(group: &Group);
        on_group_end(group: &Group);
        on_accesses(accesses: &Accesses<'_>);
        on_copies(source: &Accesses<'_>, target: &Accesses<'_>);
        on_load(access: &Access);
        on_store(access: &Access);
        on_copy(source: &Access, target: &Access);
        on_atomic(access: &Access, kind: AtomicKind);
        on_local_start(start: &LocalStart);
        on_barrier(arrival: &BarrierArrival);
        on_barrier_passed(group: &Group, generation: u32);
        on_fence(fence: &FenceExecuted);
        on_divergent_simd(operation: &DivergentSimd);
        on_vector_index(access: &VectorIndex);
        on_arithmetic(lint: &ArithmeticLint);
        on_exit(exit: &LanesExit);
        on_early_return(barrier: &EarlyReturn);
        on_divergent_barrier(barrier: &DivergentBarrier);
        on_fault(fault: &Fault);
        on_partial_barrier(barrier: &PartialBarrier);
    }
}
