use anymetal_macros::kernel;

#[kernel]
fn case(y: &mut [f32], #[thread_position_in_grid] i: [u32; 4]) {

}

fn main() {}
