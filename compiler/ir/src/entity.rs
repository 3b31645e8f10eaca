//! Typed indices of everything a module contains.

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The index into the owning table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

entity!(
    /// A value of a function.
    Value, "v"
);
entity!(
    /// An instruction of a function.
    Inst, "i"
);
entity!(
    /// A block (a structured region) of a function.
    Block, "b"
);
entity!(
    /// A memory variable of a function, one per thread and activation.
    Local, "l"
);
entity!(
    /// The name of a loop, switch or scope that can be left.
    Label, "label"
);
entity!(
    /// A function of a module.
    FuncId, "f"
);
entity!(
    /// A constant datum of a module.
    GlobalId, "g"
);
entity!(
    /// A threadgroup variable of a module.
    ThreadgroupId, "tg"
);
entity!(
    /// A function constant of a module (position in its table, not the MSL index).
    FunctionConstantId, "fc"
);
