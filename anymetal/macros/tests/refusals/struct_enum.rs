use anymetal_macros::DeviceStruct;

#[derive(DeviceStruct)]
#[repr(C)]
enum Kind {
    A,
}

fn main() {}
