use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    for k in (0..8).step_by(2).rev() {
        y[k] = 0.0;
    }
}

fn main() {}
