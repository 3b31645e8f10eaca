//! Random programs that compute, keep, forge and follow pointers, beside a reference of memory.
//!
//! A program is a kernel of straight-line statements over a few pointers. The reference keeps object and
//! offset separate, so no 64-bit encoding can mislead it. It predicts the contents of every buffer and
//! whether an access is out of bounds. `const` arguments never change. Statements whose outcome the rules
//! leave open (an access to another thread's part, a sum that leaves the range of offsets and comes back)
//! are left out.

use std::fmt::Write as _;

use anymetal_hal::split_mix::SplitMix64;

use crate::case::{Arg, Binding, Grid, Launch};
use crate::execute::{Buffers, ExecError, Executor, Source};
use crate::pointers::PointerTo;

const THREADS: usize = 32;
/// Elements of `y` that belong to each thread.
const OWN: i64 = 8;
const Y_BYTES: i64 = THREADS as i64 * OWN * 4;
const RO_ELEMENTS: i64 = 64;
const WORDS: usize = 16;
const POINTERS: usize = 4;
const PLACES: usize = 4;
/// Pointers with larger offsets are lost: every access is out of bounds, and the generator adds nothing to
/// them.
const FAR: u64 = 1 << 45;

/// What a pointer points to.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Object {
    Null,
    /// No object, or so far out of one that no access is in bounds.
    Lost,
    Y,
    ReadOnly,
    /// A thread's own array, of four or eight elements.
    Four,
    Eight,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Pointer {
    object: Object,
    /// In bytes.
    offset: i64,
}

const NULL: Pointer = Pointer { object: Object::Null, offset: 0 };
const LOST: Pointer = Pointer { object: Object::Lost, offset: 0 };

/// Where a program keeps pointers.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Memory {
    Array,
    Structures,
    Integers,
    Threadgroup,
    ThreadgroupIntegers,
    Device,
}

const MEMORIES: [Memory; 6] = [
    Memory::Array,
    Memory::Structures,
    Memory::Integers,
    Memory::Threadgroup,
    Memory::ThreadgroupIntegers,
    Memory::Device,
];

#[derive(Clone, Copy, Debug)]
enum Statement {
    /// An element of the thread's part of `y`, or one near it.
    Base {
        to: usize,
        element: i64,
    },
    /// The sum with `n << shift` elements, times `factor`.
    Add {
        to: usize,
        from: usize,
        factor: i64,
        shift: u32,
        turns: u32,
    },
    Choose {
        to: usize,
        yes: usize,
        no: usize,
        condition: u32,
    },
    Keep {
        memory: Memory,
        place: usize,
        from: usize,
    },
    Take {
        memory: Memory,
        place: usize,
        to: usize,
    },
    Forge {
        to: usize,
        word: usize,
        how: u32,
    },
    Load {
        from: usize,
        at: i64,
    },
    Store {
        to: usize,
        at: i64,
        value: i32,
        atomic: bool,
    },
    OwnBase {
        to: usize,
        eight: bool,
        element: i64,
    },
    OwnAdd {
        to: usize,
        factor: i64,
        shift: u32,
    },
    OwnChoose {
        to: usize,
        yes: usize,
        no: usize,
        condition: u32,
    },
    OwnNull {
        to: usize,
    },
    OwnLoad {
        from: usize,
        at: i64,
    },
    OwnStore {
        to: usize,
        at: i64,
        value: i32,
    },
}

/// The conditions of choices: their text, and whether they hold for a thread where `n` is 1.
const CONDITIONS: [(&str, fn(usize) -> bool); 4] = [
    ("n > 100", |_| false),
    ("n == 1", |_| true),
    ("(t & 1) == 0", |t| t & 1 == 0),
    ("t < n * 7", |t| t < 7),
];

/// A thread of the reference.
#[derive(Clone)]
struct Thread {
    number: usize,
    pointers: [Pointer; POINTERS],
    own: [Pointer; 3],
    kept: [[Pointer; PLACES]; MEMORIES.len()],
    four: [i32; 4],
    eight: [i32; 8],
    sum: i32,
    faulted: bool,
}

/// A program and what it must leave.
#[derive(Debug)]
pub struct PointerProgram {
    /// The source.
    pub text: String,
    launch: Launch,
    y: Vec<i32>,
    out: Vec<i32>,
    faults: bool,
}

