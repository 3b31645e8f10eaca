//! Resident buffers: what pointers in memory lead to.
//!
//! Owns the rules of the table by which a loaded address becomes an allocation: its order
//! ([`merge_overlapping`]), how an address is found in it ([`find`]), its size ([`MAX_BUFFERS`]), which
//! eight bytes are addresses ([`is_address`]), and what a kernel may do with an entry ([`READ_ONLY`]).
//! Generated code has the same search as text.

/// The most buffers of a table: executors keep the number of an allocation in 16 bits.
pub const MAX_BUFFERS: usize = 60_000;

/// The number of no allocation, with which an address in no resident buffer is kept for the fault.
pub const DANGLING: u64 = 0xffff;

/// The bit of an entry's length that marks memory which the launch may only read: as a signed number such a
/// length is negative, so that no store is in bounds.
pub const READ_ONLY: u64 = 1 << 63;

/// Addresses are below this power of two, the null pointer is none. Other pointers (to threadgroup or thread
/// memory, to constant data) have an executor's number of their allocation in the upper 16 bits.
pub const ADDRESS_BITS: u32 = 48;

/// Whether the eight bytes of a pointer are an address, which is to be looked up.
pub const fn is_address(bits: u64) -> bool {
    bits != 0 && bits >> ADDRESS_BITS == 0
}

/// The memory of a resident buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    /// The address of its first byte.
    pub address: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Whether kernels may store to it.
    pub writable: bool,
}

impl AddressRange {
    fn end(&self) -> u64 {
        self.address.saturating_add(self.len)
    }

    /// The length as a table's entry has it, with [`READ_ONLY`] where it applies.
    pub fn entry_len(&self) -> u64 {
        debug_assert_eq!(self.len & READ_ONLY, 0, "no memory is that long");
        if self.writable { self.len } else { self.len | READ_ONLY }
    }
}

/// The table of those buffers: by address, without empty ones. Buffers that overlap, in a heap whose memory
/// is used twice, are one entry, which is writable if one of them is.
pub fn merge_overlapping(mut ranges: Vec<AddressRange>) -> Vec<AddressRange> {
    ranges.retain(|range| range.len > 0);
    ranges.sort_unstable_by_key(|range| (range.address, range.len));
    let mut table: Vec<AddressRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match table.last_mut().filter(|last| range.address < last.end()) {
            Some(last) => {
                last.len = last.end().max(range.end()) - last.address;
                last.writable |= range.writable;
            }
            None => table.push(range),
        }
    }
    table
}

/// The number of the buffer that contains the address, or else of the one that ends there.
pub fn find(table: &[AddressRange], address: u64) -> Option<usize> {
    let number = table.partition_point(|range| range.address <= address).checked_sub(1)?;
    (address <= table[number].end()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_the_buffer_that_contains_them() {
        let range = |address, len| AddressRange { address, len, writable: false };
        let given = vec![range(300, 10), range(100, 50), range(150, 50), range(400, 0), range(305, 20)];
        let table = merge_overlapping(given);
        assert_eq!(table, [range(100, 50), range(150, 50), range(300, 25)]);
        let found = [99, 100, 149, 150, 200, 201, 299, 324, 325, 326].map(|address| find(&table, address));
        let [one, two, three] = [0, 1, 2].map(Some);
        assert_eq!(found, [None, one, one, two, two, None, None, three, three, None]);
        assert_eq!(find(&[], 5), None);
        assert!(is_address(1) && is_address(0xffff_ffff_ffff) && !is_address(0) && !is_address(1 << 48));
        assert_eq!(merge_overlapping(vec![range(1, 100), range(2, 3)]), [range(1, 100)]);
        assert_eq!(range(1, 100).entry_len() as i64, i64::MIN + 100);
        let writable = AddressRange { writable: true, ..range(2, 3) };
        let merged = merge_overlapping(vec![range(1, 100), writable]);
        assert_eq!(merged, [AddressRange { writable: true, ..range(1, 100) }]);
        assert_eq!(merged[0].entry_len(), 100);
    }
}
