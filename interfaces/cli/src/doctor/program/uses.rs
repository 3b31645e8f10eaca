//! Reads the names that a program uses from the symbols, sections and strings of an ELF file, or from a
//! script.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

use super::inventory::Inventory;

/// Prefixes of the symbols for classes in programs for GNUstep's runtime, by `clang` and `objc2`.
const CLASS_SYMBOLS: [&str; 2] = ["._OBJC_REF_CLASS_", "._OBJC_CLASS_"];

/// The section of compiled Objective-C with the program's selectors: pairs of pointers, to name and types.
const SELECTORS: &str = "__objc_selectors";

/// The bytes of a pointer.
const POINTER_BYTES: usize = 8;

/// Names that a program uses, by kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) symbols: BTreeSet<String>,
    pub(super) classes: BTreeSet<String>,
    pub(super) selectors: BTreeSet<String>,
}

impl Uses {
    pub(super) fn of(bytes: &[u8], inventory: &Inventory) -> Result<Uses, String> {
        if !bytes.starts_with(b"\x7fELF") {
            let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
            return Ok(Uses::of_script(text, inventory));
        }
        let file = object::File::parse(bytes).map_err(|error| error.to_string())?;
        let mut uses = Uses::default();
        uses.add_symbols(&file);
        uses.add_selectors(&file);
        for section in file.sections() {
            // Sections without bytes in the file, as of zeros, have no strings.
            let data = section.data().unwrap_or_default();
            if matches!(
                section.kind(),
                object::SectionKind::ReadOnlyData | object::SectionKind::ReadOnlyString
            ) {
                uses.add_strings(data.split(|byte| *byte == 0), inventory);
            }
        }
        Ok(uses)
    }

    /// Names in a script are words between quotation marks or after dots.
    fn of_script(text: &str, inventory: &Inventory) -> Uses {
        let is_part =
            |character: char| character.is_ascii_alphanumeric() || character == '_' || character == ':';
        let mut uses = Uses::default();
        uses.add_strings(text.split(|character| !is_part(character)).map(str::as_bytes), inventory);
        let is_symbol = |word: &&str| Inventory::is_of_framework(word) && inventory.has_symbol(word);
        uses.symbols.extend(text.split(|character| !is_part(character)).filter(is_symbol).map(str::to_owned));
        uses
    }

    fn add_symbols(&mut self, file: &object::File<'_>) {
        for symbol in file.dynamic_symbols().chain(file.symbols()).filter(ObjectSymbol::is_undefined) {
            let Ok(name) = symbol.name() else { continue };
            match CLASS_SYMBOLS.iter().find_map(|prefix| name.strip_prefix(prefix)) {
                Some(class) => self.classes.insert(class.to_owned()),
                None if Inventory::is_of_framework(name) => self.symbols.insert(name.to_owned()),
                None => continue,
            };
        }
    }

    /// The selectors of compiled Objective-C that the program's own classes and protocols do not have.
    fn add_selectors(&mut self, file: &object::File<'_>) {
        let Some(selectors) = file.section_by_name(SELECTORS) else { return };
        let words = Words::of(file);
        let (start, bytes) = (selectors.address(), selectors.size());
        // Lists of methods point to selectors, and code computes their addresses.
        let is_own = |selector: u64| words.pointers.contains(&selector);
        for selector in
            (start..start + bytes).step_by(2 * POINTER_BYTES).filter(|&selector| !is_own(selector))
        {
            let name = words.at(&selectors, selector).and_then(|pointer| text_at(file, pointer));
            self.selectors.extend(name);
        }
    }

    /// Strings that are names of classes or selectors. A string may follow other text without a zero between
    /// them.
    fn add_strings<'a>(&mut self, strings: impl Iterator<Item = &'a [u8]>, inventory: &Inventory) {
        for string in strings {
            let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b':';
            let start = string.iter().rposition(|byte| !is_part(byte)).map_or(0, |at| at + 1);
            let Ok(text) = str::from_utf8(&string[start..]) else { continue };
            if inventory.is_class(text) {
                self.classes.insert(text.to_owned());
            } else if inventory.is_selector(text) {
                self.selectors.insert(text.to_owned());
            }
        }
    }
}

