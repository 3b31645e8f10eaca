use anymetal_macros::kernel;

#[kernel]
fn case(x: *const f32, y: &mut [f32]) {

}

fn main() {}
