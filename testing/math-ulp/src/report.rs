//! The table of `docs/math-accuracy.md`.