/// The pointers in a program's data.
struct Words {
    /// Those that the dynamic linker writes, by address.
    relocated: BTreeMap<u64, u64>,
    /// The values of all.
    pointers: BTreeSet<u64>,
}

impl Words {
    fn of(file: &object::File<'_>) -> Words {
        let value = |(address, relocation): (u64, object::Relocation)| match relocation.target() {
            RelocationTarget::Absolute => Some((address, relocation.addend().cast_unsigned())),
            _ => None,
        };
        let relocated: BTreeMap<u64, u64> =
            file.dynamic_relocations().into_iter().flatten().filter_map(value).collect();
        let mut pointers: BTreeSet<u64> = relocated.values().copied().collect();
        // A program that is not relocated has its addresses in the file.
        for section in file.sections().filter(|section| section.kind() == object::SectionKind::Data) {
            let (words, _) = section.data().unwrap_or_default().as_chunks::<POINTER_BYTES>();
            pointers.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        }
        Words { relocated, pointers }
    }

    /// The word at an address in a section.
    fn at(&self, section: &object::Section<'_, '_>, address: u64) -> Option<u64> {
        let offset = usize::try_from(address - section.address()).ok()?;
        let written = || Some(u64::from_le_bytes(*section.data().ok()?.get(offset..)?.first_chunk()?));
        self.relocated.get(&address).copied().or_else(written)
    }
}

/// The C string at an address of the loaded program.
fn text_at(file: &object::File<'_>, address: u64) -> Option<String> {
    let contains = |section: &object::Section<'_, '_>| {
        address >= section.address() && address - section.address() < section.size() && section.address() != 0
    };
    let section = file.sections().find(contains)?;
    let data = section.data().ok()?.get(usize::try_from(address - section.address()).ok()?..)?;
    let end = data.iter().position(|byte| *byte == 0)?;
    str::from_utf8(&data[..end]).ok().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use object::write::{Object as Writer, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope};

    use super::*;

    fn undefined(name: &str) -> Symbol {
        Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Unknown,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        }
    }

    #[test]
    fn names_are_read_from_symbols_and_strings() {
        let mut writer = Writer::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        for name in ["._OBJC_REF_CLASS_MTLCompileOptions", "objc_msgSend", "malloc"] {
            writer.add_symbol(undefined(name));
        }
        let section = writer.add_section(Vec::new(), b".rodata.str1.1".to_vec(), SectionKind::ReadOnlyString);
        let strings = b"glued to newBufferWithLength:options:\0length\0MTLHeapDescriptor\0nobody's:\0";
        writer.append_section_data(section, strings, 1);
        let uses = Uses::of(&writer.write().unwrap(), &Inventory::of_this_version()).unwrap();
        let names = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(" ");
        assert_eq!(names(&uses.symbols), "objc_msgSend");
        assert_eq!(names(&uses.classes), "MTLCompileOptions MTLHeapDescriptor");
        assert_eq!(names(&uses.selectors), "newBufferWithLength:options:");
    }

    #[test]
    fn names_are_read_from_scripts() {
        let script =
            "queue = msg('newCommandQueueWithMaxCommandBufferCount:')(device); objc_getClass(b'NSString')";
        let uses = Uses::of(script.as_bytes(), &Inventory::of_this_version()).unwrap();
        assert!(uses.selectors.contains("newCommandQueueWithMaxCommandBufferCount:"));
        assert!(uses.classes.contains("NSString") && uses.symbols.contains("objc_getClass"));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Uses::of(b"\xff\xfe", &Inventory::of_this_version()).is_err());
        assert!(Uses::of(b"\x7fELFx", &Inventory::of_this_version()).is_err());
    }
}
