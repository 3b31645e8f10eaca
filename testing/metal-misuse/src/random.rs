//! Random sequences of calls on live objects.
//!
//! Numbers are small or absurd (from 2^40), so that a request either completes at once or is refused.
//! Pointers are NULL or to one scratch range with unmapped pages after it. Objects are nil, objects of the
//! class that the selector names, or any others; a collection is not put into another, because one that
//! contains itself has no end, on Apple's machines either.

use std::collections::BTreeMap;

use crate::call::Arguments;
use crate::encoding::Kind;
use crate::isolated::Child;
use crate::objects::{Basis, block, is_exempt_at_random};
use crate::runtime::{self, Method};

/// Objects that are alive at a time.
const MAX_OBJECTS: usize = 160;
/// Bytes of the scratch range.
const SCRATCH_BYTES: usize = 1 << 20;
/// The part of it that is cleared before each call; shorter lengths are not compared with the mappings.
const CLEARED_BYTES: usize = 1 << 17;

/// Numbers that look random, the same for a seed everywhere (SplitMix64).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}

const SMALL: [u64; 14] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 64, 256, 4096];
const ABSURD: [u64; 9] = [
    1 << 40,
    (1 << 40) + 1,
    1 << 62,
    (1 << 62) + 8,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    (1 << 63) - 1,
    u64::MAX - 4095,
];
const NUMBERS: [f64; 7] = [0.0, 1.0, -1.0, 0.5, f64::NAN, f64::INFINITY, 1e300];
const COLLECTIONS: [&str; 6] =
    ["NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSSet", "NSMutableSet"];

/// A run of calls.
#[derive(Debug)]
struct Run {
    random: Random,
    basis: Basis,
    scratch: usize,
    block: usize,
    classes: Vec<usize>,
    objects: Vec<usize>,
    /// The methods that objects of a class answer, by the class.
    methods: BTreeMap<usize, Vec<Method>>,
}

/// Makes that many calls by the seed, in a child.
pub fn run(child: &Child, seed: u64, calls: u64) {
    let mut run = Run {
        random: Random(seed),
        basis: Basis::new(),
        scratch: mapped(SCRATCH_BYTES),
        block: block(),
        classes: runtime::classes(),
        objects: Vec::new(),
        methods: BTreeMap::new(),
    };
    for number in 0..calls {
        runtime::in_pool(|| run.step(child, number));
    }
}

/// Memory of zeros with unmapped pages after it.
fn mapped(bytes: usize) -> usize {
    let (read_write, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new range is mapped, of which the second half is given back.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), 2 * bytes, read_write, private, -1, 0);
        assert_ne!(start, libc::MAP_FAILED, "there is memory");
        libc::munmap(start.byte_add(bytes), bytes);
        start.expose_provenance()
    }
}

impl Run {
    fn step(&mut self, child: &Child, number: u64) {
        if self.objects.len() < 40 || self.random.one_in(4) {
            return self.make(child, number);
        }
        let receiver = *self.random.of(&self.objects);
        let receiver = if self.random.one_in(20) { *self.random.of(&self.classes) } else { receiver };
        let Some(method) = self.method(receiver) else { return };
        let (arguments, words) = self.arguments(&method, receiver);
        let takes_receiver = method.selector.starts_with("init") && !method.is_of_class;
        if takes_receiver {
            runtime::retain(receiver);
        }
        // SAFETY: the scratch range is this module's.
        unsafe {
            std::ptr::write_bytes(std::ptr::with_exposed_provenance_mut::<u8>(self.scratch), 0, CLEARED_BYTES)
        };
        let text = format!("{method} {words}");
        // SAFETY: the arguments are of the method's types, and all addresses are of objects or memory.
        let result = child.call(number, &text, || unsafe { method.call(&arguments) });
        if method.kinds[0] == Kind::Object
            && let Some(result) = result
        {
            self.keep(&method, result as usize);
        }
    }

    /// Makes an object of any class, and ends another one where there are too many.
    fn make(&mut self, child: &Child, number: u64) {
        let class = runtime::name_of(*self.random.of(&self.classes));
        let basis = self.basis;
        if let Some(Some(object)) = child.call(number, &format!("make {class}"), || basis.object(&class)) {
            self.objects.push(object);
        }
        if self.objects.len() > MAX_OBJECTS {
            let at = self.random.below(self.objects.len());
            let object = self.objects.swap_remove(at);
            // SAFETY: the list has a reference.
            child.call(number, "release", || unsafe { runtime::release(object) });
        }
    }

