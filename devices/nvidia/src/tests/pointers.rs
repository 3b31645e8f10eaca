//! Kernels that load pointers: the table of resident buffers, faults through it, addresses that stay.

use anymetal_hal::command::{ResidentBuffer, ResourceUsage};
use anymetal_hal::launch::resident::READ_ONLY;

use super::*;

/// A kernel `follow(device uint* const* x)`: it finds the address that `x` holds in the table and doubles the
/// first number there; through an address in no buffer, and beyond the end of one, it records a fault.
fn follow(launch: &KernelLaunch<'_>, memory: &mut dyn FnMut(u64) -> *mut u8) {
    let p = launch.parameters;
    let (x, record, table, count) = (word(p, 0), word(p, 32), word(p, 48), word(p, 56));
    // SAFETY: the addresses are those of the test's buffers, of the queue's memory and of its table.
    unsafe {
        let address = memory(x).cast::<u64>().read();
        let entry = |at: u64, memory: &mut dyn FnMut(u64) -> *mut u8| {
            let entry = memory(table + 16 * at).cast::<u64>();
            [entry.read(), entry.add(1).read() & !READ_ONLY]
        };
        let entries: Vec<[u64; 2]> = (0..count).map(|at| entry(at, memory)).collect();
        assert!(entries.is_sorted(), "the table is searched by bisection");
        match entries.iter().find(|[base, len]| (*base..base + len).contains(&address)) {
            Some([base, len]) if address + 4 > base + len => {
                note(memory(record), [address - base, *len, *base], memory);
            }
            Some(_) => {
                let number = memory(address).cast::<u32>();
                number.write(2 * number.read());
            }
            None => note(memory(record), [address, 0, 0], memory),
        }
    }
}

/// Writes the record of a fault: offset, length, base.
///
/// # Safety
/// The record is one of the queue's.
unsafe fn note(record: *mut u8, [offset, length, base]: [u64; 3], memory: &mut dyn FnMut(u64) -> *mut u8) {
    // SAFETY: a record has 64 bytes, with the address of its flag at 48.
    unsafe {
        record.cast::<u32>().write(1);
        record.add(4).cast::<u32>().write(0);
        record.add(8).cast::<u64>().write(offset);
        record.add(16).cast::<u64>().write(length);
        record.add(40).cast::<u64>().write(base);
        memory(record.add(48).cast::<u64>().read()).cast::<u32>().write(1);
    }
}

/// The kernel's code, whose fault is of an access through a loaded pointer.
fn follows() -> Arc<Artifact> {
    let mut artifact = (*artifact("fine")).clone();
    artifact.kernels[0].loads_pointers = true;
    artifact.fault_sites[0].argument = None;
    artifact.fault_sites[0].argument_name = String::new();
    Arc::new(artifact)
}

fn named(bench: &Bench, label: &str, values: &[u32]) -> Arc<dyn Buffer> {
    let descriptor = BufferDescriptor::shared(values.len() as u64 * 4).label(label.to_owned());
    let buffer = bench.device.buffer(&descriptor).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    buffer.write(0, &bytes).unwrap();
    buffer
}

/// Runs the kernel with an address and those buffers resident.
fn run(bench: &Bench, address: u64, resident: &[&Arc<dyn Buffer>]) -> Result<(), DeviceError> {
    let pipeline = bench.device.pipeline(&follows(), "twice").unwrap();
    let x = bench.buffer(&[address as u32, (address >> 32) as u32]);
    let resident =
        resident.iter().map(|&buffer| ResidentBuffer::new(Arc::clone(buffer), ResourceUsage::ReadWrite));
    let commands = vec![dispatch(&pipeline, &x, 1, 1)];
    let submission = CommandList::new(commands).resident(resident.collect());
    bench.queue.submit(submission)?.wait().map(drop)
}

#[test]
fn a_kernel_reaches_what_is_resident_and_nothing_else() {
    let bench = Bench::new(follow);
    let (y, z) = (named(&bench, "y", &[1, 2, 3]), named(&bench, "z", &[4]));
    let [to_y, to_z] = [&y, &z].map(|buffer| buffer.gpu_address().unwrap());
    for _ in 0..2 {
        run(&bench, to_y + 4, &[&z, &y]).unwrap();
    }
    run(&bench, to_z, &[&z]).unwrap();
    assert_eq!((values(&y), values(&z)), (vec![1, 8, 3], vec![8]));
    let absent = run(&bench, to_y, &[&z]).unwrap_err().to_string();
    assert!(absent.contains(&format!("{to_y:#x}")), "{absent}");
    let beyond = run(&bench, to_z + 2, &[&z]).unwrap_err().to_string();
    assert!(beyond.contains("`z`"), "{beyond}");
    let other = Bench::new(follow);
    let foreign = run(&bench, to_y, &[&other.buffer(&[1])]);
    assert!(matches!(foreign, Err(DeviceError::WrongDevice { what: "buffer", .. })));
}

#[test]
fn what_has_an_address_for_kernels_moves_no_more() {
    let bench = Bench::new(follow);
    let (y, z) = (bench.buffer(&[1]), bench.buffer(&[2]));
    let address = y.gpu_address();
    assert!(y.contents().is_none());
    assert_eq!(y.gpu_address(), address);
    let host = z.contents().unwrap();
    let address = z.gpu_address().unwrap();
    assert_eq!(z.contents(), Some(host));
    run(&bench, address, &[&z]).unwrap();
    assert_eq!(values(&z), [4]);
}
