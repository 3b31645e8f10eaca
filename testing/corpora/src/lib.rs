//! Nothing: this package only names dependencies.
