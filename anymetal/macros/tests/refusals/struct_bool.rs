use anymetal_macros::DeviceStruct;

#[derive(DeviceStruct)]
#[repr(C)]
struct Flag {
    is_set: bool,
}

fn main() {}