    /// A method that the receiver answers.
    fn method(&mut self, receiver: usize) -> Option<Method> {
        let class = runtime::class_of(receiver);
        let methods = self.methods.entry(class).or_insert_with(|| {
            let classes = std::iter::successors(Some(class), |&class| {
                Some(runtime::superclass(class)).filter(|&above| above != 0)
            });
            classes
                .flat_map(runtime::methods_of)
                .filter(|method| !is_exempt_at_random(&method.selector))
                .collect()
        });
        let at = if methods.is_empty() { return None } else { self.random.below(methods.len()) };
        Some(methods[at].clone())
    }

    fn arguments(&mut self, method: &Method, receiver: usize) -> (Arguments, String) {
        let mut arguments = method.arguments(receiver);
        let mut words = String::new();
        let pieces: Vec<&str> = method.selector.split(':').collect();
        for (at, kind) in method.kinds.iter().skip(3).enumerate() {
            let piece = pieces.get(at).copied().unwrap_or_default();
            match kind {
                Kind::Float | Kind::Double => arguments.number(kind, *self.random.of(&NUMBERS)),
                Kind::Structure(bytes) => {
                    let structure: Vec<u64> = (0..bytes.div_ceil(8)).map(|_| self.number()).collect();
                    words += &format!("{structure:x?} ");
                    arguments.structure(&structure);
                }
                _ => {
                    let word = self.word(kind, piece, receiver, method);
                    words += &format!("{word:x} ");
                    arguments.word(word);
                }
            }
        }
        (arguments, words)
    }

    fn number(&mut self) -> u64 {
        if self.random.one_in(6) { *self.random.of(&ABSURD) } else { *self.random.of(&SMALL) }
    }

    fn word(&mut self, kind: &Kind, piece: &str, receiver: usize, method: &Method) -> u64 {
        let is_nil = self.random.one_in(5);
        match kind {
            Kind::Integer => self.number(),
            _ if is_nil => 0,
            Kind::Object => self.object(piece, receiver) as u64,
            Kind::Block if self.random.one_in(6) => self.object(piece, receiver) as u64,
            Kind::Block => self.block as u64,
            Kind::Class => *self.random.of(&self.classes) as u64,
            Kind::Selector => {
                runtime::selector(self.random.of::<&str>(&["description", "self", "noSuchMethod"])) as u64
            }
            Kind::Text => self.random.of(&[c"", c"text", c"\xff\xfe"]).as_ptr().expose_provenance() as u64,
            // The buffer has the memory for ever.
            Kind::Pointer if method.selector.contains("NoCopy") => mapped(CLEARED_BYTES) as u64,
            Kind::Pointer | Kind::Void | Kind::Float | Kind::Double | Kind::Structure(_) => {
                self.scratch as u64
            }
        }
    }

    /// An object for a piece of a selector: mostly of a class whose name ends like it.
    fn object(&mut self, piece: &str, receiver: usize) -> usize {
        let last = piece.rfind(|letter: char| letter.is_uppercase()).map_or(piece, |at| &piece[at..]);
        let is_collection =
            |object: usize| COLLECTIONS.contains(&runtime::name_of(runtime::class_of(object)).as_str());
        let into_collection = is_collection(receiver);
        let fits = |object: usize| {
            let name = runtime::name_of(runtime::class_of(object));
            match last {
                "String" | "Name" | "Label" | "Path" | "Group" | "Source" | "Prefix" => {
                    name.contains("String")
                }
                last => name.to_lowercase().contains(&last.to_lowercase()),
            }
        };
        let named: Vec<usize> = self.objects.iter().copied().filter(|&object| fits(object)).collect();
        let chosen = match named.is_empty() || self.random.one_in(6) {
            true => *self.random.of(&self.objects),
            false => *self.random.of(&named),
        };
        if into_collection && is_collection(chosen) { 0 } else { chosen }
    }

    /// Keeps a result alive, if it is one more object.
    fn keep(&mut self, method: &Method, result: usize) {
        if result == 0 {
            return;
        }
        let is_owned = ["new", "alloc", "copy", "mutableCopy", "init"].iter().any(|family| {
            let rest = method.selector.strip_prefix(family);
            rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_lowercase()))
        });
        if !is_owned {
            runtime::retain(result);
        }
        self.objects.push(result);
    }
}
