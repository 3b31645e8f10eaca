//! Tensors that the host binds: shapes beside elements, and what is said of shapes that do not fit.

use anymetal::tensor::{ShapeError, TensorShape};
use anymetal::texture::TextureError;
use anymetal::{Device, Error, Library, Pipeline};

const KERNELS: &str = "
    #include <metal_stdlib>
    #include <metal_tensor>
    using namespace metal;
    kernel void transpose(tensor<device const float, dextents<int, 2>> from, tensor<device float, dextents<int, 2>> to,
                          uint2 at [[thread_position_in_grid]]) {
      to[at.y, at.x] = from[at.x, at.y];
    }
    kernel void scale(device float* x, constant float& by, uint i [[thread_position_in_grid]]) { x[i] *= by; }";

fn setup() -> (Device, Library) {
    let device = Device::system_default().expect("there is one");
    let library = device.library_from_source(KERNELS).expect("it compiles");
    (device, library)
}

fn pipeline(library: &Library, name: &str) -> Pipeline {
    library.pipeline(name).expect("it is there")
}

#[test]
fn elements_have_their_places_by_the_shape() {
    let (device, library) = setup();
    let pipeline = pipeline(&library, "transpose");
    let from = device.buffer(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("memory");
    let to = device.buffer(&[0.0f32; 11]).expect("memory");
    let queue = device.queue().expect("a queue");
    let launch = queue.launch(&pipeline).arg(&from).arg(&to);
    let launch = launch.tensor_shape(0, &TensorShape::new(&[3, 2]).expect("a shape"));
    let rows = TensorShape::with_strides(&[2, 3], &[1, 4]).expect("a shape");
    launch.tensor_shape(1, &rows).threads((3, 2)).run().expect("it runs");
    assert_eq!(to.read().expect("it is read"), [1.0, 4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0, 0.0]);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let (device, library) = setup();
    let transpose = pipeline(&library, "transpose");
    let scale = pipeline(&library, "scale");
    let x = device.buffer(&[0.0f32; 6]).expect("memory");
    let queue = device.queue().expect("a queue");
    let shape = TensorShape::new(&[3, 2]).expect("a shape");
    let with = |pipeline, index, shape: &TensorShape| {
        let launch = queue.launch(pipeline).arg_at(0, &x).arg_at(1, &x);
        launch.tensor_shape(index, shape).threads((3, 2)).run().expect_err("it is refused")
    };
    let flat = TensorShape::new(&[6]).expect("a shape");
    let rank = with(&transpose, 1, &flat);
    assert!(matches!(rank, Error::TensorRank { expected: 2, got: 1, .. }), "{rank:?}");
    assert_eq!(
        rank.to_string(),
        "kernel `transpose`: tensor `to` has 2 dimensions, but the shape given has 1"
    );
    let none = with(&scale, 0, &shape);
    assert!(matches!(none, Error::Texture(TextureError::NoSuchArgument { .. })), "{none:?}");
    assert_eq!(none.to_string(), "kernel `scale` has no tensor 0; it has none");
    let missing = with(&transpose, 0, &shape).to_string();
    assert!(missing.contains("the shape of the tensor at argument 1"), "{missing}");
    assert_eq!(TensorShape::new(&[0; 20]), Err(ShapeError::Rank { rank: 20 }));
}
