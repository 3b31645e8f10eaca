//! Loads a relocatable ELF object into memory so that its functions can be called. No LLVM needed.
//!
//! The steps: parse (`object` crate) → [`layout`] decides where each section goes and which symbols
//! need a call stub or an address slot → the pages are mapped and filled, relocations applied by
//! [`machine`] (`x86_64`, `aarch64`) → code becomes executable and constants read-only. Memory is
//! never writable and executable at once.
//!
//! Invariant: loading is safe for any bytes. Objects come from a disk cache, so every size, offset,
//! index and type is checked, and memory use is capped. *Calling* what was loaded is the caller's
//! responsibility: nobody can check that damaged instructions do what they should, which is why the
//! cache keeps a checksum of its own.

mod aarch64;
mod error;
mod instruction_cache;
mod layout;
mod machine;
mod memory;
mod runtime_symbols;
mod soft_float;
mod x86_64;

use std::collections::BTreeMap;

use object::read::elf::{ElfSymbol64, FileHeader};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolIndex, SymbolKind, SymbolSection, elf,
};

pub use error::LoadError;
use error::damaged;
use layout::{File, Layout};
pub use machine::Machine;
use machine::{Misfit, Need, Operands};
use memory::{Access, Mapping};
pub use runtime_symbols::default_symbols;

/// A function that gives the address of a symbol the object does not define.
type Resolve<'r> = &'r dyn Fn(&str) -> Option<*const ()>;

/// An object in memory, ready to run. Its addresses are valid until it is dropped.
#[derive(Debug)]
pub struct LoadedObject {
    mapping: Mapping,
    /// Offsets of the functions and variables that the object offers, by name.
    symbols: BTreeMap<Box<str>, usize>,
    bytes: usize,
}

impl LoadedObject {
    /// Maps and links an object for the running processor. `resolve` gives the addresses of what the
    /// object calls; [`default_symbols`] knows the C library's.
    pub fn load(object: &[u8], resolve: Resolve<'_>) -> Result<Self, LoadError> {
        let (file, machine) = parse(object)?;
        if Machine::host() != Some(machine) {
            return Err(LoadError::WrongMachine { found: machine.to_string() });
        }
        let layout = Layout::new(&file, machine, memory::page_bytes())?;
        let symbols = exported_symbols(&file, &layout)?;
        let mut mapping = Mapping::new(layout.bytes)?;
        let base = mapping.start().as_ptr() as u64;
        let ranges = [(layout.code.clone(), Access::Code), (layout.constants.clone(), Access::Constants)];
        let link = Link { file: &file, layout: &layout, base, resolve };
        mapping.fill_and_protect(|memory| link.fill(memory), &ranges)?;
        Ok(Self { mapping, symbols, bytes: layout.bytes })
    }

    /// Links an object for any known processor, the running one or not, and throws the result away: whether
    /// it could be loaded there. `resolve` tells which symbols there are.
    pub fn check(object: &[u8], resolve: Resolve<'_>) -> Result<(), LoadError> {
        linked(object, BASE_OF_CHECKS, resolve).map(drop)
    }

    /// The address of a global function or variable, valid until this object is dropped.
    pub fn symbol(&self, name: &str) -> Option<*const u8> {
        let offset = *self.symbols.get(name)?;
        Some(self.mapping.start().as_ptr().cast_const().wrapping_add(offset))
    }

    /// The names that [`LoadedObject::symbol`] knows, sorted.
    pub fn symbol_names(&self) -> impl Iterator<Item = &str> {
        self.symbols.keys().map(AsRef::as_ref)
    }

    /// Bytes of memory it takes.
    pub fn memory_bytes(&self) -> usize {
        self.bytes
    }
}

/// Any address that pages may have.
const BASE_OF_CHECKS: u64 = 0x10_0000;

/// An object linked at `base` in ordinary memory, and its symbols.
fn linked(
    object: &[u8],
    base: u64,
    resolve: Resolve<'_>,
) -> Result<(Vec<u8>, BTreeMap<Box<str>, usize>), LoadError> {
    let (file, machine) = parse(object)?;
    let layout = Layout::new(&file, machine, memory::page_bytes())?;
    let symbols = exported_symbols(&file, &layout)?;
    let mut memory = vec![0; layout.bytes];
    Link { file: &file, layout: &layout, base, resolve }.fill(&mut memory)?;
    Ok((memory, symbols))
}

/// Reads the file header; the sections are checked later, one by one.
fn parse(object: &[u8]) -> Result<(File<'_>, Machine), LoadError> {
    match object.first_chunk::<4>() {
        Some([0xcf, 0xfa, 0xed, 0xfe]) => return Err(LoadError::UnsupportedFormat { format: "Mach-O" }),
        Some(magic) if *magic == elf::ELFMAG => {}
        Some(_) => return Err(damaged("not an ELF file")),
        None => return Err(damaged("too short")),
    }
    let file = File::parse(object)?;
    let header = file.elf_header();
    if header.e_type(LittleEndian) != elf::ET_REL {
        return Err(damaged("not a relocatable object"));
    }
    let number = header.e_machine(LittleEndian);
    let machine = Machine::from_elf(number)
        .ok_or_else(|| LoadError::WrongMachine { found: format!("ELF machine {number}") })?;
    Ok((file, machine))
}

