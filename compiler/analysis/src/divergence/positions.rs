//! The shapes of thread positions, which follow from what is known of the threadgroup's size.

use anymetal_ir::Query;

use super::{Affine, LANES, Shape, trailing_zeros};

/// What is known of the threadgroups that a version of the code runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Geometry {
    /// Exactly this size.
    Full([u32; 3]),
    /// Exactly this size, lanes along y first; for kernels that cannot tell.
    YMajor([u32; 3]),
    /// One row of any length.
    Line,
    /// Anything.
    Any,
}

/// How a thread's position along one axis is computed from the SIMD-group's first linear index
/// (`first`) and the lane. One rule for the analysis and the emitter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Position {
    /// Always zero.
    Zero,
    /// `first / divide % modulo + pattern[lane]`; a modulo of 0 is none.
    Based {
        /// Divisor of the first index.
        divide: u32,
        /// Then modulo this.
        modulo: u32,
        /// Added per lane.
        pattern: [i64; LANES],
    },
    /// The pattern.
    Known([i64; LANES]),
    /// `linear / divide % modulo` lane by lane, with the real sizes when not constants.
    Computed,
}

impl Geometry {
    /// The size, if known.
    pub fn size(self) -> Option<[u32; 3]> {
        if let Self::Full(size) | Self::YMajor(size) = self { Some(size) } else { None }
    }

    /// Threads, if known.
    pub fn threads(self) -> Option<u32> {
        self.size().map(|size| size.iter().product())
    }

    /// How the position along an axis is computed.
    pub fn position(self, axis: u8) -> Position {
        debug_assert!(axis < 3, "axes are x, y and z");
        match (self, axis) {
            (Self::Full(size), _) => full_position(size, axis),
            (Self::YMajor([x, y, z]), 0 | 1) => full_position([y, x, z], 1 - axis),
            (Self::YMajor([x, y, z]), _) => full_position([y, x, z], axis),
            (Self::Line, 0) => Position::linear(),
            (Self::Line, _) => Position::Zero,
            (Self::Any, _) => Position::Computed,
        }
    }
}

fn lane_pattern(f: impl Fn(i64) -> i64) -> [i64; LANES] {
    std::array::from_fn(|lane| f(lane as i64))
}

impl Position {
    /// The linear index in the threadgroup.
    pub fn linear() -> Self {
        Self::Based { divide: 1, modulo: 0, pattern: lane_pattern(|lane| lane) }
    }
}

fn full_position(size: [u32; 3], axis: u8) -> Position {
    assert!(size.iter().all(|&length| length > 0), "threadgroups have threads: {size:?}");
    let [x, y, z] = size;
    let length = [x, y, z][usize::from(axis.min(2))];
    if length == 1 {
        return Position::Zero;
    }
    if u64::from(length) == u64::from(x) * u64::from(y) * u64::from(z) {
        return Position::linear();
    }
    let lanes = LANES as u32;
    let rows = (lanes / x).max(1);
    let (row, plane) = (i64::from(x), i64::from(x) * i64::from(y));
    let whole_rows = x.is_multiple_of(lanes);
    let row_parts = lanes.is_multiple_of(x);
    let uniform = |divide, modulo| Position::Based { divide, modulo, pattern: [0; LANES] };
    match axis {
        0 if whole_rows => Position::Based { divide: 1, modulo: x, pattern: lane_pattern(|lane| lane) },
        0 if row_parts => Position::Known(lane_pattern(|lane| lane % row)),
        1 if whole_rows => uniform(x, y),
        1 if row_parts && y.is_multiple_of(rows) => {
            Position::Based { divide: x, modulo: y, pattern: lane_pattern(|lane| lane / row) }
        }
        1 if row_parts && rows.is_multiple_of(y) => {
            Position::Known(lane_pattern(|lane| lane / row % i64::from(y)))
        }
        2 if (x * y).is_multiple_of(lanes) => uniform(x * y, 0),
        2 if row_parts && rows.is_multiple_of(y) => {
            Position::Based { divide: x * y, modulo: 0, pattern: lane_pattern(|lane| lane / plane) }
        }
        _ => Position::Computed,
    }
}

