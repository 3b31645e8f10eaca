use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let double = |v: f32| v * 2.0;
    y[i as usize] = double(x[0]);
}

fn main() {}
