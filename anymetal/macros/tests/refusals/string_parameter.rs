use anymetal_macros::kernel;

#[kernel]
fn case(name: &str, y: &mut [f32]) {

}

fn main() {}
