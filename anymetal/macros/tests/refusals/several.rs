use anymetal_macros::kernel;

/// All mistakes are told at once.
#[kernel]
fn case(y: &mut [f32], #[thread_position_in_grid] i: u32) {
    let a = 1.0 as f64;
    println!("{}", i);
    y[i as usize] = y.iter().sum();
}

fn main() {}
