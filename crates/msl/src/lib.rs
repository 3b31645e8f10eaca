//! Metal Shading Language front end: source text to IR.
