//! Address spaces, as a lattice: what is known of what a pointer refers to.

/// An address space, or what is known instead.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) enum Space {
    /// Nothing is known yet.
    #[default]
    Unknown,
    /// Null pointers and values that are in no memory: any space will do.
    Any,
    Thread,
    Device,
    Threadgroup,
    Constant,
    /// More than one.
    Mixed,
}

impl Space {
    /// What is known of a pointer that may be either.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, known) | (known, Self::Unknown) => known,
            (Self::Any, known) | (known, Self::Any) => known,
            (one, other) if one == other => one,
            _ => Self::Mixed,
        }
    }

    /// What the objects that a pointer with a number of stars refers to point to: device memory, if they are
    /// pointers.
    pub(super) fn behind(stars: usize) -> Self {
        if stars > 1 { Self::Device } else { Self::Any }
    }

    /// Whether it is one of Metal's.
    pub(super) fn is_known(self) -> bool {
        !matches!(self, Self::Unknown | Self::Any | Self::Mixed)
    }

    /// This, or another if it is none of Metal's.
    pub(super) fn or(self, other: Self) -> Self {
        if self.is_known() { self } else { other }
    }

    /// In MSL.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Thread => "thread",
            Self::Threadgroup => "threadgroup",
            Self::Constant => "constant",
            Self::Device | Self::Unknown | Self::Any | Self::Mixed => "device",
        }
    }
}

/// What is known of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Value {
    /// What it points to, if it is a pointer or an array.
    pub(super) points: Space,
    /// What the pointer that it points to points to.
    pub(super) then: Space,
    /// Where it is.
    pub(super) lives: Space,
    /// The extents that it has as an array.
    pub(super) arrays: usize,
}

impl Value {
    /// A value in no memory.
    pub(super) fn rvalue(points: Space, then: Space) -> Self {
        Self { points, then, lives: Space::Any, arrays: 0 }
    }

    /// `*e` and `e[i]`.
    pub(super) fn element(self) -> Self {
        if self.arrays > 1 {
            return Self { arrays: self.arrays - 1, ..self };
        }
        let (points, then) = (self.then, Space::Unknown);
        Self { points, then, lives: self.points, arrays: 0 }
    }

    /// `&e`.
    pub(super) fn address(self) -> Self {
        Self::rvalue(self.lives, self.points)
    }
}
