use anymetal_macros::kernel;

#[kernel]
fn case(y: &mut [f32], #[thread_position_in_grid] i: usize) {

}

fn main() {}
