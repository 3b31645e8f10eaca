use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let v = x.first()?;
    y[i as usize] = *v;
}

fn main() {}
