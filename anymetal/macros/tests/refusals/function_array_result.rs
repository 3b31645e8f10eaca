use anymetal_macros::device_fn;

#[device_fn]
fn case(x: f32) -> [f32; 2] {
    [x, x]
}

fn main() {}
