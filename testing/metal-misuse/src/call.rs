//! Calls by the C calling conventions of x86-64 and AArch64, of any method.
//!
//! A method is called as a function with all integer registers, all vector registers and a stretch of
//! the stack as its parameters; [`Arguments`] puts each argument where the convention has it.

use crate::encoding::Kind;

#[cfg(target_arch = "x86_64")]
const INTEGERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const INTEGERS: usize = 8;
const VECTORS: usize = 8;
const STACK: usize = 24;

/// The arguments of a call, where they are passed.
#[derive(Debug, Clone)]
pub struct Arguments {
    integers: Vec<u64>,
    vectors: Vec<u64>,
    stack: Vec<u64>,
    /// Structures that are passed by address.
    #[cfg(target_arch = "aarch64")]
    structures: Vec<Box<[u64]>>,
}

impl Arguments {
    /// Those of a message, so far.
    pub fn new(receiver: usize, selector: usize) -> Arguments {
        Arguments {
            integers: vec![receiver as u64, selector as u64],
            vectors: Vec::new(),
            stack: Vec::new(),
            #[cfg(target_arch = "aarch64")]
            structures: Vec::new(),
        }
    }

    /// Adds an integer or an address.
    pub fn word(&mut self, word: u64) {
        if self.integers.len() < INTEGERS { self.integers.push(word) } else { self.stack.push(word) }
    }

    /// Adds a floating-point number of its kind.
    pub fn number(&mut self, kind: &Kind, value: f64) {
        let bits = if *kind == Kind::Float { u64::from((value as f32).to_bits()) } else { value.to_bits() };
        if self.vectors.len() < VECTORS { self.vectors.push(bits) } else { self.stack.push(bits) }
    }

    /// Adds a structure of integers.
    pub fn structure(&mut self, words: &[u64]) {
        if words.len() > 2 {
            #[cfg(target_arch = "x86_64")]
            self.stack.extend(words);
            #[cfg(target_arch = "aarch64")]
            {
                self.structures.push(words.into());
                let address = self.structures.last().expect("it was just added").as_ptr().addr();
                self.word(address as u64);
            }
        } else if self.integers.len() + words.len() <= INTEGERS {
            self.integers.extend(words);
        } else {
            self.stack.extend(words);
        }
    }
}

/// A result in memory of up to this size; others are in registers.
#[repr(C)]
struct InMemory([u64; 16]);

/// Calls the code of a method; returns what is in the first integer register, for results there.
///
/// # Safety
///
/// `code` is the code of a method whose types are those of the arguments and of the result, and the
/// arguments may be passed to it. Parameters beyond those of the method do no harm, because the caller of a
/// C function removes them.
pub unsafe fn call(code: *const (), result: &Kind, arguments: &Arguments) -> u64 {
    let padded = |words: &[u64], count: usize| {
        assert!(words.len() <= count, "the arguments fit the parameters");
        words.iter().copied().chain(std::iter::repeat(0)).take(count).collect::<Vec<u64>>()
    };
    let (integers, stack) = (padded(&arguments.integers, INTEGERS), padded(&arguments.stack, STACK));
    let vectors: Vec<f64> = padded(&arguments.vectors, VECTORS).into_iter().map(f64::from_bits).collect();
    match result {
        Kind::Structure(bytes) if *bytes > 16 => {
            assert!(*bytes <= size_of::<InMemory>(), "a result of {bytes} bytes fits the place for it");
            // SAFETY: as promised.
            let InMemory(words) = unsafe { invoke(code, &integers, &vectors, &stack) };
            words[0]
        }
        // SAFETY: as promised.
        _ => unsafe { invoke(code, &integers, &vectors, &stack) },
    }
}

/// # Safety
///
/// As for [`call`], and `R` is the result or a larger place for it.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
unsafe fn invoke<R>(code: *const (), i: &[u64], v: &[f64], s: &[u64]) -> R {
    type Code<R> = unsafe extern "C-unwind" fn(
        u64, u64, u64, u64, u64, u64,
        f64, f64, f64, f64, f64, f64, f64, f64,
        u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
        u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
    ) -> R;
    // SAFETY: as promised.
    unsafe {
        let code = std::mem::transmute::<*const (), Code<R>>(code);
        code(
            i[0], i[1], i[2], i[3], i[4], i[5],
            v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
            s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11],
            s[12], s[13], s[14], s[15], s[16], s[17], s[18], s[19], s[20], s[21], s[22], s[23],
        )
    }
}

/// # Safety
///
/// As for [`call`], and `R` is the result or a larger place for it.
#[cfg(target_arch = "aarch64")]
#[rustfmt::skip]
unsafe fn invoke<R>(code: *const (), i: &[u64], v: &[f64], s: &[u64]) -> R {
    type Code<R> = unsafe extern "C-unwind" fn(
        u64, u64, u64, u64, u64, u64, u64, u64,
        f64, f64, f64, f64, f64, f64, f64, f64,
        u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
        u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
    ) -> R;
    // SAFETY: as promised.
    unsafe {
        let code = std::mem::transmute::<*const (), Code<R>>(code);
        code(
            i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7],
            v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7],
            s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9], s[10], s[11],
            s[12], s[13], s[14], s[15], s[16], s[17], s[18], s[19], s[20], s[21], s[22], s[23],
        )
    }
}