/// Returns why an executor differs from the reference, with the program.
pub fn check_seed(seed: u64, executors: &[&dyn Executor]) -> Option<String> {
    let program = program(seed);
    executors.iter().find_map(|executor| {
        let why = check(&program, *executor)?;
        Some(format!("seed {seed} on {}: {why}\n{}", executor.name(), program.text))
    })
}

fn check(program: &PointerProgram, executor: &dyn Executor) -> Option<String> {
    let source =
        Source { name: "pointers.metal".to_owned(), text: program.text.clone(), ..Source::default() };
    let run = || executor.open(&source)?.prepare("k", &[])?.run(&program.launch);
    let (buffers, faulted): (Buffers, bool) = match run() {
        Ok(buffers) => (buffers, false),
        Err(ExecError::Fault(_, buffers)) => (buffers, true),
        Err(other) => return Some(other.to_string()),
    };
    let given = |index: usize| match &program.launch.args[index].binding {
        Binding::Buffer { bytes, .. } => bytes.clone(),
        _ => unreachable!("all arguments are buffers"),
    };
    let bytes = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    [("y", 0, bytes(&program.y)), ("what is `const`", 1, given(1)), ("out", 4, bytes(&program.out))]
        .into_iter()
        .find(|(_, index, expected)| buffers[*index] != *expected)
        .map(|(name, index, expected)| {
            let at = (0..expected.len()).find(|at| buffers[index][*at] != expected[*at]).unwrap_or(0);
            format!("{name} differs at byte {at}: {} instead of {}", buffers[index][at], expected[at])
        })
        .or_else(|| {
            (faulted != program.faults).then(|| format!("faulted: {faulted}, expected {}", program.faults))
        })
}

/// The program of a seed.
pub fn program(seed: u64) -> PointerProgram {
    let mut random = SplitMix64::new(seed);
    let words: Vec<u64> = (0..WORDS).map(|_| forged(&mut random)).collect();
    let mut threads: Vec<Thread> = (0..THREADS).map(Thread::new).collect();
    let mut y: Vec<i32> = (0..THREADS as i32 * OWN as i32).collect();
    let mut body = String::new();
    let count = 6 + random.next_up_to(40);
    for _ in 0..count {
        let statement = statement(&mut random);
        let mut after = threads.clone();
        let mut memory = y.clone();
        if after.iter_mut().all(|thread| thread.run(&statement, &mut memory).is_some()) {
            (threads, y) = (after, memory);
            write_statement(&mut body, &statement);
        }
    }
    let text = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
struct Kept {{ device int* pointer; int number; }};\n\
kernel void k(device int* y [[buffer(0)]], device const int* ro [[buffer(1)]], device ulong* words [[buffer(2)]],\n\
    constant uint& n [[buffer(3)]], device int* out [[buffer(4)]], device ulong* scratch [[buffer(5)]],\n\
    uint t [[thread_index_in_threadgroup]]) {{\n\
  device int* threadgroup shared[{TOTAL}]; threadgroup ulong bits[{TOTAL}];\n\
  device int* kept[{PLACES}] = {{}}; Kept structures[{PLACES}] = {{}}; ulong integers[{PLACES}] = {{}};\n\
  for (uint i = 0; i < {PLACES}; i++) {{ shared[t * {PLACES} + i] = nullptr; bits[t * {PLACES} + i] = 0; }}\n\
  int four[4] = {{1, 2, 3, 4}}; int eight[8] = {{5, 6, 7, 8, 9, 10, 11, 12}};\n\
  device int* p0 = nullptr; device int* p1 = nullptr; device int* p2 = nullptr; device int* p3 = nullptr;\n\
  thread int* q0 = nullptr; thread int* q1 = nullptr; thread int* q2 = nullptr;\n\
  int sum = 0;\n{body}  \
  for (uint i = 0; i < 4; i++) sum = sum * 31 + four[i];\n  \
  for (uint i = 0; i < 8; i++) sum = sum * 31 + eight[i];\n  \
  out[t] = sum;\n  if (n > 100) {{ words[0] = ulong(ro[0]); scratch[t] = 0; }}\n}}\n",
        TOTAL = THREADS * PLACES
    );
    let buffer = |index, bytes| Arg { index, binding: Binding::Buffer { bytes, offset: 0 } };
    let ints = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let first: Vec<i32> = (0..THREADS as i32 * OWN as i32).collect();
    let read_only: Vec<i32> = (0..RO_ELEMENTS as i32).map(|value| 1000 + value).collect();
    let mut launch = Launch::new("k", Grid::Threads([THREADS as u32, 1, 1]), [THREADS as u32, 1, 1]);
    launch.args = vec![
        buffer(0, ints(&first)),
        buffer(1, ints(&read_only)),
        buffer(2, words.iter().flat_map(|word| word.to_le_bytes()).collect()),
        buffer(3, 1u32.to_le_bytes().to_vec()),
        buffer(4, vec![0; THREADS * 4]),
        buffer(5, vec![0; THREADS * PLACES * 8]),
    ];
    launch.pointers = ADDRESSES
        .iter()
        .map(|&(word, object, offset)| PointerTo {
            holder: 2,
            at: word * 8,
            target: if object == Object::Y { 0 } else { 1 },
            byte: offset,
        })
        .collect();
    PointerProgram {
        text,
        launch,
        y,
        out: threads.iter().map(Thread::result).collect(),
        faults: threads.iter().any(|thread| thread.faulted),
    }
}

