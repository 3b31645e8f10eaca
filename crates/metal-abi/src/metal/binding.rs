//! `MTLBinding`: an argument of a kernel, as reflection tells it.

use anymetal::{Access, ArgumentInfo, ArgumentKind};
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};
use objc2::{DefinedClass, define_class};

use super::data_type;
use crate::foundation::NSString;

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalBinding"]
    #[ivars = ArgumentInfo]
    #[derive(Debug)]
    pub(crate) struct Binding;

    impl Binding {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            NSString::of(&self.ivars().name)
        }

        #[unsafe(method(type))]
        fn binding_type(&self) -> isize {
            match self.ivars().kind {
                ArgumentKind::Buffer => 0,
                ArgumentKind::ThreadgroupMemory => 1,
                ArgumentKind::Texture => 2,
                ArgumentKind::Sampler => 3,
            }
        }

        #[unsafe(method(access))]
        fn access(&self) -> usize {
            match self.ivars().access {
                Access::Read => 0,
                Access::ReadWrite => 1,
                Access::Write => 2,
            }
        }

        #[unsafe(method(index))]
        fn index(&self) -> usize {
            self.ivars().index as usize
        }

        #[unsafe(method(isUsed))]
        fn is_used(&self) -> bool {
            self.ivars().enabled
        }

        #[unsafe(method(isActive))]
        fn is_active(&self) -> bool {
            self.ivars().enabled
        }

        #[unsafe(method(isArgument))]
        fn is_argument(&self) -> bool {
            true
        }

        #[unsafe(method(arrayLength))]
        fn array_length(&self) -> usize {
            1
        }

        #[unsafe(method(bufferAlignment))]
        fn buffer_alignment(&self) -> usize {
            self.ivars().element_align as usize
        }

        #[unsafe(method(bufferDataSize))]
        fn buffer_size(&self) -> usize {
            self.ivars().element_size as usize
        }

        #[unsafe(method(bufferDataType))]
        fn buffer_type(&self) -> usize {
            data_type::number_of(&self.ivars().element)
        }

        #[unsafe(method(threadgroupMemoryAlignment))]
        fn threadgroup_alignment(&self) -> usize {
            self.ivars().element_align as usize
        }

        #[unsafe(method(threadgroupMemoryDataSize))]
        fn threadgroup_size(&self) -> usize {
            self.ivars().element_size as usize
        }
    }
);

/// The object for an argument.
pub(crate) fn object_of(argument: ArgumentInfo) -> Retained<AnyObject> {
    let binding: Retained<Binding> = crate::foundation::object(argument);
    Retained::into_super(Retained::into_super(binding))
}
