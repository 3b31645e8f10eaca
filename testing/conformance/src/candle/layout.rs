//! Views of buffers: shapes, strides, offsets.

/// A strided view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// What it is, for messages.
    pub name: &'static str,
    /// Elements per dimension.
    pub shape: Vec<usize>,
    /// Elements from one to the next, per dimension.
    pub strides: Vec<usize>,
    /// The first element, in the buffer.
    pub offset: usize,
    /// Elements of the buffer.
    pub storage: usize,
}

impl Layout {
    /// The buffer's element for the element with that row-major number, counted from [`Layout::offset`].
    pub fn relative(&self, mut number: usize) -> usize {
        let mut index = 0;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            index += number % extent * stride;
            number /= extent;
        }
        index
    }

    /// The same, from the buffer's start.
    pub fn absolute(&self, number: usize) -> usize {
        self.offset + self.relative(number)
    }

    /// Elements of the view.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether two elements of the view are the same element of the buffer.
    pub fn overlaps(&self) -> bool {
        self.shape.iter().zip(&self.strides).any(|(&extent, &stride)| stride == 0 && extent > 1)
    }
}

/// A shape of that many elements: up to three dimensions, as equal as its divisors allow.
pub fn shape_of(count: usize) -> Vec<usize> {
    let divisor = |n: usize, root: f64| {
        let start = (n as f64).powf(root).round() as usize;
        (2..=start.max(1)).rev().find(|&d| n.is_multiple_of(d))
    };
    if count < 4 {
        return vec![count];
    }
    let Some(first) = divisor(count, 1.0 / 3.0) else { return vec![count] };
    match divisor(count / first, 0.5) {
        Some(second) => vec![first, second, count / first / second],
        None => vec![first, count / first],
    }
}

/// Row-major strides.
pub fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for dimension in (1..shape.len()).rev() {
        strides[dimension - 1] = strides[dimension] * shape[dimension];
    }
    strides
}

/// Contiguous.
pub fn contiguous(shape: &[usize]) -> Layout {
    let storage = shape.iter().product();
    Layout { name: "contiguous", shape: shape.to_vec(), strides: row_major(shape), offset: 0, storage }
}

/// All kinds of views of a shape.
pub fn layouts(shape: &[usize]) -> Vec<Layout> {
    let count: usize = shape.iter().product();
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let transposed: Vec<usize> = row_major(&reversed).into_iter().rev().collect();
    let mut broadcast = row_major(&shape[1..]);
    broadcast.insert(0, 0);
    let stepped: Vec<usize> = row_major(shape).iter().map(|stride| 2 * stride).collect();
    let layout =
        |name, strides, offset, storage| Layout { name, shape: shape.to_vec(), strides, offset, storage };
    let rows = shape.first().copied().unwrap_or(1).max(1);
    vec![
        contiguous(shape),
        layout("transposed", transposed, 0, count),
        layout("broadcast", broadcast, 0, (count / rows).max(1)),
        layout("every second from the fifth", stepped, 4, 4 + 2 * count),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_stay_in_their_buffers() {
        assert_eq!(shape_of(1000), [10, 10, 10]);
        assert_eq!(shape_of(33), [3, 11]);
        assert_eq!(shape_of(31), [31]);
        for count in [1, 6, 31, 33, 64, 1000] {
            for layout in layouts(&shape_of(count)) {
                assert_eq!(layout.count(), count);
                assert!((0..count).all(|i| layout.absolute(i) < layout.storage.max(1)), "{layout:?}");
            }
        }
        let transposed = &layouts(&[2, 3])[1];
        assert_eq!((0..6).map(|i| transposed.absolute(i)).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
    }
}
