use anymetal_macros::device_fn;

#[device_fn]
fn case(x: &[f32]) -> f32 {
    let mut sum = 0.0;
    for k in 0..x.len() {
        sum += x[k];
    }
    sum
}

fn main() {}
