use anymetal_macros::kernel;

#[kernel]
fn case(x: Option<f32>, y: &mut [f32]) {

}

fn main() {}
