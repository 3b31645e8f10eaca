//! Shadow memory: the last accesses of each address, of constant size.
//!
//! Owns [`Shadow`]. A cell keeps the last write, the last atomic that writes and two reads of different
//! threads, as HiRace keeps a state of constant size for each address (arXiv 2401.04701). Cells are of four
//! bytes until an access covers a part of one; then its page is split. Pages are made when first touched,
//! within a bound.

/// Bytes that a page is the shadow of.
const PAGE_BYTES: u64 = 4096;
/// Pages of threadgroup memory.
pub(crate) const THREADGROUP: u32 = u32::MAX;

/// One access; none by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    /// The threadgroup's number and the index in it; see [`Record::thread_number`].
    pub(crate) thread: u64,
    /// When, by the threadgroup's clock; 0: never.
    pub(crate) date: u32,
    pub(crate) site: Site,
}

/// What accesses memory: an instruction, as an atomic or not, as a write or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Site(u32);

impl Site {
    pub(crate) fn new(step: u32, is_atomic: bool, writes: bool) -> Self {
        Self(step << 2 | u32::from(is_atomic) << 1 | u32::from(writes))
    }

    pub(crate) fn is_atomic(self) -> bool {
        self.0 & 2 != 0
    }

    /// A number of its own, to look it up.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Record {
    /// A number for a thread of the launch: threadgroups have at most 1024.
    pub(crate) fn thread_number(group: u64, index: u32) -> u64 {
        group << 10 | u64::from(index)
    }

    pub(crate) fn is_some(&self) -> bool {
        self.date != 0
    }

    pub(crate) fn group(&self) -> u64 {
        self.thread >> 10
    }

    pub(crate) fn index(&self) -> u32 {
        (self.thread & 1023) as u32
    }

    pub(crate) fn simdgroup(&self) -> u32 {
        self.index() / 32
    }

    /// Whether both are of one SIMD-group.
    fn shares_simdgroup(&self, other: &Self) -> bool {
        self.thread >> 5 == other.thread >> 5
    }
}

/// The accesses of some bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) write: Record,
    pub(crate) atomic: Record,
    pub(crate) reads: [Record; 2],
}

impl Cell {
    /// Keeps a read beside those that came before it. `is_ordered` says whether one comes before this one.
    pub(crate) fn note_read(&mut self, new: Record, is_ordered: impl Fn(&Record) -> bool) {
        for slot in 0..2 {
            let old = &mut self.reads[slot];
            if !old.is_some() || old.thread == new.thread {
                *old = new;
                return;
            }
        }
        // A write that races with what is dropped races with what replaces it, too.
        if let Some(old) = self.reads.iter_mut().find(|old| is_ordered(old)) {
            *old = new;
        } else if self.reads[0].shares_simdgroup(&self.reads[1]) && !new.shares_simdgroup(&self.reads[0]) {
            self.reads[1] = new;
        }
    }

    /// Keeps an atomic read where no plain one is. It races with plain writes alone, so it takes the place
    /// neither of an atomic write, which plain reads race with, nor of a plain read.
    pub(crate) fn note_atomic_read(&mut self, new: Record) {
        let is_atomic = |old: &Record| old.site.is_atomic();
        let is_own = |old: &Record| old.thread == new.thread && is_atomic(old);
        let place = self
            .reads
            .iter()
            .position(is_own)
            .or_else(|| self.reads.iter().position(|old| !old.is_some()))
            .or_else(|| self.reads.iter().rposition(is_atomic));
        if let Some(place) = place {
            self.reads[place] = new;
        }
    }
}

/// The cells of some bytes of memory.
#[derive(Debug)]
struct Page {
    /// Bytes of a cell: 4, 2 or 1.
    granule: u64,
    cells: Vec<Cell>,
}

impl Page {
    fn new() -> Self {
        Self { granule: 4, cells: vec![Cell::default(); (PAGE_BYTES / 4) as usize] }
    }

