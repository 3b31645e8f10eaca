//! Visible functions: `MTLLinkedFunctions`, `MTLFunctionHandle` and `MTLVisibleFunctionTable`.
//!
//! A table is a buffer of entries ([`anymetal::functions`]) and is bound as one; kernels make
//! calls of them. Invariant: an entry has the number of a function that the table's pipeline has, or none.

use anymetal::functions::LinkedFunctions as Linked;
use anymetal::functions::{ENTRY_BYTES, entry};
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::allocation;
use super::buffer::Buffer;
use super::descriptor::descriptor;
use super::device::Device;
use super::library::Function;
use super::resource_options::ResourceOptions;
use super::size::ResourceId;
use super::{checked_range, violation};
use crate::arguments::List;
use crate::foundation::dictionary::NSDictionary;
use crate::foundation::{NSArray, NSString, Range};

descriptor! {
    /// The functions that a pipeline's kernel may call.
    LinkedFunctions = "MTLLinkedFunctions", LinkedProperties;
    values {}
    objects {
        functions, set_functions: NSArray, [functions] [setFunctions:];
        binary_functions, set_binary_functions: NSArray, [binaryFunctions] [setBinaryFunctions:];
        private_functions, set_private_functions: NSArray, [privateFunctions] [setPrivateFunctions:];
        groups, set_groups: NSDictionary, [groups] [setGroups:];
    }
    methods {
        #[unsafe(method_id(linkedFunctions))]
        fn linked_functions() -> Retained<Self> {
            crate::foundation::object(LinkedProperties::default())
        }
    }
}

descriptor! {
    /// What table to make.
    TableDescriptor = "MTLVisibleFunctionTableDescriptor", TableProperties;
    values { count, set_count: usize = 0, [functionCount] [setFunctionCount:]; }
    objects {}
    methods {
        #[unsafe(method_id(visibleFunctionTableDescriptor))]
        fn table_descriptor() -> Retained<Self> {
            crate::foundation::object(TableProperties::default())
        }
    }
}

/// The functions in an array of a program's, for a method that was given it.
fn functions_in(method: &str, array: Option<Retained<NSArray>>) -> Vec<Retained<Function>> {
    let elements = array.map(|array| array.elements()).unwrap_or_default();
    let function = |element: Retained<objc2::runtime::AnyObject>| {
        element.downcast::<Function>().unwrap_or_else(|_| violation(method, "an element is no function"))
    };
    elements.into_iter().map(function).collect()
}

/// What a pipeline links: functions that tables may have, and functions that are only called by their names.
#[derive(Debug, Clone, Default)]
pub(crate) struct PipelineFunctions {
    pub(crate) public: Vec<Retained<Function>>,
    pub(crate) private: Vec<Retained<Function>>,
}

impl PipelineFunctions {
    /// Those of a descriptor. The groups say which of them a call may mean; all of the type may be meant
    /// here.
    pub(crate) fn of(method: &str, linked: Option<&LinkedFunctions>) -> Self {
        let Some(linked) = linked else { return Self::default() };
        let properties = linked.ivars();
        let mut public = functions_in(method, properties.functions());
        public.extend(functions_in(method, properties.binary_functions()));
        let private = functions_in(method, properties.private_functions());
        PipelineFunctions { public, private }
    }

    /// With more that tables may have.
    pub(crate) fn with(&self, method: &str, more: &NSArray) -> Self {
        let mut all = self.clone();
        all.public.extend(more.elements().into_iter().map(|element| {
            element.downcast::<Function>().unwrap_or_else(|_| violation(method, "an element is no function"))
        }));
        all
    }

    /// The same for the crate.
    pub(crate) fn linked(&self) -> Result<Linked, anymetal::Error> {
        let mut linked = Linked::new();
        for function in &self.public {
            linked = function.linked_to(linked, false)?;
        }
        for function in &self.private {
            linked = function.linked_to(linked, true)?;
        }
        Ok(linked)
    }
}

