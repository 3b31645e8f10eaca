use anymetal_macros::DeviceStruct;

#[derive(DeviceStruct)]
struct Body {
    x: f32,
}

fn main() {}
