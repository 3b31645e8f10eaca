use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let part = x[1..3];
}

fn main() {}
