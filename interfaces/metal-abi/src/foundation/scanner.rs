//! `NSScanner` and `NSCharacterSet`, as far as lines of source are taken apart with them.

use std::cell::{Cell, RefCell};

use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{NSObject, NSZone};

use super::string::NSString;
use crate::arguments::Out;

/// Whether a character belongs to the set.
type Test = fn(char) -> bool;

/// The instance variables of a set of characters.
#[derive(Debug)]
pub(crate) struct CharacterSetIvars {
    test: Test,
    /// Members by name, beside those of the test.
    others: String,
}

impl CharacterSetIvars {
    fn contains(&self, character: char) -> bool {
        (self.test)(character) || self.others.contains(character)
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSCharacterSet"]
    #[ivars = CharacterSetIvars]
    #[derive(Debug)]
    pub(crate) struct NSCharacterSet;

    impl NSCharacterSet {
        #[unsafe(method_id(whitespaceCharacterSet))]
        fn whitespace() -> Retained<NSCharacterSet> {
            of_test(|character| character.is_whitespace() && !is_newline(character))
        }

        #[unsafe(method_id(newlineCharacterSet))]
        fn newline() -> Retained<NSCharacterSet> {
            of_test(is_newline)
        }

        #[unsafe(method_id(whitespaceAndNewlineCharacterSet))]
        fn whitespace_and_newline() -> Retained<NSCharacterSet> {
            of_test(char::is_whitespace)
        }

        #[unsafe(method_id(decimalDigitCharacterSet))]
        fn decimal_digit() -> Retained<NSCharacterSet> {
            of_test(|character| character.is_ascii_digit())
        }

        #[unsafe(method_id(characterSetWithCharactersInString:))]
        fn of_string(string: &NSString) -> Retained<NSCharacterSet> {
            super::object(CharacterSetIvars { test: |_| false, others: string.to_string() })
        }

        #[unsafe(method(characterIsMember:))]
        fn is_member(&self, unit: u16) -> bool {
            char::from_u32(unit.into()).is_some_and(|character| self.ivars().contains(character))
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSCharacterSet> {
            self.retain()
        }
    }
);

impl NSCharacterSet {
    pub(crate) fn contains(&self, character: char) -> bool {
        self.ivars().contains(character)
    }
}

fn of_test(test: Test) -> Retained<NSCharacterSet> {
    super::object(CharacterSetIvars { test, others: String::new() })
}

fn is_newline(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The instance variables of a scanner, which is used by one thread at a time.
#[derive(Debug)]
pub(crate) struct ScannerIvars {
    text: String,
    /// The byte that is next.
    at: Cell<usize>,
    skipped: RefCell<Option<Retained<NSCharacterSet>>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSScanner"]
    #[ivars = ScannerIvars]
    #[derive(Debug)]
    pub(crate) struct NSScanner;

    impl NSScanner {
        #[unsafe(method_id(initWithString:))]
        fn init(this: Allocated<Self>, string: &NSString) -> Retained<Self> {
            super::initialized(this, scanning(string))
        }

        #[unsafe(method_id(scannerWithString:))]
        fn with(string: &NSString) -> Retained<NSScanner> {
            super::object(scanning(string))
        }

        #[unsafe(method(setCharactersToBeSkipped:))]
        fn set_skipped(&self, set: Option<&NSCharacterSet>) {
            self.ivars().skipped.replace(set.map(Message::retain));
        }

        #[unsafe(method_id(charactersToBeSkipped))]
        fn skipped(&self) -> Option<Retained<NSCharacterSet>> {
            self.ivars().skipped.borrow().clone()
        }

        #[unsafe(method(isAtEnd))]
        fn is_at_end(&self) -> bool {
            self.rest().is_empty()
        }

        #[unsafe(method(scanString:intoString:))]
        fn scan_string(&self, string: &NSString, place: Out<*mut NSString>) -> bool {
            let wanted = string.to_string();
            let found = self.rest().starts_with(&wanted);
            found && self.take(wanted.len(), &place)
        }

        #[unsafe(method(scanUpToString:intoString:))]
        fn scan_up_to(&self, string: &NSString, place: Out<*mut NSString>) -> bool {
            let rest = self.rest();
            let length = rest.find(&string.to_string()).unwrap_or(rest.len());
            length > 0 && self.take(length, &place)
        }
    }
);

fn scanning(string: &NSString) -> ScannerIvars {
    let skipped = RefCell::new(Some(of_test(char::is_whitespace)));
    ScannerIvars { text: string.to_string(), at: Cell::new(0), skipped }
}

impl NSScanner {
    /// What is left after the characters that are skipped.
    fn rest(&self) -> &str {
        let ScannerIvars { text, at, skipped } = self.ivars();
        let rest = &text[at.get()..];
        match &*skipped.borrow() {
            Some(set) => rest.trim_start_matches(|character| set.contains(character)),
            None => rest,
        }
    }

    /// Consumes `bytes` bytes of the remaining text and writes them to `place`, unless that is NULL.
    fn take(&self, bytes: usize, place: &Out<*mut NSString>) -> bool {
        let rest = self.rest();
        if place.is_wanted() {
            place.set(Retained::autorelease_ptr(NSString::of(&rest[..bytes])));
        }
        let ScannerIvars { text, at, .. } = self.ivars();
        at.set(text.len() - rest.len() + bytes);
        true
    }
}