    fn split(&mut self, granule: u64) {
        let each = (self.granule / granule) as usize;
        self.cells = self.cells.iter().flat_map(|&cell| std::iter::repeat_n(cell, each)).collect();
        self.granule = granule;
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Shadow {
    pages: Vec<Page>,
    /// Of each memory, by number of the page: its place in `pages`, plus 1; 0: it has none.
    tables: Vec<Vec<u32>>,
    bytes: u64,
    max_bytes: u64,
    /// Accesses without a page, as there was no room.
    pub(crate) not_followed: u64,
}

impl Shadow {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Self { pages: Vec::new(), tables: Vec::new(), bytes: 0, max_bytes, not_followed: 0 }
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets all accesses: launches of one queue are ordered.
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
        self.tables.clear();
        self.bytes = 0;
    }

    /// Calls `f` with each cell of the bytes and the first byte that it stands for.
    #[inline]
    pub(crate) fn for_each_cell(
        &mut self,
        memory: u32,
        start: u64,
        bytes: u64,
        mut f: impl FnMut(&mut Cell, u64),
    ) {
        let end = start.saturating_add(bytes);
        let mut at = start;
        while at < end {
            let page_start = at - at % PAGE_BYTES;
            let stop = end.min(page_start + PAGE_BYTES);
            match self.page(memory, page_start / PAGE_BYTES, at | stop) {
                Some(page) => {
                    let granule = page.granule;
                    for n in (at - page_start) / granule..(stop - page_start) / granule {
                        f(&mut page.cells[n as usize], page_start + n * granule);
                    }
                }
                None => self.not_followed += 1,
            }
            at = stop;
        }
    }

    /// The page, its cells no larger than the alignment of `bounds`.
    #[inline]
    fn page(&mut self, memory: u32, number: u64, bounds: u64) -> Option<&mut Page> {
        let granule = 1 << bounds.trailing_zeros().min(2);
        let known = self.tables.get(table_of(memory)).and_then(|table| table.get(number as usize));
        let index = known.map_or(0, |&known| known as usize);
        if index == 0 || self.pages[index - 1].granule > granule {
            return self.make_page(memory, number, granule);
        }
        Some(&mut self.pages[index - 1])
    }

    /// Makes or splits a page, if there is room.
    #[cold]
    fn make_page(&mut self, memory: u32, number: u64, granule: u64) -> Option<&mut Page> {
        const PAGE_COST: u64 = PAGE_BYTES / 4 * size_of::<Cell>() as u64;
        let table = table_of(memory);
        let place = self.tables.get(table).and_then(|table| table.get(number as usize)).copied();
        let index = place.unwrap_or(0) as usize;
        let cost = match index {
            0 => PAGE_COST * (4 / granule),
            _ => PAGE_COST * (4 / granule - 4 / self.pages[index - 1].granule),
        };
        if self.bytes + cost > self.max_bytes {
            return None;
        }
        self.bytes += cost;
        if index == 0 {
            self.pages.push(Page::new());
            grow(&mut self.tables, table);
            grow(&mut self.tables[table], number as usize);
            self.tables[table][number as usize] = self.pages.len() as u32;
        }
        let page = if index == 0 { self.pages.last_mut()? } else { &mut self.pages[index - 1] };
        if page.granule > granule {
            page.split(granule);
        }
        Some(page)
    }
}

/// The place of a memory in [`Shadow::tables`]: that of threadgroups is the first.
fn table_of(memory: u32) -> usize {
    memory.wrapping_add(1) as usize
}

/// Makes the list long enough for the index.
fn grow<T: Clone + Default>(list: &mut Vec<T>, index: usize) {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(shadow: &mut Shadow, start: u64, bytes: u64, thread: u64) -> Vec<(u64, u64)> {
        let mut before = Vec::new();
        shadow.for_each_cell(0, start, bytes, |cell, at| {
            before.push((at, cell.write.thread));
            cell.write = Record { thread, date: 1, site: Site::default() };
        });
        before
    }

    #[test]
    fn pages_are_split_where_accesses_are_smaller() {
        let mut shadow = Shadow::new(1 << 20);
        assert_eq!(write(&mut shadow, 8, 8, 7).len(), 2);
        assert_eq!(write(&mut shadow, 9, 1, 8), [(9, 7)]);
        assert_eq!(write(&mut shadow, 8, 4, 9).iter().map(|&(_, old)| old).collect::<Vec<_>>(), [7, 8, 7, 7]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut shadow = Shadow::new(100_000);
        write(&mut shadow, 0, 4096, 1);
        assert_eq!(write(&mut shadow, 4096, 4, 1), []);
        assert_eq!((shadow.not_followed, shadow.bytes()), (1, 65536));
    }

    #[test]
    fn accesses_over_a_page_boundary_reach_both_pages() {
        let mut shadow = Shadow::new(1 << 20);
        assert_eq!(
            write(&mut shadow, 4092, 8, 7).iter().map(|&(at, _)| at).collect::<Vec<_>>(),
            [4092, 4096]
        );
    }
}
