//! Outputs so large that they are written past the caches: each byte is the right one, and nothing else is.

use anymetal::{Device, Error};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
kernel void iota(device uint* out, uint i [[thread_position_in_grid]]) { out[i] = i * 2654435761u; }
kernel void quads(device uint4* out, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i < n) { out[i] = uint4(4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3) * 2654435761u; }
}
kernel void shorts(device ushort* out, uint i [[thread_position_in_grid]]) { out[i] = ushort(i * 40503u); }
";

/// More than what is kept in caches, and not a multiple of anything.
const COUNT: usize = (9 << 20) + 77;

fn hash(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761)
}

#[test]
fn every_element_of_a_large_output_is_written() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let queue = device.queue()?;
    // The last elements are nobody's; a start off the line's boundary goes through the caches.
    for (first, threads) in [(0, COUNT - 5), (16, COUNT - 20), (1, COUNT - 9)] {
        let out = device.buffer(&vec![7u32; COUNT])?;
        let view = out.view(first..COUNT)?;
        queue
            .launch(&library.pipeline("iota")?)
            .arg(&view)
            .threads(threads)
            .group_size(96)
            .submit()?
            .wait()?;
        let read = out.read()?;
        assert!(read[..first].iter().all(|&x| x == 7));
        assert!((0..threads).all(|i| read[first + i] == hash(i)), "{first}");
        assert!(read[first + threads..].iter().all(|&x| x == 7));
    }
    Ok(())
}

#[test]
fn vectors_and_shorts_too() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let queue = device.queue()?;
    let quads = COUNT / 4 - 3;
    let out = device.buffer(&vec![7u32; COUNT])?;
    let pipeline = library.pipeline("quads")?;
    let launch = queue.launch(&pipeline).arg(&out).arg(quads as u32);
    launch.threads(quads + 100).group_size(128).submit()?.wait()?;
    let read = out.read()?;
    assert!((0..4 * quads).all(|i| read[i] == hash(i)));
    assert!(read[4 * quads..].iter().all(|&x| x == 7));

    let shorts = 2 * COUNT;
    let out = device.buffer(&vec![7u16; shorts])?;
    queue.launch(&library.pipeline("shorts")?).arg(&out).threads(shorts).group_size(256).submit()?.wait()?;
    let expected = |i: usize| (i as u16).wrapping_mul(40503);
    assert!(out.read()?.iter().enumerate().all(|(i, &x)| x == expected(i)));
    Ok(())
}
