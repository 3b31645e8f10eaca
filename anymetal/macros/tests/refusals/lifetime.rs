use anymetal_macros::kernel;

#[kernel]
fn case<'a>(x: &'a [f32], y: &mut [f32]) {
    y[0] = x[0];
}

fn main() {}