/// The instance variables of a handle.
#[derive(Debug)]
pub(crate) struct HandleIvars {
    pub(crate) handle: anymetal::functions::FunctionHandle,
    pub(crate) device: Retained<Device>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalFunctionHandle"]
    #[ivars = HandleIvars]
    #[derive(Debug)]
    pub(crate) struct Handle;

    impl Handle {
        #[unsafe(method(functionType))]
        fn function_type(&self) -> usize {
            super::library::VISIBLE
        }

        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            NSString::of(self.ivars().handle.name())
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method(gpuResourceID))]
        fn resource_id(&self) -> ResourceId {
            ResourceId { number: self.ivars().handle.number().into() }
        }
    }
);

/// The instance variables of a table.
#[derive(Debug)]
pub(crate) struct TableIvars {
    /// Its entries.
    pub(crate) buffer: Retained<Buffer>,
    count: usize,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalVisibleFunctionTable"]
    #[ivars = TableIvars]
    #[derive(Debug)]
    pub(crate) struct Table;

    impl Table {
        #[unsafe(method(setFunction:atIndex:))]
        fn set_function(&self, function: Option<&Handle>, index: usize) {
            self.put("MTLVisibleFunctionTable setFunction:atIndex:", function, index);
        }

        #[unsafe(method(setFunctions:withRange:))]
        fn set_functions(&self, functions: List<Option<&Handle>>, range: Range) {
            const METHOD: &str = "MTLVisibleFunctionTable setFunctions:withRange:";
            let range = checked_range(METHOD, range, self.ivars().count);
            for (function, index) in functions.read(range.len()).zip(range) {
                self.put(METHOD, function, index);
            }
        }

        #[unsafe(method(gpuResourceID))]
        fn resource_id(&self) -> ResourceId {
            ResourceId { number: self.ivars().buffer.address_for_kernels().unwrap_or(0) }
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().buffer.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().buffer.ivars().label.set(label);
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().buffer.ivars().device.clone()
        }

        #[unsafe(method(cpuCacheMode))]
        fn cache_mode(&self) -> usize {
            self.ivars().buffer.ivars().options.cache_mode()
        }

        #[unsafe(method(storageMode))]
        fn storage_mode(&self) -> usize {
            self.ivars().buffer.ivars().options.storage_mode()
        }

        #[unsafe(method(hazardTrackingMode))]
        fn hazard_mode(&self) -> usize {
            self.ivars().buffer.ivars().options.hazard_mode()
        }

        #[unsafe(method(resourceOptions))]
        fn options(&self) -> usize {
            self.ivars().buffer.ivars().options.0
        }

        #[unsafe(method(allocatedSize))]
        fn allocated_size(&self) -> usize {
            self.ivars().buffer.ivars().memory.len()
        }
    }
);

impl Table {
    /// A table of so many entries without a function; nothing if there is no memory for it.
    pub(crate) fn new(method: &str, device: &Device, descriptor: &TableDescriptor) -> Option<Retained<Self>> {
        let count = descriptor.ivars().count();
        if count == 0 || u32::try_from(count).is_err() {
            violation(method, format_args!("a table of {count} functions: it has at least one"));
        }
        let bytes = count.checked_mul(ENTRY_BYTES as usize)?;
        let buffer = allocation::zeroed(device, bytes, ResourceOptions(0))?;
        let table: Retained<Self> = crate::foundation::object(TableIvars { buffer, count });
        (0..count).for_each(|index| table.put(method, None, index));
        Some(table)
    }

    fn put(&self, method: &str, function: Option<&Handle>, index: usize) {
        let TableIvars { buffer, count } = self.ivars();
        if index >= *count {
            violation(method, format_args!("the index {index} is beyond a table of {count} functions"));
        }
        let number = function.map_or(0, |function| function.ivars().handle.number());
        let bytes = entry(number, *count as u32).to_le_bytes();
        let written = buffer.ivars().memory.write_at(index * bytes.len(), &bytes);
        written.unwrap_or_else(|error| violation(method, error));
    }
}
