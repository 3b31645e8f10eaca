//! What the formats say about a kind of finding besides its title: the help text and the level.

use crate::{FindingKind, Severity};

/// Errors first.
pub(super) fn rank(severity: Severity) -> u8 {
    match severity {
        Severity::Error => 0,
        Severity::Warning => 1,
        Severity::Lint => 2,
    }
}

/// One paragraph for somebody who reads of the kind for the first time: why it is wrong, what mends it.
pub(super) fn help(kind: FindingKind) -> &'static str {
    use FindingKind as K;
    match kind {
        K::RaceWithinSimdgroup => {
            "Threads of a SIMD-group are not implicitly synchronised in Metal. Put simdgroup_barrier with the \
             mem_flags of the memory between the two accesses, or use a SIMD-group function such as simd_shuffle."
        }
        K::RaceWithinThreadgroup => {
            "Two SIMD-groups access the same memory, one of them writes, and nothing orders the accesses. Put \
             threadgroup_barrier with the mem_flags of the memory between them, or use atomic functions."
        }
        K::RaceBetweenThreadgroups => {
            "Threadgroups of one launch run in any order, and no barrier orders them. Use atomic functions, give \
             each threadgroup memory of its own, or split the work into two launches."
        }
        K::RaceOfEqualValues => {
            "Threads write the same value to the same memory without synchronisation. Apple's GPUs tolerate it. \
             Let one thread write, use an atomic store, or mark the line with `// anymetal: benign race`."
        }
        K::OutOfBounds => {
            "The address is outside of the memory that is bound to the argument. Compare the index with the number \
             of elements before the access, or bind a larger buffer."
        }
        K::OutOfBoundsThreadgroup => {
            "The address is outside of the threadgroup variable, or of the length that was set for the threadgroup \
             memory argument."
        }
        K::OutOfBoundsPrivate => "The index is outside of a local array of the thread.",
        K::VectorIndex => "The index names a component that the vector does not have.",
        K::NullAccess => {
            "Nothing is bound to the argument, or the pointer was never set. Bind a buffer, or test the pointer."
        }
        K::UninitialisedThreadgroup => {
            "Threadgroup memory is undefined when a threadgroup starts. Write it before it is read, with a barrier \
             between if another thread reads it."
        }
        K::UninitialisedPrivate => "The variable is undefined until it is written. Give it an initial value.",
        K::UninitialisedDevice => {
            "The buffer's contents were said to be undefined, and no kernel or copy has written these bytes."
        }
        K::DivergentBarrier => {
            "All threads of a threadgroup must execute the same barrier. Move the barrier out of the branch or loop \
             that only some threads take."
        }
        K::EarlyReturn => {
            "All threads of a threadgroup must execute a barrier, also those that have no element to work on. \
             Apple's GPUs count threads that returned as arrived. Guard the work, not the barrier."
        }
        K::InactiveLane => {
            "The value of a lane that does not execute the SIMD-group function, or that a partial SIMD-group or quad \
             lacks, is undefined. Let all lanes of the SIMD-group execute it, and choose among the results."
        }
        K::DivergentSimdgroup => {
            "SIMD-group matrix functions must be executed by all threads of the SIMD-group."
        }
        K::TextureFence => {
            "A read of a read_write texture may return the texel from before the thread's own write. Call the \
             texture's fence() between the write and the read."
        }
        K::Misaligned => {
            "An address must be a multiple of the alignment of the type. Use a packed type, or align the offset."
        }
        K::DivisionByZero => "The result of integer division by zero is undefined. Test the divisor.",
        K::ShiftOverflow => {
            "The number of bits to shift by must be less than the bits of the type; hardware takes it modulo those."
        }
        K::IndexWrap => {
            "A sum or product of 32 bits in the computation of an index is larger than its type, or smaller than 0 \
             if it is unsigned. The access may be inside of its buffer all the same. Compute the index in 64 bits."
        }
        K::NanProduced => "An operation on numbers made a NaN, as 0/0, inf-inf and sqrt(-1) do.",
        K::BankConflict => {
            "Lanes of a SIMD-group access the same bank of threadgroup memory, and are served one after the other. \
             Pad the rows, or let neighbouring lanes access neighbouring words."
        }
        K::BarrierWithoutFlags => {
            "The accesses are ordered only by a barrier with mem_flags::mem_none, which orders execution but not \
             memory. Give the barrier the mem_flags of the memory."
        }
        K::DivergentReduction => {
            "The SIMD-group function works on active lanes only, and some lanes of the SIMD-group do not execute it. \
             If that is not meant, move it out of the branch."
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::FindingKind;

    #[test]
    fn every_kind_has_its_own_help() {
        let texts: std::collections::BTreeSet<&str> =
            FindingKind::ALL.iter().map(|&kind| super::help(kind)).collect();
        assert_eq!(texts.len(), FindingKind::ALL.len());
        assert!(texts.iter().all(|text| text.ends_with('.')));
    }
}
