//! Where the parts of an object go in memory.
//!
//! One mapping holds everything, so that distances within an object always fit 32 bits:
//! code and call stubs, then constants and address slots, then writable data, each on pages of its
//! own. Everything here is checked arithmetic on untrusted numbers; nothing is mapped yet.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

use object::read::elf::{ElfFile64, ElfSection64, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SectionIndex, SymbolIndex, elf};

use super::error::{LoadError, damaged};
use super::machine::{Machine, Need, STUB_BYTES};

pub(super) type File<'data> = ElfFile64<'data, LittleEndian>;

/// No compiled kernel comes near this; a damaged size field does.
pub(super) const MAXIMUM_BYTES: u64 = 256 << 20;
const SLOT_BYTES: usize = 8;

/// Which pages a section belongs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Code,
    Constants,
    Data,
}

/// A section's place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed<'data> {
    /// From the start of the mapping.
    pub(super) offset: usize,
    /// In memory.
    pub(super) bytes: usize,
    /// From the file; empty for zero-initialised sections.
    pub(super) contents: &'data [u8],
}

/// The finished layout.
#[derive(Debug)]
pub(super) struct Layout<'data> {
    pub(super) machine: Machine,
    /// Bytes of the whole mapping.
    pub(super) bytes: usize,
    pub(super) code: Range<usize>,
    pub(super) constants: Range<usize>,
    /// Loaded sections by their index in the file.
    sections: BTreeMap<usize, Placed<'data>>,
    /// Offset of the stub for each undefined symbol that is called, by the symbol's index.
    pub(super) stubs: BTreeMap<usize, usize>,
    /// Offset of the slot for each symbol whose address is read from memory, by its index.
    pub(super) slots: BTreeMap<usize, usize>,
}

struct Wanted<'data> {
    index: SectionIndex,
    region: Region,
    bytes: usize,
    align: usize,
    contents: &'data [u8],
}

impl<'data> Layout<'data> {
    pub(super) fn new(file: &File<'data>, machine: Machine, page: usize) -> Result<Self, LoadError> {
        let wanted = wanted_sections(file, page)?;
        let mut layout = Self {
            machine,
            bytes: 0,
            code: 0..0,
            constants: 0..0,
            sections: BTreeMap::new(),
            stubs: BTreeMap::new(),
            slots: BTreeMap::new(),
        };
        let (stubs, slots) = referenced_symbols(file, machine, &wanted)?;
        let mut at = layout.place(&wanted, Region::Code, 0)?;
        at = append(&mut layout.stubs, stubs, at, STUB_BYTES)?;
        layout.code = 0..round_up(at, page)?;
        at = layout.place(&wanted, Region::Constants, layout.code.end)?;
        at = append(&mut layout.slots, slots, at, SLOT_BYTES)?;
        layout.constants = layout.code.end..round_up(at, page)?;
        at = layout.place(&wanted, Region::Data, layout.constants.end)?;
        layout.bytes = round_up(at, page)?;
        Ok(layout)
    }

    /// Places the sections of one region from `at` on; gives the end.
    fn place(&mut self, wanted: &[Wanted<'data>], region: Region, mut at: usize) -> Result<usize, LoadError> {
        for section in wanted.iter().filter(|section| section.region == region) {
            let offset = round_up(at, section.align)?;
            at = within_limit(offset as u64 + section.bytes as u64)?;
            let placed = Placed { offset, bytes: section.bytes, contents: section.contents };
            self.sections.insert(section.index.0, placed);
        }
        Ok(at)
    }

    /// A loaded section, or an error for one that is not.
    pub(super) fn section(&self, index: SectionIndex) -> Result<Placed<'data>, LoadError> {
        self.sections
            .get(&index.0)
            .copied()
            .ok_or_else(|| damaged("reference to a section that is not loaded"))
    }

