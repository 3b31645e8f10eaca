use anymetal_macros::kernel;

#[kernel]
fn case(y: &mut [f32], #[threadgroup] shared: f32) {

}

fn main() {}
