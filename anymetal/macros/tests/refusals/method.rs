use anymetal_macros::kernel;

#[kernel]
fn case(&self, y: &mut [f32]) {
    y[0] = 1.0;
}

fn main() {}