/// The words that are addresses of resident memory.
const ADDRESSES: [(usize, Object, i64); 3] =
    [(13, Object::Y, 0), (14, Object::ReadOnly, 8), (15, Object::ReadOnly, 4 * (RO_ELEMENTS - 1))];

/// Bits that are no address: as executors keep pointers, small, or any.
fn forged(random: &mut SplitMix64) -> u64 {
    let number = random.next_up_to(12);
    match random.next_up_to(4) {
        0 => number << 48,
        1 => (number << 48) | (1 << 47),
        2 => (number << 48) | ((1 << 47) + 4 * random.next_up_to(100)),
        3 => 1 + random.next_up_to(1 << 16),
        _ => random.next_number() | 1 << 63,
    }
}

fn statement(random: &mut SplitMix64) -> Statement {
    let mut up_to = |largest: u64| random.next_up_to(largest);
    let (to, from) = (up_to(POINTERS as u64 - 1) as usize, up_to(POINTERS as u64 - 1) as usize);
    let other = up_to(POINTERS as u64 - 1) as usize;
    let (own, own_from, own_other) = (up_to(2) as usize, up_to(2) as usize, up_to(2) as usize);
    let (memory, place) = (MEMORIES[up_to(5) as usize], up_to(PLACES as u64 - 1) as usize);
    let small = up_to(16) as i64 - 8;
    let far = up_to(2) == 0;
    let (shift, factor) = if far { (44 + up_to(17) as u32, [1, -1][up_to(1) as usize]) } else { (0, small) };
    let condition = up_to(3) as u32;
    let value = up_to(1 << 20) as i32;
    match up_to(17) {
        0 | 1 => Statement::Base { to, element: small },
        2..=4 => Statement::Add { to, from, factor, shift, turns: 1 + up_to(3) as u32 },
        5 => Statement::Choose { to, yes: from, no: other, condition },
        6 | 7 => Statement::Keep { memory, place, from },
        8 | 9 => Statement::Take { memory, place, to },
        10 => Statement::Forge { to, word: up_to(WORDS as u64 - 1) as usize, how: up_to(3) as u32 },
        11 => Statement::Load { from, at: small },
        12 => Statement::Store { to, at: small, value, atomic: far },
        13 => match up_to(2) {
            0 => Statement::OwnNull { to: own },
            _ => Statement::OwnBase { to: own, eight: far, element: small },
        },
        14 => Statement::OwnAdd { to: own, factor, shift },
        15 => Statement::OwnChoose { to: own, yes: own_from, no: own_other, condition },
        16 => Statement::OwnLoad { from: own, at: small },
        _ => Statement::OwnStore { to: own, at: small, value },
    }
}

impl Thread {
    fn new(number: usize) -> Self {
        Thread {
            number,
            pointers: [NULL; POINTERS],
            own: [NULL; 3],
            kept: [[NULL; PLACES]; MEMORIES.len()],
            four: [1, 2, 3, 4],
            eight: [5, 6, 7, 8, 9, 10, 11, 12],
            sum: 0,
            faulted: false,
        }
    }

    fn result(&self) -> i32 {
        let all = self.four.iter().chain(&self.eight);
        all.fold(self.sum, |sum, value| sum.wrapping_mul(31).wrapping_add(*value))
    }

