//! `MTLFunctionConstantValues` and `MTLFunctionConstant`.

use std::sync::{Mutex, PoisonError};

use anymetal::FunctionConstants;
use anymetal::reflection::{ConstantKey, FunctionConstantInfo};
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{NSObject, NSZone};

use super::{checked_range, data_type, violation};
use crate::arguments::Bytes;
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
        fn set_at(&self, value: Bytes, data_type: usize, index: usize) {
            self.set(METHOD_AT, &value, data_type, 0..1, |_| ConstantKey::Index(index_of(METHOD_AT, index)));
        }

        #[unsafe(method(setConstantValues:type:withRange:))]
        fn set_range(&self, values: Bytes, data_type: usize, range: Range) {
            const METHOD: &str = "MTLFunctionConstantValues setConstantValues:type:withRange:";
            let range = checked_range(METHOD, range, MAX_CONSTANTS);
            self.set(METHOD, &values, data_type, range, |index| ConstantKey::Index(index_of(METHOD, index)));
        }

        #[unsafe(method(setConstantValue:type:withName:))]
        fn set_named(&self, value: Bytes, data_type: usize, name: &NSString) {
            const METHOD: &str = "MTLFunctionConstantValues setConstantValue:type:withName:";
            self.set(METHOD, &value, data_type, 0..1, |_| ConstantKey::Name(name.to_string()));
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

    /// Sets a constant for each index, to the values that follow each other in memory.
    fn set(
        &self,
        method: &str,
        values: &Bytes,
        data_type: usize,
        indices: std::ops::Range<usize>,
        key: impl Fn(usize) -> ConstantKey,
    ) {
        let Some(vector @ (scalar, lanes)) = data_type::vector_of(data_type) else {
            let rule =
                format_args!("a function constant has a scalar or vector type, not MTLDataType {data_type}");
            violation(method, rule);
        };
        let (size, lanes) = (data_type::vector_size(vector), usize::from(lanes));
        // The last value may have no padding after it.
        let bytes = values.read(indices.len().saturating_sub(1) * size + lanes * scalar.size() as usize);
        let chunks = bytes.chunks(size).take(indices.len());
        let values: Vec<Vec<_>> = chunks
            .map(|value| {
                let components = value.chunks_exact(scalar.size() as usize).take(lanes);
                components.map(|component| data_type::read(component, scalar)).collect()
            })
            .collect();
        let mut known = self.ivars().0.lock().unwrap_or_else(PoisonError::into_inner);
        for (components, index) in values.iter().zip(indices) {
            let before = std::mem::take(&mut *known);
            *known = match components[..] {
                [one] => before.with(key(index), one),
                _ => before.with_vector(key(index), components),
            };
        }
    }
}

/// Indices of constants are 16 bits.
const MAX_CONSTANTS: usize = 1 << 16;

const METHOD_AT: &str = "MTLFunctionConstantValues setConstantValue:type:atIndex:";

fn index_of(method: &str, index: usize) -> u32 {
    if index >= MAX_CONSTANTS {
        violation(method, format_args!("the index {index} is beyond {}", MAX_CONSTANTS - 1));
    }
    index as u32
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
