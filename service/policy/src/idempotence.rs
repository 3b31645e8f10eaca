//! Whether work may run again after an attempt that may have written something.
//!
//! Owns [`decide`], from what reflection says of the arguments to a [`Replay`]. Invariant: work is
//! never run twice silently. It may run again if its writes depend on nothing that it writes, if
//! everything that it reads and writes can be restored first, or if the caller says that it is
//! idempotent; else it is not retryable, and the reason is told.

use std::ops::Range;

use anymetal_hal::artifact::{Access, AddressSpace, ArgumentInfo, ArgumentKind};

/// What is bound to one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundArgument {
    /// The Metal index.
    pub index: u32,
    /// The argument's name in the source.
    pub name: String,
    /// What the kernel does with it, as reflection says.
    pub access: Access,
    /// The memory: arguments with the same number share it, as two views of a buffer do.
    pub memory: u64,
    /// The bytes of that memory which are bound.
    pub bytes: Range<u64>,
    /// Whether the host can copy them away and back.
    pub can_snapshot: bool,
}

impl BoundArgument {
    /// The memory that is bound to an argument, as reflection describes it; `None` for one that has
    /// no memory outside its threadgroup: it is disabled, or threadgroup memory. Inline bytes have
    /// none either, and need not be given.
    pub fn new(info: &ArgumentInfo, memory: u64, bytes: Range<u64>, can_snapshot: bool) -> Option<Self> {
        let access = match info.address_space {
            AddressSpace::Constant => Access::Read,
            AddressSpace::Device | AddressSpace::Threadgroup => info.access,
        };
        let (index, name) = (info.index, info.name.clone());
        let bound = BoundArgument { index, name, access, memory, bytes, can_snapshot };
        (info.enabled && info.kind != ArgumentKind::ThreadgroupMemory).then_some(bound)
    }

    fn reads(&self) -> bool {
        matches!(self.access, Access::Read | Access::ReadWrite)
    }

    fn writes(&self) -> bool {
        matches!(self.access, Access::Write | Access::ReadWrite)
    }

    fn overlaps(&self, other: &BoundArgument) -> bool {
        let shared = self.bytes.start.max(other.bytes.start)..self.bytes.end.min(other.bytes.end);
        self.memory == other.memory && !shared.is_empty()
    }
}

/// What the caller says of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Declaration {
    /// Nothing: reflection decides.
    #[default]
    Reflected,
    /// Running it again, even after a part of it ran, gives the same result.
    Idempotent,
    /// It must not run again.
    Once,
}

/// Work that may have to run again.
#[derive(Debug, Clone, Default)]
pub struct RetryableWork<'a> {
    /// What the caller says.
    pub declaration: Declaration,
    /// All arguments of all its kernels.
    pub arguments: &'a [BoundArgument],
    /// What it does beyond the memory of its arguments, such as a callback on the host, a signalled
    /// event or a pointer inside a buffer; `None`: nothing.
    pub other_effect: Option<&'a str>,
}

/// A stretch of memory to copy away before the first attempt and back before each further one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRange {
    /// The memory, as in [`BoundArgument::memory`].
    pub memory: u64,
    /// The bytes of it.
    pub bytes: Range<u64>,
}

/// Everything to restore, in the order of memory and bytes, without overlaps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotPlan {
    ranges: Vec<SnapshotRange>,
}

impl SnapshotPlan {
    /// The ranges.
    pub fn ranges(&self) -> &[SnapshotRange] {
        &self.ranges
    }

    /// The bytes of all ranges together.
    pub fn len(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.bytes.end - range.bytes.start))
    }

    /// Whether there is nothing to restore.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    fn of<'a>(arguments: impl Iterator<Item = &'a BoundArgument>) -> Self {
        let mut all: Vec<_> = arguments
            .filter(|argument| !argument.bytes.is_empty())
            .map(|argument| SnapshotRange { memory: argument.memory, bytes: argument.bytes.clone() })
            .collect();
        all.sort_by_key(|range| (range.memory, range.bytes.start));
        let mut ranges: Vec<SnapshotRange> = Vec::new();
        for range in all {
            match ranges.last_mut() {
                Some(last) if last.memory == range.memory && range.bytes.start <= last.bytes.end => {
                    last.bytes.end = last.bytes.end.max(range.bytes.end);
                }
                _ => ranges.push(range),
            }
        }
        SnapshotPlan { ranges }
    }
}

/// Why work may not run again once an attempt may have written something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRetryable {
    /// The caller says so.
    #[error("it was declared to run once")]
    Declared,
    /// It does something that cannot be undone.
    #[error("it has an effect beyond its arguments: {effect}")]
    OtherEffect {
        /// What it does.
        effect: String,
    },
    /// The host cannot copy what it changes.
    #[error("argument {index} `{name}` is changed in place and the host cannot copy it")]
    NoSnapshot {
        /// The Metal index.
        index: u32,
        /// The argument's name.
        name: String,
    },
    /// A copy of what it changes would be too large.
    #[error("what it changes in place is {needs} bytes, more than the limit of {limit} for a copy")]
    SnapshotTooLarge {
        /// The bytes to copy.
        needs: u64,
        /// The limit.
        limit: u64,
    },
}

/// What must be done before work runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replay {
    /// Nothing.
    Idempotent,
    /// Everything in the plan is restored from a copy made before the first attempt.
    Restore(SnapshotPlan),
    /// It does not run again unless the attempt had no effect at all.
    NotRetryable(NotRetryable),
}