    /// Runs a statement; `None` if its outcome is open, for any thread.
    fn run(&mut self, statement: &Statement, y: &mut [i32]) -> Option<()> {
        match *statement {
            Statement::Base { to, element } => {
                let offset = 4 * (OWN * self.number as i64 + element);
                self.pointers[to] = Pointer { object: Object::Y, offset };
            }
            Statement::Add { to, from, factor, shift, turns } => {
                let total = i64::from(turns)
                    .checked_mul(factor)?
                    .checked_mul(4)?
                    .checked_mul(1i64.checked_shl(shift)?);
                self.pointers[to] = sum(self.pointers[from], total)?;
            }
            Statement::Choose { to, yes, no, condition } => {
                self.pointers[to] = self.pointers[self.chosen(yes, no, condition)];
            }
            Statement::Keep { memory, place, from } => {
                let pointer = self.pointers[from];
                // As an address, a pointer out of its buffer may be one into another.
                let inside = 0..size(pointer.object);
                let is_open = matches!(pointer.object, Object::Y | Object::ReadOnly)
                    && memory != Memory::Array
                    && !inside.contains(&pointer.offset);
                if is_open {
                    return None;
                }
                self.kept[memory as usize][place] = pointer;
            }
            Statement::Take { memory, place, to } => self.pointers[to] = self.kept[memory as usize][place],
            Statement::Forge { to, word, .. } => {
                let address = ADDRESSES.iter().find(|(at, ..)| *at == word);
                self.pointers[to] = address.map_or(LOST, |&(_, object, offset)| Pointer { object, offset });
            }
            Statement::Load { from, at } => {
                let pointer = further(self.pointers[from], at);
                let value = match pointer.object {
                    Object::Y if is_inside(pointer) => {
                        self.is_own(pointer).then(|| y[(pointer.offset / 4) as usize])?
                    }
                    Object::ReadOnly if is_inside(pointer) => 1000 + (pointer.offset / 4) as i32,
                    _ => self.fault(),
                };
                self.add(value);
            }
            Statement::Store { to, at, value, .. } => {
                let pointer = further(self.pointers[to], at);
                if pointer.object == Object::Y && is_inside(pointer) {
                    let element = self.is_own(pointer).then_some((pointer.offset / 4) as usize)?;
                    y[element] = value;
                } else {
                    self.fault();
                }
            }
            Statement::OwnBase { to, eight, element } => {
                let object = if eight { Object::Eight } else { Object::Four };
                self.own[to] = Pointer { object, offset: 4 * element };
            }
            Statement::OwnAdd { to, factor, shift } => {
                let total = factor.checked_mul(4)?.checked_mul(1i64.checked_shl(shift)?);
                self.own[to] = sum(self.own[to], total)?;
            }
            Statement::OwnChoose { to, yes, no, condition } => {
                self.own[to] = self.own[self.chosen(yes, no, condition)];
            }
            Statement::OwnNull { to } => self.own[to] = NULL,
            Statement::OwnLoad { from, at } => {
                let value = match self.own_element(further(self.own[from], at)) {
                    Some(element) => *element,
                    None => self.fault(),
                };
                self.add(value);
            }
            Statement::OwnStore { to, at, value } => match self.own_element(further(self.own[to], at)) {
                Some(element) => *element = value,
                None => _ = self.fault(),
            },
        }
        Some(())
    }

    fn chosen(&self, yes: usize, no: usize, condition: u32) -> usize {
        if CONDITIONS[condition as usize].1(self.number) { yes } else { no }
    }

    fn own_element(&mut self, pointer: Pointer) -> Option<&mut i32> {
        let element = usize::try_from(pointer.offset / 4).ok().filter(|_| is_inside(pointer))?;
        match pointer.object {
            Object::Four => self.four.get_mut(element),
            Object::Eight => self.eight.get_mut(element),
            _ => None,
        }
    }

    fn is_own(&self, pointer: Pointer) -> bool {
        pointer.offset / 4 / OWN == self.number as i64
    }

    fn add(&mut self, value: i32) {
        self.sum = self.sum.wrapping_mul(31).wrapping_add(value);
    }

    /// A load that is out of bounds gives zero.
    fn fault(&mut self) -> i32 {
        self.faulted = true;
        0
    }
}

fn size(object: Object) -> i64 {
    match object {
        Object::Null | Object::Lost => 0,
        Object::Y => Y_BYTES,
        Object::ReadOnly => 4 * RO_ELEMENTS,
        Object::Four => 16,
        Object::Eight => 32,
    }
}

fn is_inside(pointer: Pointer) -> bool {
    pointer.offset >= 0 && pointer.offset + 4 <= size(pointer.object)
}

fn further(pointer: Pointer, at: i64) -> Pointer {
    Pointer { offset: pointer.offset + 4 * at, ..pointer }
}

