//! Indirect command buffers that kernels encode: what is executed, ranges and nesting whose counts are on the
//! device, what host and kernels leave each other, and what a kernel's garbage is answered with.
//!
//! covers: MSL 6.16
//! oracle: exact

use anymetal::command::{
    EncodingError, IndirectCommandBuffer, IndirectCommandBufferDescriptor, InvalidCommand,
};
use anymetal::error::DeviceError;
use anymetal::{CheckMode, CompileOptions, Device, Error, Library, LibraryDescriptor, Queue, Submission};

const SOURCE: &str = r#"
#include <metal_stdlib>
#include <metal_command_buffer>
using namespace metal;

struct Arguments {
    command_buffer commands [[id(0)]];
    array<compute_pipeline_state, 2> pipelines [[id(1)]];
};

// A method of a type of the program's, called from a function: the record goes along.
struct Writer {
    compute_command command;
    void target(device uint* at) { command.set_kernel_buffer(at, 0); }
};

void encode_one(constant Arguments& arguments, uint i, device uint* out, constant uint& factor) {
    Writer writer = { compute_command(arguments.commands, i) };
    writer.command.reset();
    writer.command.set_compute_pipeline_state(arguments.pipelines[i % 2]);
    writer.target(out + 8 * i);
    writer.command.set_kernel_buffer(&factor, 1);
    writer.command.set_threadgroup_memory_length(16 * (i % 2 + 1), 0);
    if (i % 2 == 0) writer.command.concurrent_dispatch_threads(uint3(i + 1, 1, 1), uint3(4, 1, 1));
    else writer.command.concurrent_dispatch_threadgroups(uint3(2, 1, 1), uint3(4, 1, 1));
}

kernel void encode(constant Arguments& arguments [[buffer(0)]], device uint* out [[buffer(1)]],
                   constant uint& factor [[buffer(2)]], device atomic_uint* range [[buffer(3)]],
                   uint i [[thread_position_in_grid]]) {
    if (i % 4 == 3) return;
    encode_one(arguments, i, out, factor);
    atomic_fetch_add_explicit(range + 1, 1u, memory_order_relaxed);
}

kernel void scale(device uint* out [[buffer(0)]], constant uint& factor [[buffer(1)]],
                  uint i [[thread_position_in_grid]]) { out[i] = (i + 1) * factor; }

kernel void through_memory(device uint* out [[buffer(0)]], constant uint& factor [[buffer(1)]],
                           threadgroup uint* memory [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                           uint lane [[thread_position_in_threadgroup]]) {
    memory[lane] = 100 + i;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = memory[lane ^ 1] + factor;
}

struct Edits { command_buffer from; command_buffer to; };
kernel void copy_back(constant Edits& edits [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    compute_command(edits.to, 3 - i).copy_command(compute_command(edits.from, i));
    if (i == 2) compute_command(edits.to, 1).reset();
}

struct Garbage { command_buffer commands; compute_pipeline_state pipeline; };
kernel void garbage(constant Garbage& arguments [[buffer(0)]], device uint* out [[buffer(1)]],
                    constant uint& what [[buffer(2)]]) {
    compute_command command(arguments.commands, what == 7 ? 1000u : 0u);
    command.set_compute_pipeline_state(arguments.pipeline);
    command.set_kernel_buffer(out, 0);
    command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(4, 1, 1));
    if (what == 1) command.set_kernel_buffer(out, 9);
    if (what == 2) command.set_threadgroup_memory_length(16, 5);
    if (what == 3) command.set_kernel_buffer(out + 100000, 1);
    if (what == 4) command.set_compute_pipeline_state(compute_pipeline_state{ 123456789 });
    if (what == 5) command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(0, 1, 1));
    if (what == 6) command.concurrent_dispatch_threads(uint3(4, 1, 1), uint3(100000, 1, 1));
    if (what == 8) command.set_kernel_buffer(out, 16, 0);
    if (what == 9) command.set_kernel_buffer((device uint*)nullptr, 0);
    if (what == 10) command.set_stage_in_region(uint3(0), uint3(1));
}

