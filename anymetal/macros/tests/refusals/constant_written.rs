use anymetal_macros::kernel;

#[kernel]
fn case(#[constant] table: &mut [f32]) {

}

fn main() {}
