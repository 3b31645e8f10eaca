//! The memory that the kernels of a command buffer reach through pointers in memory, and what each launch
//! may do with it.
//!
//! Owns [`Residents`]. Invariant: a launch may store through a loaded pointer to memory that it binds only
//! if an argument of the launch may be stored to there, or if the program named the memory for writing. A
//! kernel cannot write to a `const` argument by computing its address.

use std::borrow::Cow;
use std::sync::Arc;

use crate::artifact::{Access, ArgumentKind, KernelInfo};
use crate::buffer::Buffer;
use crate::command::{Binding, BoundResource, Command};
use crate::error::DeviceError;
use crate::launch::resident::{self, AddressRange};

/// The table of a command buffer, by address.
#[derive(Debug, Default)]
pub struct Residents {
    /// With what any launch of the command buffer may do.
    table: Vec<AddressRange>,
    /// For each entry, whether the program named it for writing.
    named: Vec<bool>,
}

impl Residents {
    /// Creates the table of the memory that the program `named` and that commands have `bound`.
    /// Errors with [`DeviceError::TooManyResident`].
    pub fn new(named: &[AddressRange], bound: &[AddressRange]) -> Result<Self, DeviceError> {
        let table = resident::merge_overlapping(named.iter().chain(bound).copied().collect());
        if table.len() > resident::MAX_BUFFERS {
            return Err(DeviceError::TooManyResident { count: table.len(), limit: resident::MAX_BUFFERS });
        }
        let mut named_for_writing = vec![false; table.len()];
        for range in named.iter().filter(|range| range.writable && range.len > 0) {
            let number = resident::find(&table, range.address).expect("the table covers each of its ranges");
            named_for_writing[number] = true;
        }
        Ok(Residents { table, named: named_for_writing })
    }

    /// The table for all launches that bind none of its memory.
    pub fn table(&self) -> &[AddressRange] {
        &self.table
    }

    /// The table for a launch whose own arguments are bound to these ranges.
    pub fn for_launch(&self, own: impl IntoIterator<Item = AddressRange>) -> Cow<'_, [AddressRange]> {
        let mut own_access = vec![None; self.table.len()];
        for range in own.into_iter().filter(|range| range.len > 0) {
            if let Some(number) = resident::find(&self.table, range.address) {
                *own_access[number].get_or_insert(false) |= range.writable;
            }
        }
        let mut table = Cow::Borrowed(&self.table[..]);
        for (number, access) in own_access.into_iter().enumerate() {
            let Some(writable) = access.map(|own| own || self.named[number]) else { continue };
            if table[number].writable != writable {
                table.to_mut()[number].writable = writable;
            }
        }
        table
    }
}

/// Whether a kernel may store to what is bound at a Metal buffer index.
pub fn stores_to(kernel: &KernelInfo, index: u32) -> bool {
    kernel.argument(ArgumentKind::Buffer, index).is_some_and(|argument| argument.access != Access::Read)
}

/// Calls `visit` for each buffer that the commands use and whether they may store to it; for some more than
/// once. Of commands other than launches the program names the buffers itself.
pub fn each_used<'a>(commands: &'a [Command], visit: &mut dyn FnMut(&'a Arc<dyn Buffer>, bool)) {
    for command in commands {
        let Some(dispatch) = command.dispatch() else {
            command.each_buffer(&mut |buffer| visit(buffer, true));
            continue;
        };
        if let Command::DispatchIndirect(indirect) = command {
            visit(indirect.counts(), false);
        }
        for Binding { index, resource } in dispatch.bindings() {
            if let BoundResource::Buffer { buffer, .. } = resource {
                visit(buffer, stores_to(dispatch.kernel(), *index));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_stores_only_where_its_own_arguments_or_the_program_let_it() {
        let range = |address, writable| AddressRange { address, len: 10, writable };
        let residents =
            Residents::new(&[range(10, true), range(20, false)], &[range(30, true), range(40, false)])
                .unwrap();
        let access = |own: &[AddressRange]| -> Vec<bool> {
            residents.for_launch(own.iter().copied()).iter().map(|range| range.writable).collect()
        };
        assert_eq!(access(&[]), [true, false, true, false]);
        let given = [10, 20, 30, 40].map(|address| range(address + 1, false));
        assert_eq!(access(&given), [true, false, false, false]);
        assert_eq!(access(&[range(20, true), range(30, false), range(35, true)]), [true, true, true, false]);
        assert!(matches!(residents.for_launch([range(30, true)]), Cow::Borrowed(_)));

        // An entry that several ranges make is for writing if the program named one of them so.
        let named =
            [range(10, false), range(15, true), range(50, true), AddressRange { len: 0, ..range(90, true) }];
        let merged = Residents::new(&named, &[range(12, false), range(50, false), range(70, true)]).unwrap();
        let access = |own| merged.for_launch([own]).iter().map(|range| range.writable).collect::<Vec<_>>();
        assert_eq!(access(range(12, false)), [true, true, true]);
        assert_eq!(access(range(70, false)), [true, true, false]);
    }
}
