//! Interpreter of the IR: the oracle, and the seat of the sanitizers.
