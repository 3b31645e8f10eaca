//! One component of a value during emission: scalar bases, or a vector.

use crate::llvm::{self, Builder, FLOAT, HALF, I1, LANES, Opd, vector_const, wrap_int};
use anymetal_analysis::divergence::Affine;

pub(super) use crate::elementwise::Width;

/// A component of a value, in the form that its shape says.
#[derive(Clone, Debug)]
pub(super) enum Lane {
    /// `bases[segment] + pattern[lane]`; the base of an absolute shape is 0.
    Affine {
        /// One per segment.
        bases: Vec<Opd>,
        /// Segments and pattern.
        shape: Affine,
        /// The `i1` under which the form holds, for conditional shapes.
        assumption: Option<Opd>,
    },
    /// A vector.
    Varying(Opd),
}

impl Lane {
    /// A uniform value.
    pub(super) fn uniform(value: Opd) -> Self {
        Self::Affine { bases: vec![value], shape: Affine::uniform(false), assumption: None }
    }

    /// Values known now.
    pub(super) fn known(shape: Affine) -> Self {
        assert!(shape.is_constant, "values known now have no base");
        // The base counts in offsets of pointers only.
        Self::Affine { bases: vec![Opd::i64(0)], shape, assumption: None }
    }

    /// Whether all lanes have one value, for sure.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Self::Affine { shape, .. } if shape.is_uniform() && !shape.is_assumed())
    }

    /// The form of an affine component.
    pub(super) fn affine(&self) -> Option<&Affine> {
        if let Self::Affine { shape, .. } = self { Some(shape) } else { None }
    }

    /// The scalar in a lane; only of affine components.
    pub(super) fn at(&self, t: &mut Builder, element: llvm::Type, lane: usize) -> Opd {
        debug_assert!(lane < LANES, "a SIMD-group has no lane {lane}");
        match self {
            Self::Affine { bases, shape, .. } => {
                assert_eq!(bases.len(), shape.segments, "an affine component has one base per segment");
                let pattern = shape.at(lane);
                if element == I1 {
                    assert!(
                        shape.is_constant || shape.is_uniform(),
                        "booleans do not have a base and a pattern"
                    );
                    return if shape.is_constant { Opd::bool(pattern & 1 == 1) } else { bases[0].clone() };
                }
                // Cleared memory is the only known value of a float.
                let is_float = matches!(element, FLOAT | HALF);
                assert!(!is_float || pattern == 0, "floats do not have a base and a pattern");
                if shape.is_constant && is_float {
                    return Opd::zero(element);
                }
                if shape.is_constant {
                    return Opd::int(element, wrap_int(element, pattern));
                }
                let base = &bases[lane / shape.segment_len()];
                if pattern == 0 { base.clone() } else { t.add(base, pattern) }
            }
            Self::Varying(vector) => t.extract(vector, lane),
        }
    }

    /// The vector; the component must not be conditional.
    pub(super) fn vector(&self, t: &mut Builder, element: llvm::Type) -> Opd {
        let (bases, shape) = match self {
            Self::Varying(vector) => return vector.clone(),
            Self::Affine { bases, shape, .. } => (bases, shape),
        };
        assert!(!shape.is_assumed(), "a conditional component is computed lane by lane");
        assert_eq!(bases.len(), shape.segments, "an affine component has one base per segment");
        if shape.is_constant {
            return vector_const(element, shape.values());
        }
        let base = match bases.as_slice() {
            [one] => t.splat(one),
            many => {
                let n = many.len();
                let mut vector = Opd::poison(many[0].ty().vector(n));
                for (index, base) in many.iter().enumerate() {
                    vector = t.insert(&vector, base, index);
                }
                let picks: Vec<_> = (0..LANES).map(|lane| Some(lane / shape.segment_len())).collect();
                t.pick(&vector, &picks)
            }
        };
        if shape.pattern.is_none() {
            return base;
        }
        let pattern = vector_const(element, shape.values());
        t.add(&base, &pattern)
    }
}
