//! Threads of a program have any stack: kernels whose frames are large run on workers.

use anymetal::{Device, Error};

/// Eight arrays of 200 numbers for each thread, 200 KiB for a SIMD-group, indexed so that none is left out.
fn source() -> String {
    let names: Vec<String> = (0..8).map(|n| format!("a{n}")).collect();
    let declared: String = names.iter().map(|name| format!("int {name}[200];\n")).collect();
    let written: String = names
        .iter()
        .enumerate()
        .map(|(n, name)| format!("{name}[(i * {} + j) % 200] = j;\n", n + 1))
        .collect();
    let read: String = names.iter().map(|name| format!("sum += {name}[(j * 7 + i) % 200];\n")).collect();
    format!(
        "#include <metal_stdlib>\nusing namespace metal;\n\
         kernel void k(device int* out, uint i [[thread_position_in_grid]]) {{\n\
         {declared} for (uint j = 0; j < 200; j++) {{ {written} }}\n\
         int sum = 0; for (uint j = 0; j < 200; j++) {{ {read} }}\n out[i] = sum; }}\n"
    )
}

#[test]
fn a_thread_with_little_stack_waits_for_a_kernel_that_needs_much() -> Result<(), Error> {
    let library = Device::system_default()?.library_from_source(&source())?;
    let (pipeline, queue) = (library.pipeline("k")?, library.device().queue()?);
    let out = library.device().buffer(&[0i32; 32])?;
    let run = || -> Result<Vec<i32>, Error> {
        // Often enough that the kernel would count as brief.
        for _ in 0..40 {
            queue.launch(&pipeline).arg(&out).threads(32).group_size(32).submit()?.wait()?;
        }
        out.read()
    };
    let small = std::thread::Builder::new().stack_size(96 << 10);
    let read = std::thread::scope(|scope| {
        let thread = small.spawn_scoped(scope, run).expect("a thread starts");
        thread.join().expect("the thread lives")
    })?;
    // Every number 0 to 199 is in each array once, and read once.
    assert_eq!(read, vec![8 * (199 * 200 / 2); 32]);
    Ok(())
}