// Writes whatever it is given where commands are.
kernel void scribble(constant command_buffer& commands [[buffer(0)]], constant uint* words [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
    compute_command command(commands, 0);
    command.__words[command.__at + i] = words[i];
}

// Each level encodes the next into the other indirect command buffer, until none is left.
struct Levels { command_buffer buffers[2]; compute_pipeline_state descend; };
kernel void descend(constant Levels& levels [[buffer(0)]], device uint* state [[buffer(1)]]) {
    uint level = state[0]++;
    device uint* range = state + 2 + 2 * (level % 2);
    range[1] = 0;
    if (level >= state[1]) return;
    compute_command next(levels.buffers[level % 2], 0);
    next.reset();
    next.set_compute_pipeline_state(levels.descend);
    next.set_kernel_buffer(&levels, 0);
    next.set_kernel_buffer(state, 1);
    next.concurrent_dispatch_threadgroups(uint3(1), uint3(1));
    range[1] = 1;
}
"#;

struct Setup {
    device: Device,
    library: Library,
    queue: Queue,
}

/// With machine code, and in the interpreter under the sanitizer.
fn setups() -> Result<[Setup; 2], Error> {
    let device = Device::system_default()?;
    let make = |check_mode| {
        let options = CompileOptions::new().check_mode(check_mode);
        let library = device.create_library(&LibraryDescriptor::from_source(SOURCE).options(&options))?;
        Ok::<_, Error>(Setup { device: device.clone(), library, queue: device.queue()? })
    };
    Ok([make(CheckMode::Bounds)?, make(CheckMode::Sanitize)?])
}

impl Setup {
    fn indirect(&self, commands: u32) -> Result<IndirectCommandBuffer, Error> {
        let descriptor =
            IndirectCommandBufferDescriptor::new(commands, 2).threadgroup_memories(1).label("commands");
        self.device.indirect_command_buffer(&descriptor)
    }
}

/// What `encode` and then the commands write to 8 elements for each command.
fn expected(commands: u32, executed: impl Fn(u32) -> bool, factor: u32) -> Vec<u32> {
    let mut out = vec![0; 8 * commands as usize];
    for command in (0..commands).filter(|&command| command % 4 != 3 && executed(command)) {
        let own = &mut out[8 * command as usize..][..8];
        match command % 2 {
            0 => (0..=command).take(8).for_each(|i| own[i as usize] = (i + 1) * factor),
            _ => (0..8).for_each(|i| own[i as usize] = 100 + (i ^ 1) + factor),
        }
    }
    out
}

#[test]
fn kernels_encode_commands_that_run_in_the_same_command_buffer() -> Result<(), Error> {
    for setup in setups()? {
        let Setup { device, library, queue } = &setup;
        let indirect = setup.indirect(8)?;
        let pipelines = ["encode", "scale", "through_memory"].map(|name| library.pipeline(name));
        let [encode, scale, through_memory] = pipelines;
        let (encode, scale, through_memory) = (encode?, scale?, through_memory?);
        let arguments =
            [&indirect.gpu_resource_id(), &scale.gpu_resource_id(), &through_memory.gpu_resource_id()];
        let arguments = device.buffer(&arguments.map(|&id| id))?;
        let (factor, range) = (device.buffer(&[3u32])?, device.buffer(&[1u32, 0])?);
        let out = device.buffer_zeroed::<u32>(64)?;
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&encode);
        encoder.use_indirect_command_buffer(&indirect)?;
        encoder.set_buffer(0, &arguments, 0)?;
        encoder.set_buffer(1, &out, 0)?;
        encoder.set_buffer(2, &factor, 0)?;
        encoder.set_buffer(3, &range, 0)?;
        encoder.dispatch_threads(8, 4)?;
        encoder.execute_commands_indirect(&indirect, &range.view(0..2)?)?;
        encoder.end_encoding();
        commands.commit()?.wait()?;
        // The range begins with command 1 and has as many as were encoded, 6; commands 3 and 7 were not.
        assert_eq!(out.read()?, expected(8, |command| (1..7).contains(&command), 3));

        // Later, by another command buffer, which says what it uses; all of them.
        out.write(&[0; 64])?;
        factor.write(&[5])?;
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.use_buffer(&out);
        encoder.use_buffer(&factor);
        encoder.execute_commands(&indirect, 0..8)?;
        encoder.end_encoding();
        commands.commit()?.wait()?;
        assert_eq!(out.read()?, expected(8, |_| true, 5));
    }
    assert_eq!(anymetal::sanitizer::findings(), [], "encoding is seen through, and is right");
    Ok(())
}

