//! The slot rule: which entry of its launch table an argument has.

/// The slot of each argument, from its kind and whether it is enabled; `None` for a disabled argument.
///
/// Each kind has a table of its own, in which the enabled arguments are numbered from 0, in source order and
/// without gaps. Buffers are numbered in [`crate::CpuLaunch::buffers`], threadgroup memory in
/// [`crate::CpuLaunch::threadgroup_slots`].
pub fn argument_slots<K: PartialEq>(arguments: impl IntoIterator<Item = (K, bool)>) -> Vec<Option<u32>> {
    let mut counts: Vec<(K, u32)> = Vec::new();
    let mut slot_of = |(kind, enabled): (K, bool)| {
        if !enabled {
            return None;
        }
        match counts.iter_mut().find(|(counted, _)| *counted == kind) {
            Some((_, count)) => {
                *count += 1;
                Some(*count - 1)
            }
            None => {
                counts.push((kind, 1));
                Some(0)
            }
        }
    };
    arguments.into_iter().map(&mut slot_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_numbers_its_enabled_arguments() {
        let arguments = [('b', true), ('t', true), ('b', false), ('b', true), ('t', false), ('t', true)];
        assert_eq!(argument_slots(arguments), [Some(0), Some(0), None, Some(1), None, Some(1)]);
        assert_eq!(argument_slots([('b', false), ('b', true)]), [None, Some(0)]);
    }
}
