use anymetal_macros::kernel;

#[kernel(fast)]
fn case(y: &mut [f32]) {
    y[0] = 1.0;
}

fn main() {}
