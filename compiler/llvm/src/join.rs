//! Several objects of one kernel as one.
//!
//! A kernel's functions may be compiled in parallel, each piece to an object. A function that one piece calls
//! in another is undefined in one object and defined in the other; [`join`] puts them in one file, as `ld -r`
//! would. Invariant: the sections' contents are those of the pieces, untouched; only symbols are looked up
//! and numbered anew.

use std::collections::BTreeMap;

use object::read::elf::{ElfFile64, ElfSection64, ElfSymbol64};
use object::write::{Object as Joined, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    BinaryFormat, Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SectionIndex, SymbolFlags, SymbolKind, SymbolScope, elf,
};

use crate::error::CompileError;

type File<'data> = ElfFile64<'data, Endianness>;

/// Links several objects that [`crate::Llvm::compile`] made for one target into one relocatable object, as
/// `ld -r` does: an undefined function of one is resolved to the definition in another.
///
/// # Errors
/// If an object is not as LLVM writes them, or two define the same name: a bug of the caller, which split the
/// module.
pub fn join(mut objects: Vec<Vec<u8>>) -> Result<Vec<u8>, CompileError> {
    if objects.len() == 1 {
        return Ok(objects.remove(0));
    }
    let files: Vec<File<'_>> =
        objects.iter().map(|bytes| File::parse(&**bytes)).collect::<Result<_, _>>().map_err(unreadable)?;
    let first = files.first().ok_or_else(|| broken("no objects to join"))?;
    let mut joiner = Joiner {
        joined: Joined::new(BinaryFormat::Elf, first.architecture(), first.endianness()),
        globals: BTreeMap::new(),
    };
    let mut places = Vec::new();
    for file in &files {
        places.push(joiner.define(file)?);
    }
    for (file, places) in files.iter().zip(places) {
        joiner.relocate(file, places)?;
    }
    joiner.joined.write().map_err(|error| broken(&error.to_string()))
}

/// Where the parts of one object went, by their index there.
#[derive(Default)]
struct Places {
    sections: BTreeMap<usize, SectionId>,
    symbols: BTreeMap<usize, SymbolId>,
}

struct Joiner {
    joined: Joined<'static>,
    /// Symbols that other objects can refer to.
    globals: BTreeMap<Vec<u8>, SymbolId>,
}

impl Joiner {
    /// Takes an object's sections and the symbols it defines.
    fn define(&mut self, file: &File<'_>) -> Result<Places, CompileError> {
        let mut places = Places::default();
        for section in file.sections().filter(is_loaded) {
            places.sections.insert(section.index().0, self.section(&section)?);
        }
        for symbol in file.symbols().filter(|symbol| !symbol.is_undefined()) {
            let section = symbol.section_index().and_then(|index| places.sections.get(&index.0));
            // The file's name, and symbols of sections that are not loaded.
            let Some(&section) = section else { continue };
            let id = match symbol.kind() {
                SymbolKind::Section => self.joined.section_symbol(section),
                _ => self.defined(&symbol, section)?,
            };
            places.symbols.insert(symbol.index().0, id);
        }
        Ok(places)
    }

    fn section(&mut self, section: &ElfSection64<'_, '_, Endianness>) -> Result<SectionId, CompileError> {
        let name = section.name_bytes().map_err(unreadable)?.to_vec();
        let id = self.joined.add_section(Vec::new(), name, section.kind());
        let SectionFlags::Elf { sh_flags } = section.flags() else {
            return Err(broken("a section without flags"));
        };
        // Without the group and merging flags, whose other halves are not taken over.
        let kept = elf::SHF_ALLOC | elf::SHF_EXECINSTR | elf::SHF_WRITE;
        *self.joined.section_flags_mut(id) = SectionFlags::Elf { sh_flags: sh_flags & u64::from(kept) };
        if section.kind().is_bss() {
            self.joined.append_section_bss(id, section.size(), section.align());
        } else {
            self.joined.append_section_data(id, section.data().map_err(unreadable)?, section.align());
        }
        Ok(id)
    }

    fn defined(
        &mut self,
        symbol: &ElfSymbol64<'_, '_, Endianness>,
        section: SectionId,
    ) -> Result<SymbolId, CompileError> {
        let scope = if symbol.is_local() { SymbolScope::Compilation } else { SymbolScope::Dynamic };
        let id = self.add(symbol, scope, SymbolSection::Section(section))?;
        if symbol.is_global() {
            let name = symbol.name_bytes().map_err(unreadable)?;
            if self.globals.insert(name.to_vec(), id).is_some() {
                return Err(broken(&format!("{} is defined twice", String::from_utf8_lossy(name))));
            }
        }
        Ok(id)
    }

    fn add(
        &mut self,
        symbol: &ElfSymbol64<'_, '_, Endianness>,
        scope: SymbolScope,
        section: SymbolSection,
    ) -> Result<SymbolId, CompileError> {
        Ok(self.joined.add_symbol(Symbol {
            name: symbol.name_bytes().map_err(unreadable)?.to_vec(),
            value: symbol.address(),
            size: symbol.size(),
            // Constants' labels have no kind, which is how a file says what a label is.
            kind: if symbol.kind() == SymbolKind::Unknown { SymbolKind::Label } else { symbol.kind() },
            scope,
            weak: false,
            section,
            flags: SymbolFlags::None,
        }))
    }

    /// Takes an object's relocations, once all objects' symbols are known.
    fn relocate(&mut self, file: &File<'_>, mut places: Places) -> Result<(), CompileError> {
        for symbol in file.symbols().filter(|symbol| symbol.is_undefined()) {
            let name = symbol.name_bytes().map_err(unreadable)?;
            if name.is_empty() {
                continue;
            }
            let id = match self.globals.get(name) {
                Some(&id) => id,
                None => {
                    let id = self.add(&symbol, SymbolScope::Unknown, SymbolSection::Undefined)?;
                    self.globals.insert(name.to_vec(), id);
                    id
                }
            };
            places.symbols.insert(symbol.index().0, id);
        }
        for (&index, &id) in &places.sections {
            let section = file.section_by_index(SectionIndex(index)).map_err(unreadable)?;
            for (offset, relocation) in section.relocations() {
                let (RelocationTarget::Symbol(target), RelocationFlags::Elf { .. }) =
                    (relocation.target(), relocation.flags())
                else {
                    return Err(broken("a relocation that is not ELF's"));
                };
                let symbol = places.symbols.get(&target.0).copied();
                let symbol = symbol.ok_or_else(|| broken("a relocation by a symbol that is nowhere"))?;
                let (addend, flags) = (relocation.addend(), relocation.flags());
                let relocation = Relocation { offset, symbol, addend, flags };
                self.joined.add_relocation(id, relocation).map_err(|error| broken(&error.to_string()))?;
            }
        }
        Ok(())
    }
}

/// Whether the loader uses the section: unwind tables and notes it does not.
fn is_loaded(section: &ElfSection64<'_, '_, Endianness>) -> bool {
    let SectionFlags::Elf { sh_flags } = section.flags() else {
        unreachable!("sections of ELF files have ELF's flags")
    };
    sh_flags & u64::from(elf::SHF_ALLOC) != 0 && section.name_bytes().is_ok_and(|name| name != b".eh_frame")
}

fn unreadable(error: object::Error) -> CompileError {
    broken(&error.to_string())
}

fn broken(what: &str) -> CompileError {
    CompileError::Codegen { message: format!("objects cannot be joined: {what}") }
}