/// Global definitions in loaded sections. A name that is not UTF-8 cannot be asked for: left out.
fn exported_symbols(file: &File<'_>, layout: &Layout<'_>) -> Result<BTreeMap<Box<str>, usize>, LoadError> {
    let mut symbols = BTreeMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.is_global()) {
        let SymbolSection::Section(index) = symbol.section() else { continue };
        let (Ok(name), Ok(section)) = (symbol.name(), layout.section(index)) else { continue };
        let offset = offset_in(&symbol, section.bytes)?;
        symbols.insert(name.into(), section.offset + offset);
    }
    Ok(symbols)
}

/// A defined symbol's offset in its section; one past the end is allowed.
fn offset_in(symbol: &ElfSymbol64<'_, '_, LittleEndian>, section_bytes: usize) -> Result<usize, LoadError> {
    usize::try_from(symbol.address())
        .ok()
        .filter(|offset| *offset <= section_bytes)
        .ok_or_else(|| damaged("a symbol outside its section"))
}

/// One object being linked at one address.
struct Link<'a, 'data> {
    file: &'a File<'data>,
    layout: &'a Layout<'data>,
    base: u64,
    resolve: Resolve<'a>,
}

impl Link<'_, '_> {
    /// Writes everything into `memory`, which is the zeroed mapping at `base`.
    fn fill(&self, memory: &mut [u8]) -> Result<(), LoadError> {
        for (_, section) in self.layout.sections() {
            copy(memory, section.offset, section.contents)?;
        }
        for (symbol, offset) in &self.layout.stubs {
            copy(memory, *offset, &self.layout.machine.stub(self.address_of(SymbolIndex(*symbol))?))?;
        }
        for (symbol, offset) in &self.layout.slots {
            copy(memory, *offset, &self.address_of(SymbolIndex(*symbol))?.to_le_bytes())?;
        }
        for (index, section) in self.layout.sections() {
            let bytes = memory
                .get_mut(section.offset..section.offset + section.bytes)
                .ok_or_else(|| damaged("a section outside the mapping"))?;
            for (offset, relocation) in self.file.section_by_index(index)?.relocations() {
                self.relocate(bytes, section.offset, offset, &relocation)?;
            }
        }
        Ok(())
    }

    fn relocate(
        &self,
        section: &mut [u8],
        section_offset: usize,
        offset: u64,
        relocation: &object::Relocation,
    ) -> Result<(), LoadError> {
        let machine = self.layout.machine;
        let object::RelocationFlags::Elf { r_type: kind } = relocation.flags() else {
            return Err(damaged("a relocation that is not ELF's"));
        };
        let need = machine.need(kind).ok_or(LoadError::UnsupportedRelocation { machine, kind })?;
        if need == Need::Nothing {
            return Ok(());
        }
        let object::RelocationTarget::Symbol(symbol) = relocation.target() else {
            return Err(damaged("a relocation without a symbol"));
        };
        if relocation.has_implicit_addend() {
            return Err(damaged("a relocation without an addend"));
        }
        let outside = || damaged("a relocation outside its section");
        let offset = usize::try_from(offset).map_err(|_| outside())?;
        let place = section.get_mut(offset..).ok_or_else(outside)?;
        let address = self.target_address(symbol, need)?;
        let operands = Operands {
            target: address.wrapping_add_signed(relocation.addend()),
            place: self.base + (section_offset + offset) as u64,
        };
        machine.apply(kind, place, operands).map_err(|misfit| match misfit {
            Misfit::Outside => outside(),
            Misfit::Kind => LoadError::UnsupportedRelocation { machine, kind },
            Misfit::ResidentMemory => LoadError::OutOfReach { machine, kind, target: self.name_of(symbol) },
        })
    }

    /// The address that a relocation works with: the symbol's, its stub's or its slot's.
    fn target_address(&self, symbol: SymbolIndex, need: Need) -> Result<u64, LoadError> {
        let entry = match need {
            Need::Callable => self.layout.stubs.get(&symbol.0),
            Need::Slot => self.layout.slots.get(&symbol.0),
            Need::Nothing | Need::Symbol => None,
        };
        match entry {
            Some(offset) => Ok(self.base + *offset as u64),
            None => self.address_of(symbol),
        }
    }

    /// The address of a symbol, wherever it is defined.
    fn address_of(&self, index: SymbolIndex) -> Result<u64, LoadError> {
        let symbol = self.file.symbol_by_index(index)?;
        if symbol.kind() == SymbolKind::Tls {
            return Err(damaged("a reference to thread-local data"));
        }
        match symbol.section() {
            SymbolSection::Section(section) => {
                let section = self.layout.section(section)?;
                let offset = offset_in(&symbol, section.bytes)?;
                Ok(self.base + (section.offset + offset) as u64)
            }
            SymbolSection::Absolute => Ok(symbol.address()),
            SymbolSection::Undefined => {
                let name = symbol.name()?;
                let address = (self.resolve)(name).filter(|address| !address.is_null());
                address
                    .map(|address| address as u64)
                    .ok_or_else(|| LoadError::Undefined { name: name.to_owned() })
            }
            _ => Err(damaged("a symbol without a place")),
        }
    }

    fn name_of(&self, symbol: SymbolIndex) -> String {
        let symbol = self.file.symbol_by_index(symbol);
        let name = symbol.as_ref().ok().and_then(|symbol| symbol.name().ok());
        name.filter(|name| !name.is_empty()).unwrap_or("a local symbol").to_owned()
    }
}

fn copy(memory: &mut [u8], offset: usize, bytes: &[u8]) -> Result<(), LoadError> {
    offset
        .checked_add(bytes.len())
        .and_then(|end| memory.get_mut(offset..end))
        .ok_or_else(|| damaged("contents outside the mapping"))?
        .copy_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests;
