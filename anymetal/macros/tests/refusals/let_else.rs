use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let Some(v) = x.get(0) else { return };
    y[i as usize] = *v;
}

fn main() {}
