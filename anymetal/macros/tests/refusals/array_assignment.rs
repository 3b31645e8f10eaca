use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let mut a = [0.0; 4];
    a = [1.0, 2.0, 3.0, 4.0];
    y[i as usize] = a[0];
}

fn main() {}
