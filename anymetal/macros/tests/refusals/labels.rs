use anymetal_macros::kernel;

#[kernel]
fn case(x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
    'outer: for k in 0..4 {
        for j in 0..4 {
            if j > k {
                continue 'outer;
            }
        }
    }
}

fn main() {}
