//! Indirect command buffers that kernels encode.

use objc2::msg_send;

use super::indirect::{command, fill, indirect};
use super::{Id, Setup, buffer, commit_and_wait, contents, failure, library, line, pipeline};
use crate::foundation::{NSString, Range};
use crate::metal::size::ResourceId;

const SOURCE: &str = "
    #include <metal_stdlib>
    #include <metal_command_buffer>
    using namespace metal;
    struct Arguments { command_buffer commands [[id(0)]]; compute_pipeline_state fill [[id(1)]]; };
    // Leaves pipelines to the host where it has set them.
    kernel void encode(device Arguments& arguments [[buffer(0)]], device int* x [[buffer(1)]],
                       device uint* range [[buffer(2)]], uint i [[thread_position_in_grid]]) {
        compute_command command(arguments.commands, i);
        if (i != 1) command.set_compute_pipeline_state(arguments.fill);
        command.set_kernel_buffer(x + 4 * i, 0);
        command.concurrent_dispatch_threads(uint3(i + 1, 1, 1), uint3(4, 1, 1));
        if (i == 0) { range[0] = 0; range[1] = 2; }
    }";

#[test]
fn kernels_encode_what_the_host_left_and_a_buffer_says_how_much_of_it_runs() {
    let setup = Setup::new();
    let (fill, commands) = (fill(&setup, true), indirect(&setup, false));
    let encode = pipeline(&setup.device, &library(&setup.device, SOURCE).unwrap(), "encode");
    let (x, range, arguments) =
        (buffer(&setup.device, 12), buffer(&setup.device, 2), buffer(&setup.device, 4));
    // SAFETY: the classes have these methods; the buffer has room for two ids, and no work uses it.
    unsafe {
        // Before the id is taken, and after.
        let () = msg_send![&*command(&commands, 1), setComputePipelineState: &*fill];
        let ids: [ResourceId; 2] = [msg_send![&*commands, gpuResourceID], msg_send![&*fill, gpuResourceID]];
        let () = msg_send![&*command(&commands, 2), setComputePipelineState: &*fill];
        let bytes: *mut std::ffi::c_void = msg_send![&*arguments, contents];
        bytes.cast::<[ResourceId; 2]>().write_unaligned(ids);
    }
    let all = Range { location: 0, length: 3 };
    let work = setup.command_buffer();
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![&*work, computeCommandEncoder];
        let () = msg_send![&*encoder, useResource: &*commands, usage: 2usize];
        let () = msg_send![&*encoder, setComputePipelineState: &*encode];
        for (bound, index) in [(&arguments, 0usize), (&x, 1), (&range, 2)] {
            let () = msg_send![&*encoder, setBuffer: &**bound, offset: 0usize, atIndex: index];
        }
        let () = msg_send![&*encoder, dispatchThreads: line(3), threadsPerThreadgroup: line(3)];
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*commands, indirectBuffer: &*range, indirectBufferOffset: 0usize];
        let () = msg_send![&*encoder, endEncoding];
    }
    assert_eq!(commit_and_wait(&work), 4);
    assert_eq!(contents(&x, 12), [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);

    // All of them, later: command 2 too; then none, after a blit that forgets them.
    let work = setup.command_buffer();
    // SAFETY: the classes have these methods.
    unsafe {
        let encoder: Id = msg_send![&*work, computeCommandEncoder];
        let () = msg_send![&*encoder, useResource: &*x, usage: 3usize];
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*commands, withRange: all];
        let () = msg_send![&*encoder, endEncoding];
        let blit: Id = msg_send![&*work, blitCommandEncoder];
        let () = msg_send![&*blit, resetCommandsInBuffer: &*commands, withRange: all];
        let () = msg_send![&*blit, fillBuffer: &*x, range: Range { location: 0, length: 32 }, value: 0u8];
        let () = msg_send![&*blit, endEncoding];
        let encoder: Id = msg_send![&*work, computeCommandEncoder];
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*commands, withRange: all];
        let () = msg_send![&*encoder, endEncoding];
    }
    assert_eq!(commit_and_wait(&work), 4);
    assert_eq!(contents(&x, 12), [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0]);
}

