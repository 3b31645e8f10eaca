use anymetal_macros::kernel;

#[kernel]
fn case(x: [f32; 4], y: &mut [f32]) {

}

fn main() {}
