//! Indirect command buffers.

use objc2::{class, msg_send};

use super::{Id, Setup, buffer, commit_and_wait, contents, failure, line};
use crate::foundation::{NSError, NSString, Range};

/// A pipeline of `fill`, for indirect command buffers or not.
pub(super) fn fill(setup: &Setup, indirect: bool) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let function: Id = msg_send![&*setup.library, newFunctionWithName: &*NSString::of("fill")];
        let descriptor: Id = msg_send![class!(MTLComputePipelineDescriptor), new];
        let () = msg_send![&*descriptor, setComputeFunction: &*function];
        let () = msg_send![&*descriptor, setSupportIndirectCommandBuffers: indirect];
        let (error, reflection): (*mut *mut NSError, *mut *mut crate::metal::pipeline::Reflection) =
            (std::ptr::null_mut(), std::ptr::null_mut());
        msg_send![&*setup.device, newComputePipelineStateWithDescriptor: &*descriptor, options: 0usize, reflection: reflection, error: error]
    }
}

/// An indirect command buffer of three commands.
pub(super) fn indirect(setup: &Setup, inherits: bool) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let descriptor: Id = msg_send![class!(MTLIndirectCommandBufferDescriptor), new];
        let () = msg_send![&*descriptor, setCommandTypes: 1usize << 6];
        let () = msg_send![&*descriptor, setInheritBuffers: inherits];
        let () = msg_send![&*descriptor, setInheritPipelineState: inherits];
        let () = msg_send![&*descriptor, setMaxKernelBufferBindCount: 2usize];
        msg_send![&*setup.device, newIndirectCommandBufferWithDescriptor: &*descriptor, maxCommandCount: 3usize, options: 0usize]
    }
}

pub(super) fn command(buffer: &Id, index: usize) -> Id {
    // SAFETY: the class has the method.
    unsafe { msg_send![&**buffer, indirectComputeCommandAtIndex: index] }
}

#[test]
fn commands_run_as_they_were_encoded_each_time_they_are_executed() {
    let setup = Setup::new();
    let (pipeline, indirect) = (fill(&setup, true), indirect(&setup, false));
    let buffers = [buffer(&setup.device, 8), buffer(&setup.device, 8)];
    let commands = setup.command_buffer();
    // SAFETY: the classes have these methods.
    unsafe {
        for (index, x) in [(0usize, &buffers[0]), (2, &buffers[1])] {
            let command = command(&indirect, index);
            let () = msg_send![&*command, setComputePipelineState: &*pipeline];
            let () = msg_send![&*command, setKernelBuffer: &**x, offset: 4usize * index, atIndex: 0usize];
            let () = msg_send![&*command, concurrentDispatchThreads: line(5), threadsPerThreadgroup: line(5)];
        }
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let all = Range { location: 0, length: 3 };
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*indirect, withRange: all];
        let () = msg_send![&*indirect, resetWithRange: all];
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*indirect, withRange: all];
        let beyond = Range { location: 1, length: 3 };
        let outside =
            failure(|| msg_send![&*encoder, executeCommandsInBuffer: &*indirect, withRange: beyond]);
        assert!(outside.contains("is not within 3 commands"), "{outside}");
        let () = msg_send![&*encoder, endEncoding];
    }
    assert_eq!(commit_and_wait(&commands), 4);
    assert_eq!(contents(&buffers[0], 8), [0, 1, 2, 3, 4, 0, 0, 0]);
    assert_eq!(contents(&buffers[1], 8), [0, 0, 0, 1, 2, 3, 4, 0]);
}

#[test]
fn commands_inherit_the_encoders_pipeline_and_buffers_and_blits_copy_them() {
    let setup = Setup::new();
    let (first, second) = (indirect(&setup, true), indirect(&setup, true));
    let (commands, x) = (setup.command_buffer(), buffer(&setup.device, 8));
    // SAFETY: the classes have these methods.
    unsafe {
        let () = msg_send![&*command(&first, 1), concurrentDispatchThreads: line(3), threadsPerThreadgroup: line(3)];
        let blit: Id = msg_send![&*commands, blitCommandEncoder];
        let one = Range { location: 1, length: 1 };
        let () = msg_send![&*blit, copyIndirectCommandBuffer: &*first, sourceRange: one, destination: &*second, destinationIndex: 2usize];
        let () = msg_send![&*blit, resetCommandsInBuffer: &*first, withRange: one];
        let () = msg_send![&*blit, endEncoding];
        let encoder: Id = msg_send![&*commands, computeCommandEncoder];
        let all = Range { location: 0, length: 3 };
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*first, withRange: all];
        let without = failure(|| msg_send![&*encoder, executeCommandsInBuffer: &*second, withRange: all]);
        assert!(without.contains("no compute pipeline state"), "{without}");
        let () = msg_send![&*encoder, setComputePipelineState: &*fill(&setup, false)];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        let () = msg_send![&*encoder, executeCommandsInBuffer: &*second, withRange: all];
        let () = msg_send![&*encoder, endEncoding];
    }
    assert_eq!(commit_and_wait(&commands), 4);
    assert_eq!(contents(&x, 8), [0, 1, 2, 0, 0, 0, 0, 0]);
}

#[test]
fn what_a_command_may_not_set_is_named() {
    let setup = Setup::new();
    let (own, inheriting) = (indirect(&setup, false), indirect(&setup, true));
    let x = buffer(&setup.device, 8);
    // SAFETY: the classes have these methods; breaking a rule is answered by a failure.
    unsafe {
        let plain = fill(&setup, false);
        let own = command(&own, 0);
        let unsupported = failure(|| msg_send![&*own, setComputePipelineState: &*plain]);
        assert!(unsupported.contains("without supportIndirectCommandBuffers"), "{unsupported}");
        let index = failure(|| msg_send![&*own, setKernelBuffer: &*x, offset: 0usize, atIndex: 2usize]);
        assert!(index.contains("not below maxKernelBufferBindCount, 2"), "{index}");
        let inheriting = command(&inheriting, 0);
        let inherited =
            failure(|| msg_send![&*inheriting, setKernelBuffer: &*x, offset: 0usize, atIndex: 0usize]);
        assert!(inherited.contains("inherits buffers"), "{inherited}");
        let descriptor: Id = msg_send![class!(MTLIndirectCommandBufferDescriptor), new];
        let () = msg_send![&*descriptor, setCommandTypes: 1usize];
        let draws = failure(|| {
            drop::<Option<Id>>(
                msg_send![&*setup.device, newIndirectCommandBufferWithDescriptor: &*descriptor, maxCommandCount: 1usize, options: 0usize],
            )
        });
        assert!(draws.contains("compute commands"), "{draws}");
    }
}
