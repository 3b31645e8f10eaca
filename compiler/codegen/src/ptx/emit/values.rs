//! Arguments that the launch may give by value: their words, and loads of them.
//!
//! Owns [`Given`]. The words are read once, at the start: from the parameters, or from what is bound.

use anymetal_ir::{ArgKind, Inst, Scalar, Value};

use super::super::by_value::place_in_argument;
use super::Emitter;
use crate::cpu::argument_slots;
use crate::llvm::{GLOBAL, I32, I64, IntPredicate, MemFlags, Opd};

/// The words of arguments.
#[derive(Debug)]
pub(super) struct Given {
    /// For each argument how many words it has by value.
    counts: Vec<u32>,
    /// The parameters, and later what counts.
    words: Vec<Vec<Opd>>,
}

impl Given {
    /// For arguments of so many words.
    pub(super) fn new(counts: Vec<u32>) -> Self {
        let words = vec![Vec::new(); counts.len()];
        Self { counts, words }
    }

    pub(super) fn add_parameter(&mut self, argument: Option<usize>, word: Opd) {
        let argument = argument.expect("words given by value belong to an argument");
        self.words[argument].push(word);
        assert!(
            self.words[argument].len() <= self.counts[argument] as usize,
            "argument {argument} has no more than {} words",
            self.counts[argument]
        );
    }

    pub(super) fn into_counts(self) -> Vec<u32> {
        self.counts
    }
}

impl Emitter<'_> {
    /// How many words each buffer slot takes by value.
    pub(super) fn words_of_slots(&self) -> Vec<u32> {
        let kernel = self.input.kernel;
        let mut words: Vec<(u32, u32)> = (0..)
            .zip(argument_slots(kernel))
            .filter(|(at, _): &(usize, _)| kernel.args[*at].kind == ArgKind::Buffer)
            .filter_map(|(at, slot)| Some((slot?, self.given.counts[at])))
            .collect();
        words.sort_unstable();
        words.into_iter().map(|(_, words)| words).collect()
    }

    /// Reads the words at the start of the kernel.
    pub(super) fn start_values(&mut self) {
        for argument in 0..self.given.counts.len() {
            let given = std::mem::take(&mut self.given.words[argument]);
            let Some(base) = self.places.base(argument).filter(|_| !given.is_empty()) else { continue };
            let by_value = self.t.icmp(IntPredicate::Eq, &base, &Opd::zero(GLOBAL));
            let (memory, join) = (self.t.block(), self.t.block());
            let before = self.t.current();
            self.t.branch_if(&by_value, join, memory);
            self.t.label(memory);
            let bound: Vec<Opd> = (0..given.len())
                .map(|word| {
                    let at = self.t.field(&base, 4 * word as i64);
                    self.t.load(I32, &at, MemFlags::with(4, ", !invariant.load !1"))
                })
                .collect();
            self.t.label(join);
            assert_eq!(given.len(), bound.len(), "each word has a value from memory");
            let words = given.iter().zip(&bound);
            let words = words.map(|(given, bound)| self.t.phi(&[(given, before), (bound, memory)]));
            self.given.words[argument] = words.collect();
        }
    }

    /// Whether a pointer leads to what was read at the start.
    pub(super) fn is_given(&self, pointer: Value) -> bool {
        let place = place_in_argument(self.input.function, pointer);
        place.is_some_and(|(argument, _)| self.is_given_argument(argument))
    }

    pub(super) fn is_given_argument(&self, argument: usize) -> bool {
        self.given.words.get(argument).is_some_and(|words| !words.is_empty())
    }

    /// A load of what was read at the start; `None` if it is another one.
    pub(super) fn load_given(&mut self, inst: Inst, pointer: Value) -> Option<()> {
        let function = self.input.function;
        let ty = function.ty(function.inst(inst).result?);
        let (argument, offset) = place_in_argument(function, pointer)?;
        let scalar = ty.scalar().filter(|_| !self.given.words[argument].is_empty())?;
        let size = u64::from(scalar.size());
        let lanes = 0..u64::from(ty.lanes());
        let parts = lanes.map(|lane| self.given_element(argument, offset + lane * size, scalar));
        let parts = parts.collect();
        self.define(inst, parts);
        Some(())
    }

    /// A scalar of an argument by value.
    pub(super) fn given_scalar(&mut self, argument: usize, offset: u64, scalar: Scalar) -> Option<Opd> {
        self.is_given_argument(argument).then(|| self.given_element(argument, offset, scalar))
    }

    fn given_element(&mut self, argument: usize, offset: u64, scalar: Scalar) -> Opd {
        assert!(
            offset.is_multiple_of(u64::from(scalar.size()).min(4)),
            "a {scalar:?} at offset {offset} crosses a word boundary"
        );
        let words = &self.given.words[argument];
        let word = words[(offset / 4) as usize].clone();
        let bits = 8 * (offset % 4);
        match scalar {
            _ if scalar.size() == 8 => {
                let high = words[(offset / 4 + 1) as usize].clone();
                let [low, high] = [word, high].map(|word| self.t.zext(&word, I64));
                let high = self.t.shl(&high, 32);
                self.t.or(&high, &low)
            }
            Scalar::Bool => {
                let byte = self.t.lshr(&word, bits as i64);
                let byte = self.t.and(&byte, 255);
                self.t.icmp(IntPredicate::Ne, &byte, 0)
            }
            _ if bits == 0 => self.from_word(scalar, &word),
            _ => {
                let word = self.t.lshr(&word, bits as i64);
                self.from_word(scalar, &word)
            }
        }
    }
}
