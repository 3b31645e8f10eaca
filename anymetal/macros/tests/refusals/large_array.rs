use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let a = [1.0; 100];
    y[i as usize] = a[0];
}

fn main() {}
