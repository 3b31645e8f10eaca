//! The parser's own tests; whole programs are tested through the checker.
