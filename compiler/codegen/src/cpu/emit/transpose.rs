//! Transposes items of four elements between interleaved form and one vector per element.
//!
//! Two steps within 128-bit quarters transpose four vectors. Up to AVX2 that is the fastest: LLVM needs
//! three times as many instructions for the same shuffle. With AVX-512, permutations of two whole registers
//! are faster, and Arm has interleaving loads and stores.

use anymetal_opt::Feature;

use super::Emitter;
use super::allocation::Place;
use super::memory::{Item, MemoryType};
use crate::llvm::{self, FLOAT, HALF, I8, I16, I32, I64, LANES, MemFlags, Opd};
use anymetal_simd::access::Run;

/// Bytes of a quarter.
const QUARTER: usize = 16;
/// Words of a register, at most: wider ones have other ways.
const REGISTER: usize = 8;
/// Quarters of a row that is put together at once: a whole register, at most.
const ROW_QUARTERS: usize = 4;
/// Lines of the cache that are loaded in parts at once.
const LINES_TOGETHER: usize = 8;

/// Elements `low` and `low + 1` of each quarter of two vectors of `n`, in turns.
fn singles(low: usize, n: usize) -> [usize; 4] {
    [low, n + low, low + 1, n + low + 1]
}

/// The lower or upper pairs of each quarter of two vectors of `n`.
fn pairs(low: usize, n: usize) -> [usize; 4] {
    [low, low + 1, n + low, n + low + 1]
}

impl Emitter<'_, '_> {
    /// How many quarters these lanes' items are, if they are better transposed by quarters.
    fn quarters(&self, element: llvm::Type, count: usize, lanes: usize) -> Option<usize> {
        let features = self.shared.options.features;
        let size = match element {
            I8 => 1,
            I16 | HALF => 2,
            I32 | FLOAT => 4,
            _ => return None,
        };
        let bytes = lanes * count * size;
        let is_on = self.has(Feature::QuarterTranspose);
        let is_worth_it = is_on && !features.avx512 && !features.neon && count == 4;
        (is_worth_it && bytes.is_multiple_of(4 * QUARTER)).then_some(bytes / QUARTER)
    }

    /// Items of `lanes` lanes side by side: one vector per element, if this is the way to load them.
    pub(super) fn load_by_quarters(
        &mut self,
        place: &Place,
        at: &Opd,
        item: Item,
        lanes: usize,
    ) -> Option<Vec<Opd>> {
        let element = item.memory_type();
        // Bytes are mostly widened, and a byte of each lane's word is a shift away.
        let quarters = self.quarters(element, item.count, lanes).filter(|_| element != I8)?;
        let offset = |quarter: usize| Opd::i64((quarter * QUARTER) as i64);
        let places: Vec<Opd> = (0..quarters).map(|quarter| self.t.offset(at, &offset(quarter))).collect();
        let words = self.load_quads(place, &places, lanes / quarters, 1);
        Some(words.iter().map(|words| self.words_as(words, element, lanes)).collect())
    }

    /// The reverse: the run's lanes of each element, as they are in memory.
    pub(super) fn store_by_quarters(
        &mut self,
        element: llvm::Type,
        values: &[Opd],
        run: &Run,
    ) -> Option<Opd> {
        // One for each word of an element's vector.
        let n = self.quarters(element, values.len(), run.lanes)?;
        let columns = [0, 1, 2, 3].map(|k| {
            let own = self.lanes_of(&values[k], run);
            self.as_words(&own, n)
        });
        // Registers at a time: LLVM looks through shuffles of vectors that it has to split, and undoes the
        // steps.
        let register = n.min(REGISTER);
        let mut registers = Vec::new();
        for first in (0..n).step_by(register) {
            let own: Vec<_> = (first..first + register).map(Some).collect();
            let columns = columns.clone().map(|words| match n == register {
                true => words,
                false => self.t.pick(&words, &own),
            });
            let [a, b, c, d] = self
                .transposed(&columns, register)
                .map(|row| self.transpose_in_quarters(&row, register, run.lanes / n, false));
            for quarter in (0..register).step_by(4) {
                let picks: Vec<_> = [0, register]
                    .into_iter()
                    .flat_map(|row| (0..4).map(move |word| Some(row + quarter + word)))
                    .collect();
                registers.push(self.t.shuffle(&a, &b, &picks));
                registers.push(self.t.shuffle(&c, &d, &picks));
            }
        }
        let whole = self.t.concat(registers);
        Some(self.words_as(&whole, element, run.lanes * values.len()))
    }

