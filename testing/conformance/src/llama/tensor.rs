//! Tensors as ggml has them: four extents, the first one running fastest, and strides in bytes.

use crate::candle::input::Inputs;
use crate::data::{Data, Dtype};
use crate::quants::Format;

/// The layout of a tensor in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Without gaps.
    Contiguous,
    /// With a gap of about 64 bytes after each row, a multiple of a block.
    Padded,
    /// The second and third dimension exchanged.
    Permuted,
    /// The first and second dimension exchanged: elements of a row are apart.
    Transposed,
    /// The third dimension running fastest, then the first and the second: pixels of several channels.
    Channels,
}

/// A tensor with its numbers.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Elements per dimension.
    pub ne: [usize; 4],
    /// Bytes from one to the next: of the first dimension, from one block to the next.
    pub nb: [usize; 4],
    /// Its memory.
    pub bytes: Vec<u8>,
    numbers: Vec<f64>,
}

impl Tensor {
    /// Random numbers in a format.
    pub fn random(format: Format, seed: u64, ne: [usize; 4], order: Order) -> Self {
        let (bytes, numbers) = format.random(seed, ne.iter().product());
        Self::laid_out([format.elements, format.bytes], &bytes, numbers, ne, order)
    }

    /// Numbers of a plain type between two bounds.
    pub fn between(dtype: Dtype, seed: u64, ne: [usize; 4], order: Order, low: f64, high: f64) -> Self {
        let data = Inputs::new(seed).numbers(dtype, ne.iter().product(), low, high);
        Self::of_data(&data, ne, order)
    }

    /// These elements, of any type.
    pub fn of_data(data: &Data, ne: [usize; 4], order: Order) -> Self {
        let numbers = (0..data.len()).map(|i| data.number(i)).collect();
        Self::laid_out([1, data.dtype.size()], &data.bytes, numbers, ne, order)
    }

    /// Elements of a plain type as they are in memory, to compare with or to bind.
    pub fn data(&self, dtype: Dtype) -> Data {
        Data { dtype, bytes: self.bytes.clone() }
    }

    /// Blocks of that many bytes, of any format; extents are counted in blocks.
    pub fn of_blocks(size: usize, blocks: &[u8], ne: [usize; 4], order: Order) -> Self {
        Self::laid_out([1, size], blocks, Vec::new(), ne, order)
    }

    /// Lays out blocks of that many elements and bytes.
    fn laid_out(
        [elements, size]: [usize; 2],
        blocks: &[u8],
        numbers: Vec<f64>,
        ne: [usize; 4],
        order: Order,
    ) -> Self {
        let width = ne[0] / elements;
        let row = width * size;
        // Rows begin with a multiple of a block.
        let gap = 64usize.next_multiple_of(size);
        let pitch = if order == Order::Padded { row + gap } else { row };
        let whole = pitch * ne[1] * ne[2];
        let nb = match order {
            Order::Contiguous | Order::Padded => [size, pitch, pitch * ne[1], whole],
            Order::Permuted => [size, pitch * ne[2], pitch, whole],
            Order::Transposed => [size * ne[1], size, pitch * ne[1], whole],
            Order::Channels => [size * ne[2], row * ne[2], size, whole],
        };
        let mut bytes = vec![0x5a; nb[3] * ne[3]];
        let places = Self::places([width, ne[1], ne[2], ne[3]]);
        for (place, block) in places.zip(blocks.chunks_exact(size)) {
            let at: usize = (0..4).map(|d| place[d] * nb[d]).sum();
            bytes[at..at + size].copy_from_slice(block);
        }
        Self { ne, nb, bytes, numbers }
    }

    /// The number at a place; places beyond an extent begin again.
    pub fn at(&self, place: [usize; 4]) -> f64 {
        let [i0, i1, i2, i3] = [0, 1, 2, 3].map(|d| place[d] % self.ne[d]);
        self.numbers[((i3 * self.ne[2] + i2) * self.ne[1] + i1) * self.ne[0] + i0]
    }

    /// All places, in the order of a contiguous tensor.
    pub fn places(ne: [usize; 4]) -> impl Iterator<Item = [usize; 4]> {
        let count: usize = ne.iter().product();
        (0..count).map(move |i| {
            [i % ne[0], i / ne[0] % ne[1], i / ne[0] / ne[1] % ne[2], i / ne[0] / ne[1] / ne[2]]
        })
    }

    /// A contiguous tensor of these extents and this size of an element, for its strides.
    pub fn shape(ne: [usize; 4], size: usize) -> Self {
        let nb = [size, size * ne[0], size * ne[0] * ne[1], size * ne[0] * ne[1] * ne[2]];
        Self { ne, nb, bytes: Vec::new(), numbers: Vec::new() }
    }
}
