use anymetal_macros::kernel;

#[kernel]
fn case(y: &mut [f32], #[thread_position] i: u32) {

}

fn main() {}