#[test]
fn commands_are_copied_and_reset_by_kernels_and_edited_by_the_host() -> Result<(), Error> {
    for setup in setups()? {
        let Setup { device, library, queue } = &setup;
        let (from, to) = (setup.indirect(4)?, setup.indirect(4)?);
        let (scale, copy_back) = (library.pipeline("scale")?, library.pipeline("copy_back")?);
        let (out, factor) = (device.buffer_zeroed::<u32>(32)?, device.buffer(&[1u32])?);
        for index in 0..3 {
            let mut command = from.command(index)?;
            command.set_pipeline(&scale)?.set_buffer(0, &out, 8 * index as usize)?;
            command.set_buffer(1, &factor, 0)?.dispatch_threads(4, 4)?;
        }
        let edits = device.buffer(&[from.gpu_resource_id(), to.gpu_resource_id()])?;
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&copy_back);
        encoder.use_indirect_command_buffer(&from)?;
        encoder.use_indirect_command_buffer(&to)?;
        encoder.set_buffer(0, &edits, 0)?;
        encoder.dispatch_threads(3, 3)?;
        encoder.end_encoding();
        commands.commit()?.wait()?;
        // Command 1 of `to` is none; what the kernel left is changed in part.
        to.command(2)?.dispatch_threads(2, 2)?;
        from.reset(0..4)?;
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.use_buffer(&out);
        encoder.use_buffer(&factor);
        encoder.execute_commands(&from, 0..4)?;
        encoder.execute_commands(&to, 0..4)?;
        encoder.end_encoding();
        commands.commit()?.wait()?;
        let out = out.read()?;
        assert_eq!(out[..12], [1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 0, 0]);
        assert!(out[12..].iter().all(|&x| x == 0), "{out:?}");
    }
    Ok(())
}

/// Encodes one command, wrong in that way, and executes it.
fn wrong(setup: &Setup, what: u32) -> Result<DeviceError, Error> {
    let indirect = setup.indirect(2)?;
    let (garbage, through) = (setup.library.pipeline("garbage")?, setup.library.pipeline("through_memory")?);
    let scale = setup.library.pipeline("scale")?;
    let target = if what == 11 { &through } else { &scale };
    let arguments = setup.device.buffer(&[indirect.gpu_resource_id(), target.gpu_resource_id()])?;
    let out = setup.device.buffer_zeroed::<u32>(64)?;
    let mut commands = setup.queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&garbage);
    if what != 12 {
        encoder.use_indirect_command_buffer(&indirect)?;
    }
    encoder.set_buffer(0, &arguments, 0)?;
    encoder.set_buffer(1, &out, 0)?;
    encoder.set_bytes(2, &what);
    encoder.dispatch_threads(1, 1)?;
    encoder.execute_commands(&indirect, 0..1)?;
    encoder.end_encoding();
    failure(commands.commit()?)
}

