//! `MTLFunctionConstantValues` and `MTLFunctionConstant`.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use anymetal::{ConstantKey, FunctionConstantInfo, FunctionConstants};
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{NSObject, NSZone};
use objc2::{DefinedClass, define_class};

use super::{data_type, violation};
use crate::foundation::{NSString, Range};

/// The values that were set.
#[derive(Debug, Default)]
pub(crate) struct Values(Mutex<FunctionConstants>);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLFunctionConstantValues"]
    #[ivars = Values]
    #[derive(Debug)]
    pub(crate) struct ConstantValues;

    impl ConstantValues {
        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            crate::foundation::initialized(this, Values::default())
        }

        #[unsafe(method(setConstantValue:type:atIndex:))]
        fn set_at(&self, value: *const c_void, data_type: usize, index: usize) {
            // SAFETY: the sender promises a value of that type.
            unsafe { self.set(value.cast(), data_type, ConstantKey::Index(index_of(index))) };
        }

        #[unsafe(method(setConstantValues:type:withRange:))]
        fn set_range(&self, values: *const c_void, data_type: usize, range: Range) {
            let bytes = data_type::vector_of(data_type).map_or(0, data_type::vector_size);
            for at in 0..range.length {
                let key = ConstantKey::Index(index_of(range.location.saturating_add(at)));
                // SAFETY: the sender promises so many values of that type.
                unsafe { self.set(values.cast::<u8>().add(at * bytes), data_type, key) };
            }
        }

        #[unsafe(method(setConstantValue:type:withName:))]
        fn set_named(&self, value: *const c_void, data_type: usize, name: &NSString) {
            // SAFETY: the sender promises a value of that type.
            unsafe { self.set(value.cast(), data_type, ConstantKey::Name(name.to_string())) };
        }

        #[unsafe(method(reset))]
        fn reset(&self) {
            *self.ivars().0.lock().unwrap_or_else(PoisonError::into_inner) = FunctionConstants::new();
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<Self> {
            crate::foundation::object(Values(Mutex::new(self.values())))
        }
    }
);

impl ConstantValues {
    /// The values set so far.
    pub(crate) fn values(&self) -> FunctionConstants {
        self.ivars().0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// # Safety
    ///
    /// There is a value of that type.
    unsafe fn set(&self, value: *const u8, data_type: usize, key: ConstantKey) {
        let Some((scalar, lanes)) = data_type::vector_of(data_type) else {
            let rule =
                format!("a function constant has a scalar or vector type, not MTLDataType {data_type}");
            violation("MTLFunctionConstantValues setConstantValue:type:atIndex:", rule);
        };
        let components: Vec<_> = (0..usize::from(lanes))
            // SAFETY: as promised, there are so many components, each of that size.
            .map(|lane| unsafe { data_type::read(value.add(lane * scalar.size() as usize), scalar) })
            .collect();
        let mut values = self.ivars().0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *values);
        *values = match components[..] {
            [one] => before.with(key, one),
            _ => before.with_vector(key, &components),
        };
    }
}

fn index_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or_else(|_| {
        let rule = format!("the index {index} is beyond 65535");
        violation("MTLFunctionConstantValues setConstantValue:type:atIndex:", rule)
    })
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLFunctionConstant"]
    #[ivars = FunctionConstantInfo]
    #[derive(Debug)]
    pub(crate) struct FunctionConstant;

    impl FunctionConstant {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            NSString::of(&self.ivars().name)
        }

        #[unsafe(method(type))]
        fn data_type(&self) -> usize {
            data_type::number_of(&self.ivars().element)
        }

        #[unsafe(method(index))]
        fn index(&self) -> usize {
            self.ivars().index as usize
        }

        #[unsafe(method(required))]
        fn required(&self) -> bool {
            self.ivars().required
        }
    }
);
