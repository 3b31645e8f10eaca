//! The examples do what they say.
#![allow(clippy::print_stdout, reason = "examples print")]

#[path = "../examples/minitensor.rs"]
mod minitensor;
#[allow(dead_code, reason = "the test calls what the program's main function calls")]
#[path = "../examples/mnist/main.rs"]
mod mnist;
#[path = "../examples/transformer.rs"]
mod transformer;

#[test]
fn the_tour_gives_what_it_asserts() {
    minitensor::main().unwrap();
}

#[test]
fn a_token_at_a_time_gives_the_logits_of_the_whole_sequence() {
    transformer::main().unwrap();
}

#[test]
fn the_net_reaches_its_accuracy() {
    let reached = mnist::train().unwrap();
    assert!(reached >= mnist::REQUIRED, "{reached}");
}
