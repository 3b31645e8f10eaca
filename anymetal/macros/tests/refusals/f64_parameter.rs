use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f64], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    y[i as usize] = 0.0;
}

fn main() {}