#[test]
fn argument_encoders_write_the_ids_of_commands_and_pipelines() {
    let setup = Setup::new();
    let (fill, commands) = (fill(&setup, true), indirect(&setup, false));
    let arguments = buffer(&setup.device, 4);
    // SAFETY: the classes have these methods; the buffer has room for two ids, and no work uses it.
    unsafe {
        let library = library(&setup.device, SOURCE).unwrap();
        let function: Id = msg_send![&*library, newFunctionWithName: &*NSString::of("encode")];
        let encoder: Id = msg_send![&*function, newArgumentEncoderWithBufferIndex: 0usize];
        let () = msg_send![&*encoder, setArgumentBuffer: &*arguments, offset: 0usize];
        let () = msg_send![&*encoder, setIndirectCommandBuffer: &*commands, atIndex: 0usize];
        let () = msg_send![&*encoder, setComputePipelineState: &*fill, atIndex: 1usize];
        let bytes: *mut std::ffi::c_void = msg_send![&*arguments, contents];
        let written = bytes.cast::<[u64; 2]>().read_unaligned();
        let ids: [ResourceId; 2] = [msg_send![&*commands, gpuResourceID], msg_send![&*fill, gpuResourceID]];
        assert_eq!(written, ids.map(|id| id.number));
        let wrong = failure(|| {
            let () = msg_send![&*encoder, setComputePipelineState: &*fill, atIndex: 0usize];
        });
        assert!(wrong.contains("the member with the index 0 is no compute pipeline state"), "{wrong}");
        let plain = pipeline(&setup.device, &setup.library, "fill");
        let refused = failure(|| {
            let () = msg_send![&*encoder, setComputePipelineState: &*plain, atIndex: 1usize];
        });
        assert!(refused.contains("supportIndirectCommandBuffers"), "{refused}");
    }
}

#[test]
fn the_hosts_commands_hold_their_buffers_and_pipelines_must_support_it() {
    let setup = Setup::new();
    let (pipeline, commands) = (fill(&setup, true), indirect(&setup, false));
    let x = buffer(&setup.device, 4);
    // SAFETY: the classes have these methods; breaking a rule is answered by a failure.
    unsafe {
        let plain = fill(&setup, false);
        let refused = failure(|| {
            let _id: ResourceId = msg_send![&*plain, gpuResourceID];
        });
        assert!(refused.contains("without supportIndirectCommandBuffers"), "{refused}");
        let _id: ResourceId = msg_send![&*commands, gpuResourceID];
        let command = command(&commands, 0);
        let () = msg_send![&*command, setComputePipelineState: &*pipeline];
        let () = msg_send![&*command, setKernelBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () =
            msg_send![&*command, concurrentDispatchThreadgroups: line(1), threadsPerThreadgroup: line(4)];
        let execute = || {
            let work = setup.command_buffer();
            let encoder: Id = msg_send![&*work, computeCommandEncoder];
            let () = msg_send![&*encoder, executeCommandsInBuffer: &*commands, withRange: Range { location: 0, length: 1 }];
            let () = msg_send![&*encoder, endEncoding];
            commit_and_wait(&work)
        };
        // The host's commands hold their buffers.
        assert_eq!(execute(), 4);
        assert_eq!(contents(&x, 4), [0, 1, 2, 3]);
        // No pipeline, after it was forgotten.
        let () = msg_send![&*command, reset];
        assert_eq!(execute(), 4);
        let () = msg_send![&*command, concurrentDispatchThreads: line(1), threadsPerThreadgroup: line(1)];
        assert_eq!(execute(), 5, "a command without a pipeline is an error of the command buffer");
    }
}