    /// Four 32-bit words from each place, transposed, `quads` times one after the other. Where a place has
    /// the items of several lanes, the words are their first elements, their second ones and so on.
    pub(super) fn load_quads(
        &mut self,
        place: &Place,
        places: &[Opd],
        lanes_in_place: usize,
        quads: usize,
    ) -> Vec<Opd> {
        assert!(places.len().is_multiple_of(4), "places are transposed in groups of four");
        let metadata = self.metadata(place);
        let mut parts: Vec<Vec<Opd>> = vec![Vec::new(); 4 * quads];
        // Lines that are loaded in parts have to stay in the cache until the last part. Rows whose distance
        // is a power of two share one of its sets, which has eight ways in most processors.
        let quarters = if quads > 1 { LINES_TOGETHER / 4 } else { ROW_QUARTERS };
        let step = (4 * quarters).min(places.len());
        assert!(places.len().is_multiple_of(step), "{} places are not a multiple of {step}", places.len());
        for places in places.chunks(step) {
            self.split_loads();
            for (quad, parts) in parts.chunks_mut(4).enumerate() {
                let rows = [0, 1, 2, 3].map(|row| {
                    let quarters = (0..step / 4)
                        .map(|quarter| {
                            let at = &places[4 * quarter + row];
                            let at = self.t.offset(at, (QUARTER * quad) as i64);
                            self.t.load(I32.vector(4), &at, MemFlags::with(1, metadata))
                        })
                        .collect();
                    let row = self.t.concat(quarters);
                    self.transpose_in_quarters(&row, step, lanes_in_place, true)
                });
                for (part, words) in parts.iter_mut().zip(self.transposed(&rows, step)) {
                    part.push(words);
                }
            }
        }
        parts.into_iter().map(|parts| self.t.concat(parts)).collect()
    }

    /// Two 64-bit words from each place, transposed, `pairs` times one after the other.
    pub(super) fn load_pairs(&mut self, place: &Place, places: &[Opd], pairs: usize) -> Vec<Opd> {
        let metadata = self.metadata(place);
        let mut parts: Vec<Vec<Opd>> = vec![Vec::new(); 2 * pairs];
        for places in places.chunks(LINES_TOGETHER) {
            assert_eq!(places.len(), LINES_TOGETHER, "places are transposed in groups");
            self.split_loads();
            for (pair, parts) in parts.chunks_mut(2).enumerate() {
                let rows = [0, 1].map(|row| {
                    let quarters = places.iter().skip(row).step_by(2).map(|at| {
                        let at = self.t.offset(at, (QUARTER * pair) as i64);
                        self.t.load(I64.vector(2), &at, MemFlags::with(1, metadata))
                    });
                    let quarters = quarters.collect();
                    self.t.concat(quarters)
                });
                for (word, part) in parts.iter_mut().enumerate() {
                    let n = LINES_TOGETHER;
                    let picks: Vec<_> = (0..n).map(|lane| Some(lane / 2 * 2 + word + lane % 2 * n)).collect();
                    part.push(self.t.shuffle(&rows[0], &rows[1], &picks));
                }
            }
        }
        parts.into_iter().map(|parts| self.t.concat(parts)).collect()
    }

    /// Transposes the four by four words that the same quarters of four vectors of `n` words are.
    fn transposed(&mut self, rows: &[Opd; 4], n: usize) -> [Opd; 4] {
        assert!(n.is_multiple_of(4), "{n} words are not a multiple of four");
        let mut weave = |a: &Opd, b: &Opd, picks: [usize; 4]| {
            let picks: Vec<_> = (0..n).map(|word| Some(word / 4 * 4 + picks[word % 4])).collect();
            self.t.shuffle(a, b, &picks)
        };
        let [a, b, c, d] = rows;
        let [low, high] = [0, 2].map(|half| {
            let (ab, cd) = (weave(a, b, singles(half, n)), weave(c, d, singles(half, n)));
            [0, 2].map(|half| weave(&ab, &cd, pairs(half, n)))
        });
        let ([x, y], [z, w]) = (low, high);
        [x, y, z, w]
    }

    /// Within each quarter of `n` words: from items of four small elements to four words of one element of
    /// each item, or back.
    fn transpose_in_quarters(&mut self, row: &Opd, n: usize, items: usize, apart: bool) -> Opd {
        if items == 1 {
            return row.clone();
        }
        assert!(matches!(items, 2 | 4), "{items} items do not fill a word evenly");
        let small = llvm::Type::int((32 / items) as u32);
        let (rows, columns) = if apart { (4, items) } else { (items, 4) };
        let in_quarter = 4 * items;
        let picks: Vec<_> = (0..n * items)
            .map(|i| (i / in_quarter * in_quarter, i % in_quarter))
            .map(|(first, i)| Some(first + i % columns * rows + i / columns))
            .collect();
        let total = n * items;
        let elements = self.words_as(row, small, total);
        let transposed = self.t.pick(&elements, &picks);
        self.as_words(&transposed, n)
    }

    fn words_as(&mut self, words: &Opd, element: llvm::Type, count: usize) -> Opd {
        self.t.bitcast(words, element.vector(count))
    }

    fn as_words(&mut self, elements: &Opd, n: usize) -> Opd {
        self.t.bitcast(elements, I32.vector(n))
    }

    /// A run's lanes of a vector of all.
    pub(super) fn lanes_of(&mut self, value: &Opd, run: &Run) -> Opd {
        assert!(run.lane + run.lanes <= LANES, "a run ends with the last lane");
        if run.lanes == LANES {
            return value.clone();
        }
        let own: Vec<_> = (run.lane..run.lane + run.lanes).map(Some).collect();
        self.t.pick(value, &own)
    }
}