fn failure(submission: Submission) -> Result<DeviceError, Error> {
    match submission.wait() {
        Err(Error::Device(error)) => Ok(error),
        Err(Error::Exec(error)) => match *error {
            anymetal::error::ExecError::Device(error) => Ok(error),
            other => panic!("{other}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_kernel_encodes_wrong_is_an_error_of_its_command() -> Result<(), Error> {
    let [setup, _] = setups()?;
    let reason = |what| match wrong(&setup, what)? {
        DeviceError::InvalidCommand { label, command: 0, reason } if label == "commands" => {
            Ok::<_, Error>(*reason)
        }
        other => panic!("{what}: {other}"),
    };
    assert_eq!(reason(1)?, InvalidCommand::Encoding(EncodingError::BufferIndex));
    assert_eq!(reason(2)?, InvalidCommand::Encoding(EncodingError::ThreadgroupMemoryIndex));
    assert_eq!(reason(3)?, InvalidCommand::Encoding(EncodingError::NotInBuffer));
    assert_eq!(reason(4)?, InvalidCommand::UnknownPipeline { handle: 123_456_789 });
    let empty = wrong(&setup, 5)?;
    assert!(matches!(&empty, DeviceError::GroupEmpty { kernel, .. } if kernel == "scale"), "{empty}");
    assert!(matches!(wrong(&setup, 6)?, DeviceError::GroupTooLarge { .. }));
    let beyond = wrong(&setup, 7)?;
    assert!(matches!(&beyond, DeviceError::OutOfBounds(fault) if fault.kernel == "garbage"), "{beyond}");
    assert_eq!(reason(8)?, InvalidCommand::Encoding(EncodingError::NotSupported));
    assert!(matches!(wrong(&setup, 9)?, DeviceError::MissingArgument { index: 0, .. }));
    assert_eq!(reason(10)?, InvalidCommand::Encoding(EncodingError::NotSupported));
    // Buffer 1 was never set.
    let missing = wrong(&setup, 0)?;
    assert!(matches!(&missing, DeviceError::MissingArgument { index: 1, .. }), "{missing}");
    assert!(matches!(wrong(&setup, 11)?, DeviceError::MissingArgument { .. }));
    // The indirect command buffer is not used: its handle leads nowhere.
    assert!(matches!(wrong(&setup, 12)?, DeviceError::OutOfBounds(_)));
    Ok(())
}

#[test]
fn garbage_in_the_memory_of_commands_never_runs() -> Result<(), Error> {
    let [setup, _] = setups()?;
    let (indirect, scribble) = (setup.indirect(1)?, setup.library.pipeline("scribble")?);
    let scale = setup.library.pipeline("scale")?;
    let out = setup.device.buffer_zeroed::<u32>(8)?;
    let mut seed = 12345u32;
    let mut random = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    for round in 0..200u32 {
        let mut words: Vec<u32> = (0..17).map(|_| random()).collect();
        // Come further than the kind and the error, and in some rounds than the pipeline.
        if round % 4 != 0 {
            (words[0], words[2]) = (1 + round % 2, 0);
        }
        if round % 4 == 2 {
            let id = scale.gpu_resource_id();
            (words[4], words[5]) = (id as u32, (id >> 32) as u32);
            words[6..12].copy_from_slice(&[1, 1, 1, 4, 1, 1]);
        }
        let words_buffer = setup.device.buffer(&words)?;
        let mut commands = setup.queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&scribble);
        encoder.use_indirect_command_buffer(&indirect)?;
        encoder.use_buffer(&out);
        encoder.set_bytes(0, &indirect.gpu_resource_id());
        encoder.set_argument(1, &words_buffer);
        encoder.dispatch_threads(17, 17)?;
        encoder.execute_commands(&indirect, 0..1)?;
        encoder.end_encoding();
        let error = failure(commands.commit()?)?;
        assert!(matches!(error, DeviceError::InvalidCommand { .. }), "{round}: {error}");
    }
    assert_eq!(out.read()?, [0; 8]);
    Ok(())
}

#[test]
fn ranges_and_buffers_that_are_not_there_are_named() -> Result<(), Error> {
    let [setup, _] = setups()?;
    let Setup { device, library, queue } = &setup;
    let (indirect, scale) = (setup.indirect(2)?, library.pipeline("scale")?);
    let (out, factor) = (device.buffer_zeroed::<u32>(8)?, device.buffer(&[1u32])?);
    indirect.command(1)?.set_pipeline(&scale)?.set_buffer(0, &out, 0)?.dispatch_threads(4, 4)?;
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    let outside = encoder.execute_commands(&indirect, 1..3).unwrap_err().to_string();
    assert!(outside.contains("commands 1 to 3 are not within the 2"), "{outside}");
    let range = device.buffer(&[2u32, u32::MAX])?;
    encoder.execute_commands_indirect(&indirect, &range.view(0..2)?)?;
    encoder.end_encoding();
    let error = failure(commands.commit()?)?;
    assert!(matches!(error, DeviceError::CommandsOutsideBuffer { start: 2, .. }), "{error}");

    // Its buffer is nowhere in the command buffer.
    let execute = |buffers: &[&anymetal::Buffer<u32>]| {
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        buffers.iter().for_each(|buffer| encoder.use_buffer(buffer));
        encoder.execute_commands(&indirect, 0..2)?;
        encoder.end_encoding();
        commands.commit()
    };
    let error = failure(execute(&[])?)?;
    assert!(
        matches!(&error, DeviceError::InvalidCommand { command: 1, reason, .. }
            if matches!(**reason, InvalidCommand::NotResident { index: 0, .. })),
        "{error}"
    );
    indirect.command(1)?.set_buffer(1, &factor, 0)?;
    execute(&[&out, &factor])?.wait()?;
    assert_eq!(out.read()?, [1, 2, 3, 4, 0, 0, 0, 0]);
    // A pipeline that is gone is none.
    drop(scale);
    let error = failure(execute(&[&out, &factor])?)?;
    assert!(error.to_string().contains("the handle of no compute pipeline state"), "{error}");

    let five = (0..5).map(|_| setup.indirect(1)).collect::<Result<Vec<_>, _>>()?;
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    five[..4].iter().try_for_each(|one| encoder.use_indirect_command_buffer(one))?;
    let many = encoder.use_indirect_command_buffer(&five[4]).unwrap_err().to_string();
    assert!(many.contains("4 indirect command buffers at most"), "{many}");
    let large = IndirectCommandBufferDescriptor::new(IndirectCommandBuffer::MAX_COMMANDS + 1, 1);
    assert!(device.indirect_command_buffer(&large).unwrap_err().to_string().contains("at most 16384"));
    Ok(())
}

#[test]
fn commands_inherit_what_the_encoder_has_set() -> Result<(), Error> {
    for Setup { device, library, queue } in setups()? {
        let descriptor = IndirectCommandBufferDescriptor::new(2, 0).inherit_pipeline().inherit_buffers();
        let indirect = device.indirect_command_buffer(&descriptor)?;
        indirect.command(1)?.dispatch_threads(3, 3)?;
        let (scale, out) = (library.pipeline("scale")?, device.buffer_zeroed::<u32>(4)?);
        let mut commands = queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&scale);
        encoder.set_buffer(0, &out, 0)?;
        encoder.set_argument(1, 2);
        encoder.execute_commands(&indirect, 0..2)?;
        encoder.end_encoding();
        commands.commit()?.wait()?;
        assert_eq!(out.read()?, [2, 4, 6, 0]);
    }
    Ok(())
}

#[test]
fn commands_that_encode_others_go_on_to_the_depth_that_is_given() -> Result<(), Error> {
    for setup in setups()? {
        let Setup { device, library, queue } = &setup;
        let [one, other] = [setup.indirect(1)?, setup.indirect(1)?];
        let descend = library.pipeline("descend")?;
        let ids = [one.gpu_resource_id(), other.gpu_resource_id(), descend.gpu_resource_id()];
        let levels = device.buffer(&ids)?;
        let run = |last: u32, max_depth| {
            let state = device.buffer(&[0, last, 0, 0, 0, 0])?;
            let mut commands = queue.command_buffer()?;
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(&descend);
            encoder.use_indirect_command_buffer(&one)?;
            encoder.use_indirect_command_buffer(&other)?;
            encoder.set_buffer(0, &levels, 0)?;
            encoder.set_buffer(1, &state, 0)?;
            encoder.dispatch_threads(1, 1)?;
            let ranges = [state.view(2..4)?, state.view(4..6)?];
            let both = [(&one, &ranges[0]), (&other, &ranges[1])];
            let executed = encoder.execute_commands_while_encoded(&both, max_depth)?;
            encoder.end_encoding();
            Ok::<_, Error>((commands.commit()?, state, executed))
        };
        for last in [0, 1, 2, 37] {
            let (submission, state, executed) = run(last, 100)?;
            submission.wait()?;
            assert_eq!(state.read()?[0], last + 1);
            assert_eq!((executed.depth(), executed.launches()), (last, last.into()));
        }
        let (exact, ..) = run(5, 5)?;
        exact.wait()?;
        assert_eq!(failure(run(5, 4)?.0)?, DeviceError::NestingTooDeep { limit: 4 });
    }
    Ok(())
}