/// The shape of a query.
pub(super) fn query_shape(geometry: Geometry, query: Query) -> Shape {
    let lanes = match query {
        Query::ThreadIndexInSimdgroup => Affine::known(lane_pattern(|lane| lane)),
        Query::ThreadIndexInQuadgroup => Affine::known(lane_pattern(|lane| lane % 4)),
        Query::QuadgroupIndexInThreadgroup => Affine::based(lane_pattern(|lane| lane / 4), 3),
        Query::ThreadIndexInThreadgroup => return position_shape(geometry, &Position::linear()),
        Query::ThreadPositionInThreadgroup(axis) => {
            return position_shape(geometry, &geometry.position(axis));
        }
        Query::ThreadPositionInGrid(axis) => {
            let position = position_shape(geometry, &geometry.position(axis));
            let size = geometry.size().map_or(1, |size| size[usize::from(axis.min(2))]);
            return grid_position(position, i64::from(size));
        }
        Query::SimdgroupIndexInThreadgroup => Affine::uniform(false),
        Query::ThreadgroupPositionInGrid(_)
        | Query::ThreadsPerGrid(_)
        | Query::ThreadsPerThreadgroup(_)
        | Query::DispatchThreadsPerThreadgroup(_)
        | Query::ThreadgroupsPerGrid(_)
        | Query::SimdgroupsPerThreadgroup
        | Query::DispatchSimdgroupsPerThreadgroup
        | Query::ThreadsPerSimdgroup
        | Query::QuadgroupsPerThreadgroup => Affine::uniform(true),
    };
    Shape::Affine(lanes)
}

fn position_shape(geometry: Geometry, position: &Position) -> Shape {
    let one_simdgroup = geometry.threads().is_some_and(|threads| threads <= LANES as u32);
    match position {
        Position::Zero => Shape::Affine(Affine::known([0; LANES])),
        Position::Known(pattern) => Shape::Affine(Affine::known(*pattern)),
        Position::Based { pattern, .. } if one_simdgroup => Shape::Affine(Affine::known(*pattern)),
        Position::Based { divide, modulo, pattern } => {
            // `first` is a multiple of 32, and a modulo of a multiple keeps common factors.
            let divided = 5_u32.saturating_sub(divide.next_power_of_two().trailing_zeros());
            let align = if divide.is_power_of_two() { divided } else { 0 };
            let align = if *modulo == 0 { align } else { align.min(modulo.trailing_zeros()) };
            Shape::Affine(Affine::based(*pattern, align))
        }
        Position::Computed => Shape::Varying,
    }
}

/// `threadgroup × size + position`.
fn grid_position(position: Shape, size: i64) -> Shape {
    match position {
        Shape::Affine(lanes) => Shape::Affine(Affine {
            align: trailing_zeros(size).min(if lanes.is_constant { 31 } else { lanes.align }),
            is_constant: false,
            ..lanes
        }),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_of_sixteen_are_two_rows() {
        let geometry = Geometry::Full([16, 16, 1]);
        let Shape::Affine(x) = query_shape(geometry, Query::ThreadPositionInThreadgroup(0)) else { panic!() };
        assert!(x.is_constant);
        assert_eq!(x.at(17), 1);
        let Shape::Affine(y) = query_shape(geometry, Query::ThreadPositionInThreadgroup(1)) else { panic!() };
        assert_eq!((y.at(15), y.at(16), y.constant_segments()), (0, 1, Some(2)));
    }

    #[test]
    fn y_major_positions_run_along_y() {
        for size in [[16, 64, 1], [8, 32, 2], [64, 8, 1], [3, 96, 1]] {
            let [x, y, _] = size;
            let threads: u32 = size.iter().product();
            for linear in 0..threads {
                let (first, lane) = (linear / 32 * 32, (linear % 32) as usize);
                let at = |axis| match Geometry::YMajor(size).position(axis) {
                    Position::Zero => 0,
                    Position::Known(pattern) => pattern[lane],
                    Position::Based { divide, modulo, pattern } => {
                        let base = first / divide;
                        i64::from(if modulo == 0 { base } else { base % modulo }) + pattern[lane]
                    }
                    Position::Computed => panic!("there is a rule for {size:?}"),
                };
                let expected = [linear / y % x, linear % y, linear / (x * y)].map(i64::from);
                assert_eq!([at(0), at(1), at(2)], expected, "{size:?} {linear}");
            }
        }
    }

    #[test]
    fn every_position_agrees_with_division() {
        for size in
            [[256, 1, 1], [16, 16, 1], [8, 8, 4], [64, 2, 1], [4, 3, 5], [1, 1, 64], [33, 1, 1], [2, 2, 16]]
        {
            let geometry = Geometry::Full(size);
            let threads: u32 = size.iter().product();
            for first in (0..threads).step_by(LANES) {
                for lane in 0..LANES as u32 {
                    let linear = first + lane;
                    if linear >= threads {
                        break;
                    }
                    let expected =
                        [linear % size[0], linear / size[0] % size[1], linear / (size[0] * size[1])];
                    for axis in 0..3u8 {
                        let got = match geometry.position(axis) {
                            Position::Zero => 0,
                            Position::Known(pattern) => pattern[lane as usize],
                            Position::Based { divide, modulo, pattern } => {
                                let base = first / divide;
                                let base = if modulo == 0 { base } else { base % modulo };
                                i64::from(base) + pattern[lane as usize]
                            }
                            Position::Computed => continue,
                        };
                        assert_eq!(got, i64::from(expected[usize::from(axis)]), "{size:?} {axis} {linear}");
                    }
                }
            }
        }
    }
}
