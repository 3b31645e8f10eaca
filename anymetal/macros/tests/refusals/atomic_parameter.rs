use anymetal_macros::kernel;

#[kernel]
fn case(x: &AtomicU32) {

}

fn main() {}
