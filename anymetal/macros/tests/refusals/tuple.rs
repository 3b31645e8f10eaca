use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let pair = (x[0], x[1]);
    y[i as usize] = pair.0;
}

fn main() {}
