//! Textures that move, are restored and are lost as buffers are.

use super::*;
use crate::manager::{Durability, ManagedTexture};
use anymetal::texture::TextureKind;
use anymetal::{PixelFormat, SamplerDescriptor, TextureDescriptor};

const PICTURES: &str = "
    #include <metal_stdlib>
    using namespace metal;
    kernel void brighten(texture2d<uint, access::read> from [[texture(0)]], texture2d<uint, access::write> to [[texture(1)]],
                         uint2 at [[thread_position_in_grid]]) { to.write(from.read(at) + 1, at); }
    kernel void count_up(texture2d<uint, access::read_write> x [[texture(0)]], uint2 at [[thread_position_in_grid]]) {
      x.write(x.read(at) + 1, at);
    }
    kernel void halve(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                      sampler s [[sampler(0)]], constant float& factor, uint2 at [[thread_position_in_grid]]) {
      float2 size = float2(to.get_width(), to.get_height());
      to.write(factor * from.sample(s, (float2(at) + 0.5f) / size), at);
    }";

fn pictures(bench: &Bench, name: &str) -> ManagedKernel {
    bench.manager.kernel(PICTURES, name).unwrap()
}

/// Five by three texels of 32 bits: rows of 20 bytes, which begin at multiples of 16.
fn counted(bench: &Bench, durability: Durability) -> ManagedTexture {
    let shape = TextureDescriptor::plane(PixelFormat::R32Uint, 5, 3);
    let texture = bench.manager.texture_with(&shape, "picture", durability).unwrap();
    texture.write(&(0..15).collect::<Vec<u32>>()).unwrap();
    texture
}

fn from(first: u32) -> Vec<u32> {
    (first..first + 15).collect()
}

fn half_written(number: u64) -> FaultPlan {
    no_faults().partial_writes(Faults::at(number, ErrorClass::Transient))
}

fn count_up(bench: &Bench, texture: &ManagedTexture) -> Result<Execution, ManagerError> {
    let kernel = pictures(bench, "count_up");
    bench.run(bench.manager.launch(&kernel).texture(0, texture).threads((5, 3)).execute_async())
}

#[test]
fn a_launch_reads_one_texture_and_writes_another_on_the_device_that_is_left() {
    let bench = Bench::new(&[("a", refusals(1, ErrorClass::Lost)), ("b", no_faults())], policies());
    let (x, y) = (counted(&bench, Durability::Uploaded), counted(&bench, Durability::Uploaded));
    let brighten = pictures(&bench, "brighten");
    let launch = bench.manager.launch(&brighten).texture(0, &x).texture(1, &y).threads((5, 3));
    assert_eq!(path(bench.run(launch.execute_async())), "a lost @0ns+0ns, fallback b ok @0ns+0ns");
    assert_eq!((x.read::<u32>().unwrap(), y.read::<u32>().unwrap()), (from(0), from(1)));
    assert_eq!(y.read_slice::<u32>(0, 0).unwrap(), from(1));
}

#[test]
fn a_texture_that_is_changed_in_place_is_restored_before_the_work_runs_again() {
    for durability in [Durability::Uploaded, Durability::HostCopy] {
        let bench = Bench::new(&[("a", half_written(1))], policies());
        let x = counted(&bench, durability);
        count_up(&bench, &x).unwrap();
        let execution = count_up(&bench, &x);
        assert_eq!(path(execution), "a transient @0ns+0ns, retry restored a ok @100ms+0ns");
        assert_eq!(bench.events(), ["retry a/0", "restored 1"]);
        assert_eq!(x.read::<u32>().unwrap(), from(2));
    }
}

#[test]
fn a_part_that_is_written_leaves_the_others_as_they_were_after_a_failed_attempt() {
    let bench = Bench::new(&[("a", half_written(0))], policies());
    let (x, y) = (counted(&bench, Durability::Uploaded), counted(&bench, Durability::Uploaded));
    let brighten = pictures(&bench, "brighten");
    let launch = bench.manager.launch(&brighten).texture(0, &x).texture(1, &y).threads((5, 1));
    bench.run(launch.execute_async()).unwrap();
    let mut expected = from(0);
    (0..5).for_each(|at| expected[at] += 1);
    assert_eq!(y.read::<u32>().unwrap(), expected);
}

