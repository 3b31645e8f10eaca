use anymetal_macros::kernel;

#[kernel]
fn case(f: fn(f32) -> f32, y: &mut [f32]) {

}

fn main() {}
