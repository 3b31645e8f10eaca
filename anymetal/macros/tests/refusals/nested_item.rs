use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    fn helper(v: f32) -> f32 {
        v
    }
    y[i as usize] = helper(x[0]);
}

fn main() {}