#[test]
fn the_contents_of_a_texture_are_lost_with_its_device_until_they_are_written() {
    let bench = Bench::new(&[("a", no_faults()), ("b", no_faults())], policies());
    let (x, kept) = (counted(&bench, Durability::Uploaded), counted(&bench, Durability::HostCopy));
    count_up(&bench, &x).unwrap();
    count_up(&bench, &kept).unwrap();
    bench.faults[0].lose();
    let (brighten, to) = (pictures(&bench, "brighten"), counted(&bench, Durability::Uploaded));
    let launch = bench.manager.launch(&brighten).texture(0, &x).texture(1, &to).threads((5, 3));
    let lost = bench.run(launch.execute_async()).unwrap_err();
    assert!(matches!(&lost, ManagerError::ContentsLost { label, .. } if label == "picture"), "{lost:?}");
    assert_eq!((x.read::<u32>().unwrap_err(), bench.manager.lost().len()), (lost, 1));
    count_up(&bench, &kept).unwrap();
    assert_eq!(kept.read::<u32>().unwrap(), from(2));
    x.write(&from(7)).unwrap();
    assert_eq!(&*count_up(&bench, &x).unwrap().device, "b");
    assert_eq!((x.read::<u32>().unwrap(), bench.manager.lost().len()), (from(8), 0));
    x.discard();
    assert_eq!(x.read::<u32>().unwrap(), [0; 15]);
}

#[test]
fn samplers_values_and_checks_of_results_go_with_textures() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let shape = |width| TextureDescriptor::plane(PixelFormat::R32Float, width, 1);
    let (x, y) = (bench.manager.texture(&shape(2)).unwrap(), bench.manager.texture(&shape(4)).unwrap());
    x.write(&[2.0f32, 6.0]).unwrap();
    let halve = pictures(&bench, "halve");
    let launch = bench.manager.launch(&halve).texture(0, &x).texture(1, &y);
    let launch = launch.sampler(0, &SamplerDescriptor::default()).arg(0.5f32).threads((4, 1));
    let seen = std::sync::Mutex::new(Vec::new());
    let launch = launch.verify(|produced| {
        *lock(&seen) = produced.read_texture::<f32>(&y)?;
        Ok(true)
    });
    bench.run(launch.execute_async()).unwrap();
    assert_eq!(
        (y.read::<f32>().unwrap(), lock(&seen).clone()),
        (vec![1.0f32, 1.0, 3.0, 3.0], vec![1.0, 1.0, 3.0, 3.0])
    );
    let float = counted(&bench, Durability::Uploaded);
    let wrong = bench.manager.launch(&halve).texture(0, &float).texture(1, &y);
    let wrong = wrong.sampler(0, &SamplerDescriptor::default()).arg(0.5f32).threads((4, 1));
    let message = bench.run(wrong.execute_async()).unwrap_err().to_string();
    assert!(message.contains("`from` is a `texture2d<float") && message.contains("r32uint"), "{message}");
}

#[test]
fn slices_and_levels_are_read_and_written_by_themselves() {
    let bench = Bench::new(&[("a", no_faults())], policies());
    let shape = TextureDescriptor::plane(PixelFormat::R8Unorm, 3, 2);
    let shape = shape.of_kind(TextureKind::D2Array).with_array_length(2).with_levels(2);
    let texture = bench.manager.texture(&shape).unwrap();
    texture.write(&(1..=12).collect::<Vec<u8>>()).unwrap();
    texture.write_slice(0, 1, &[20u8, 21, 22, 23, 24, 25]).unwrap();
    texture.write_slice(1, 1, &[9u8]).unwrap();
    assert_eq!(texture.read::<u8>().unwrap(), [1, 2, 3, 4, 5, 6, 20, 21, 22, 23, 24, 25]);
    assert_eq!(texture.read_slice::<u8>(0, 0).unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!([0, 1].map(|slice| texture.read_slice::<u8>(1, slice).unwrap()), [[0], [9]]);
    assert!(texture.read_slice::<u8>(2, 0).is_err() && texture.read_slice::<u8>(0, 2).is_err());
    assert!(texture.read_slice::<u32>(0, u32::MAX).is_err() && texture.write(&[0u8; 11]).is_err());
    assert!(texture.read::<[u8; 5]>().is_err() && texture.write_slice(1, 0, &[0u8; 2]).is_err());
    let endless = TextureDescriptor::plane(PixelFormat::Rgba32Float, u32::MAX, u32::MAX);
    assert!(bench.manager.texture(&endless).is_err());
}
