use anymetal_macros::kernel;

#[kernel]
fn case(y: &mut [f32], #[threads_per_grid] #[thread_position_in_grid] i: u32) {

}

fn main() {}