/// A sum; `None` if it is open. `total` is none where it overflows.
fn sum(pointer: Pointer, total: Option<i64>) -> Option<Pointer> {
    match pointer.object {
        Object::Lost => None,
        // Nothing but the null pointer itself is compared or kept.
        Object::Null => (total == Some(0)).then_some(pointer),
        object => {
            let offset = pointer.offset.checked_add(total?)?;
            let is_near = offset.unsigned_abs() < FAR;
            Some(if is_near { Pointer { object, offset } } else { LOST })
        }
    }
}

fn place_of(memory: Memory, place: usize) -> String {
    let index = format!("(n + {}) & 3", (place + 3) % 4);
    let shared = format!("t * {PLACES} + ({index})");
    match memory {
        Memory::Array => format!("kept[{index}]"),
        Memory::Structures => format!("structures[{index}].pointer"),
        Memory::Integers => format!("integers[{index}]"),
        Memory::Threadgroup => format!("shared[{shared}]"),
        Memory::ThreadgroupIntegers => format!("bits[{shared}]"),
        Memory::Device => format!("scratch[{shared}]"),
    }
}

fn write_statement(body: &mut String, statement: &Statement) {
    let text = match *statement {
        Statement::Base { to, element } => format!("p{to} = y + (8 * int(t) + {element});"),
        Statement::Add { to, from, factor, shift, turns: 1 } => {
            format!("p{to} = p{from} + ({factor} * (long(n) << {shift}));")
        }
        Statement::Add { to, from, factor, shift, turns } => format!(
            "{{ device int* p = p{from}; for (uint i = 0; i < n * {turns}; i++) p += {factor} * (long(n) << {shift}); \
p{to} = p; }}"
        ),
        Statement::Choose { to, yes, no, condition } => {
            format!("p{to} = {} ? p{yes} : p{no};", CONDITIONS[condition as usize].0)
        }
        Statement::Keep { memory, place, from } => {
            let place = place_of(memory, place);
            match memory {
                Memory::Integers | Memory::ThreadgroupIntegers | Memory::Device => {
                    format!("{place} = (ulong)p{from};")
                }
                _ => format!("{place} = p{from};"),
            }
        }
        Statement::Take { memory, place, to } => {
            let place = place_of(memory, place);
            match memory {
                Memory::Integers => format!("p{to} = *(device int* thread*)&{place};"),
                Memory::ThreadgroupIntegers => format!("p{to} = *(device int* threadgroup*)&{place};"),
                Memory::Device => format!("p{to} = (device int*){place};"),
                _ => format!("p{to} = {place};"),
            }
        }
        Statement::Forge { to, word, how: 0 } => format!("p{to} = (device int*)words[{word}];"),
        Statement::Forge { to, word, how: 1 } => {
            format!("p{to} = *(device int* device*)(words + {word} * n);")
        }
        Statement::Forge { to, word, how: 2 } => format!(
            "{{ device int* p = y; thread uchar* b = (thread uchar*)&p; \
for (uint i = 0; i < 8; i++) b[i] = uchar(words[{word}] >> (8 * i)); p{to} = p; }}"
        ),
        Statement::Forge { to, word, .. } => format!(
            "{{ device int* p[2] = {{y, y}}; ((thread uint*)p)[2 * (n & 1)] = uint(words[{word}]); \
((thread uint*)p)[2 * (n & 1) + 1] = uint(words[{word}] >> 32); p{to} = p[n & 1]; }}"
        ),
        Statement::Load { from, at } => format!("sum = sum * 31 + p{from}[{at}];"),
        Statement::Store { to, at, value, atomic: false } => format!("p{to}[{at}] = {value};"),
        Statement::Store { to, at, value, .. } => format!(
            "atomic_store_explicit((device atomic_int*)(p{to} + {at}), {value}, memory_order_relaxed);"
        ),
        Statement::OwnBase { to, eight, element } => {
            format!("q{to} = {} + {element};", if eight { "eight" } else { "four" })
        }
        Statement::OwnAdd { to, factor, shift } => format!("q{to} += {factor} * (long(n) << {shift});"),
        Statement::OwnChoose { to, yes, no, condition } => {
            format!("q{to} = {} ? q{yes} : q{no};", CONDITIONS[condition as usize].0)
        }
        Statement::OwnNull { to } => format!("q{to} = nullptr;"),
        Statement::OwnLoad { from, at } => format!("sum = sum * 31 + q{from}[{at}];"),
        Statement::OwnStore { to, at, value } => format!("q{to}[{at}] = {value};"),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(body, "  {text}");
}
