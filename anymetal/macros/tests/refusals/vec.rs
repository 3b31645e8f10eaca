use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let values = vec![1.0, 2.0];
    y[i as usize] = values[0];
}

fn main() {}
