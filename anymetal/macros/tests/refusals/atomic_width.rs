use anymetal_macros::kernel;

#[kernel]
fn case(x: &[AtomicU64]) {

}

fn main() {}
