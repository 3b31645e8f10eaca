use anymetal_macros::kernel;

#[kernel]
fn case(count: &mut u32) {
    *count = 1;
}

fn main() {}