/// Decides what must be done before the work runs again. At most `limit` bytes are copied.
///
/// An argument that is only written needs no copy unless it shares bytes with one that is read: the
/// next attempt writes the same values to the same places.
pub fn decide(work: &RetryableWork<'_>, limit: u64) -> Replay {
    match work.declaration {
        Declaration::Idempotent => return Replay::Idempotent,
        Declaration::Once => return Replay::NotRetryable(NotRetryable::Declared),
        Declaration::Reflected => {}
    }
    if let Some(effect) = work.other_effect {
        return Replay::NotRetryable(NotRetryable::OtherEffect { effect: effect.to_owned() });
    }
    let changes_input = |written: &&BoundArgument| {
        let is_read = |other: &BoundArgument| other.reads() && other.overlaps(written);
        written.writes() && work.arguments.iter().any(is_read)
    };
    let changed: Vec<_> = work.arguments.iter().filter(changes_input).collect();
    if let Some(argument) = changed.iter().find(|argument| !argument.can_snapshot) {
        let (index, name) = (argument.index, argument.name.clone());
        return Replay::NotRetryable(NotRetryable::NoSnapshot { index, name });
    }
    let plan = SnapshotPlan::of(changed.into_iter());
    match plan.len() {
        0 => Replay::Idempotent,
        needs if needs > limit => Replay::NotRetryable(NotRetryable::SnapshotTooLarge { needs, limit }),
        _ => Replay::Restore(plan),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use anymetal_hal::artifact::{ElementType, ScalarType};

    use super::*;

    const LIMIT: u64 = 1000;

    fn argument(index: u32, access: Access, memory: u64, bytes: Range<u64>) -> BoundArgument {
        BoundArgument { index, name: format!("a{index}"), access, memory, bytes, can_snapshot: true }
    }

    fn replay(arguments: &[BoundArgument]) -> Replay {
        decide(&RetryableWork { arguments, ..RetryableWork::default() }, LIMIT)
    }

    fn restored(replay: Replay) -> Vec<(u64, Range<u64>)> {
        match replay {
            Replay::Restore(plan) => {
                plan.ranges().iter().map(|range| (range.memory, range.bytes.clone())).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn outputs_that_are_only_written_need_no_copy() {
        let (input, output) = (argument(0, Access::Read, 1, 0..64), argument(1, Access::Write, 2, 0..64));
        assert_eq!(replay(&[input.clone(), output.clone()]), Replay::Idempotent);
        let beside = argument(1, Access::Write, 1, 64..128);
        assert_eq!(replay(&[input, beside]), Replay::Idempotent, "another part of the same buffer");
        assert_eq!(replay(&[]), Replay::Idempotent);
        let mut private = output;
        private.can_snapshot = false;
        assert_eq!(replay(&[private]), Replay::Idempotent, "no copy is needed");
    }

    #[test]
    fn reflection_tells_which_memory_counts() {
        let info = ArgumentInfo::new(ArgumentKind::Buffer, 2, "x")
            .address_space(AddressSpace::Device)
            .type_name("float")
            .element(ElementType::Scalar(ScalarType::F32))
            .element_size(4)
            .element_align(4);
        let bound = |info: &ArgumentInfo| BoundArgument::new(info, 7, 0..4, true);
        let expected = BoundArgument { name: "x".to_owned(), ..argument(2, Access::ReadWrite, 7, 0..4) };
        assert_eq!(bound(&info), Some(expected));
        let constant = info.clone().address_space(AddressSpace::Constant);
        assert_eq!(bound(&constant).unwrap().access, Access::Read);
        let threadgroup = info.clone().kind(ArgumentKind::ThreadgroupMemory);
        assert_eq!((bound(&threadgroup), bound(&info.enabled(false))), (None, None));
    }

    #[test]
    fn what_is_changed_in_place_is_restored() {
        let in_place = argument(0, Access::ReadWrite, 1, 8..16);
        assert_eq!(restored(replay(&[in_place])), [(1, 8..16)]);
        let aliased = [argument(0, Access::Read, 1, 0..64), argument(1, Access::Write, 1, 32..96)];
        assert_eq!(restored(replay(&aliased)), [(1, 32..96)], "an output over an input");
        let many = [
            argument(0, Access::ReadWrite, 2, 40..60),
            argument(1, Access::ReadWrite, 1, 0..4),
            argument(2, Access::ReadWrite, 2, 0..40),
            argument(3, Access::ReadWrite, 2, 10..20),
        ];
        assert_eq!(restored(replay(&many)), [(1, 0..4), (2, 0..60)], "each byte once");
    }

    #[test]
    fn what_can_neither_repeat_nor_restore_is_refused_with_the_reason() {
        let in_place = argument(3, Access::ReadWrite, 1, 0..LIMIT + 1);
        let Replay::NotRetryable(why) = replay(std::slice::from_ref(&in_place)) else { panic!() };
        assert_eq!(why, NotRetryable::SnapshotTooLarge { needs: 1001, limit: LIMIT });
        let private = BoundArgument { can_snapshot: false, bytes: 0..4, ..in_place.clone() };
        let Replay::NotRetryable(why) = replay(&[private]) else { panic!() };
        assert_eq!(why.to_string(), "argument 3 `a3` is changed in place and the host cannot copy it");
        let work =
            RetryableWork { other_effect: Some("event `done` is signalled"), ..RetryableWork::default() };
        let Replay::NotRetryable(why) = decide(&work, LIMIT) else { panic!() };
        assert!(why.to_string().ends_with("event `done` is signalled"));
        let arguments = [in_place];
        let declared =
            |declaration| decide(&RetryableWork { declaration, arguments: &arguments, ..work.clone() }, 0);
        assert_eq!(declared(Declaration::Idempotent), Replay::Idempotent);
        assert_eq!(declared(Declaration::Once), Replay::NotRetryable(NotRetryable::Declared));
    }
}