    /// The loaded sections in the file's order.
    pub(super) fn sections(&self) -> impl Iterator<Item = (SectionIndex, Placed<'data>)> + '_ {
        self.sections.iter().map(|(index, placed)| (SectionIndex(*index), *placed))
    }
}

fn within_limit(bytes: u64) -> Result<usize, LoadError> {
    let limit = MAXIMUM_BYTES;
    usize::try_from(bytes).ok().filter(|_| bytes <= limit).ok_or(LoadError::TooLarge { bytes, limit })
}

/// `align` is a power of two and both are below the limit, so nothing overflows.
fn round_up(value: usize, align: usize) -> Result<usize, LoadError> {
    within_limit((value as u64).next_multiple_of(align as u64))
}

/// Gives each symbol an entry of `entry` bytes, from `at` on.
fn append(
    map: &mut BTreeMap<usize, usize>,
    symbols: Vec<SymbolIndex>,
    at: usize,
    entry: usize,
) -> Result<usize, LoadError> {
    let mut at = round_up(at, entry)?;
    for symbol in symbols {
        if let Entry::Vacant(vacant) = map.entry(symbol.0) {
            vacant.insert(at);
            at = within_limit((at + entry) as u64)?;
        }
    }
    Ok(at)
}

fn wanted_sections<'data>(file: &File<'data>, page: usize) -> Result<Vec<Wanted<'data>>, LoadError> {
    let mut wanted = Vec::new();
    let mut total = 0u64;
    for section in file.sections() {
        if let Some(section) = wanted_section(&section, page)? {
            // Padding is below one page per section.
            total = total.saturating_add(section.bytes as u64 + page as u64);
            within_limit(total)?;
            wanted.push(section);
        }
    }
    Ok(wanted)
}

fn wanted_section<'data>(
    section: &ElfSection64<'data, '_, LittleEndian>,
    page: usize,
) -> Result<Option<Wanted<'data>>, LoadError> {
    let header = section.elf_section_header();
    let flags = header.sh_flags(LittleEndian);
    let kind = header.sh_type(LittleEndian);
    let name = section.name().unwrap_or("");
    // Unwind tables are not needed: generated code neither unwinds nor is unwound through.
    if flags & u64::from(elf::SHF_ALLOC) == 0 || kind == elf::SHT_NOTE || name == ".eh_frame" {
        return Ok(None);
    }
    let refuse = |why| Err(LoadError::UnsupportedSection { name: name.to_owned(), why });
    if flags & u64::from(elf::SHF_TLS) != 0 {
        return refuse("thread-local data");
    }
    if flags & u64::from(elf::SHF_COMPRESSED) != 0 {
        return refuse("compressed");
    }
    if kind != elf::SHT_PROGBITS && kind != elf::SHT_NOBITS {
        return refuse("neither contents nor zeros, such as initialisers to be run");
    }
    let bytes = within_limit(section.size())?;
    let contents = if kind == elf::SHT_NOBITS { &[][..] } else { section.data()? };
    let align = usize::try_from(section.align().max(1)).unwrap_or(0);
    if !align.is_power_of_two() || align > page {
        return refuse("alignment");
    }
    let region = if flags & u64::from(elf::SHF_EXECINSTR) != 0 {
        Region::Code
    } else if flags & u64::from(elf::SHF_WRITE) != 0 && !name.starts_with(".data.rel.ro") {
        Region::Data
    } else {
        Region::Constants
    };
    Ok(Some(Wanted { index: section.index(), region, bytes, align, contents }))
}

/// The symbols that need a stub and those that need a slot, from the relocations' types.
fn referenced_symbols(
    file: &File<'_>,
    machine: Machine,
    wanted: &[Wanted<'_>],
) -> Result<(Vec<SymbolIndex>, Vec<SymbolIndex>), LoadError> {
    let (mut stubs, mut slots) = (Vec::new(), Vec::new());
    for section in wanted {
        for (_, relocation) in file.section_by_index(section.index)?.relocations() {
            let object::RelocationFlags::Elf { r_type: kind } = relocation.flags() else {
                return Err(damaged("a relocation that is not ELF's"));
            };
            let need = machine.need(kind).ok_or(LoadError::UnsupportedRelocation { machine, kind })?;
            let object::RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            match need {
                Need::Nothing | Need::Symbol => {}
                Need::Callable => {
                    if file.symbol_by_index(symbol)?.is_undefined() {
                        stubs.push(symbol);
                    }
                }
                Need::Slot => slots.push(symbol),
            }
        }
    }
    Ok((stubs, slots))
}
