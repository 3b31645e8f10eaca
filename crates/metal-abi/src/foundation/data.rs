//! `NSData` and `NSMutableData`.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use block2::Block;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{AnyThread, DefinedClass, Message, define_class, msg_send};

use super::string::NSString;

/// The largest file that is read into memory.
pub(super) const MAX_FILE_BYTES: u64 = 16 << 30;

/// The instance variables of data.
#[derive(Debug, Default)]
pub(crate) struct DataIvars {
    /// Changed only in mutable data.
    bytes: RwLock<Vec<u8>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSData"]
    #[ivars = DataIvars]
    #[derive(Debug)]
    pub(crate) struct NSData;

    impl NSData {
        #[unsafe(method_id(data))]
        fn empty() -> Retained<NSData> {
            NSData::of(&[])
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            super::initialized(this, DataIvars::default())
        }

        #[unsafe(method_id(initWithBytes:length:))]
        fn init_bytes(this: Allocated<Self>, bytes: *const c_void, length: usize) -> Retained<Self> {
            // SAFETY: the sender promises so many bytes.
            let bytes = unsafe { copied(bytes, length) };
            super::initialized(this, DataIvars { bytes: RwLock::new(bytes) })
        }

        #[unsafe(method_id(dataWithBytes:length:))]
        fn with_bytes_at(bytes: *const c_void, length: usize) -> Retained<NSData> {
            // SAFETY: the sender promises so many bytes.
            NSData::owning(unsafe { copied(bytes, length) })
        }

        // The bytes are copied, and given back at once.
        #[unsafe(method_id(initWithBytesNoCopy:length:deallocator:))]
        fn init_no_copy(this: Allocated<Self>, bytes: *mut c_void, length: usize, deallocator: Option<&Block<dyn Fn(NonNull<c_void>, usize)>>) -> Retained<Self> {
            // SAFETY: the sender promises so many bytes.
            let own = unsafe { copied(bytes, length) };
            if let (Some(deallocator), Some(bytes)) = (deallocator, NonNull::new(bytes)) {
                deallocator.call((bytes, length));
            }
            super::initialized(this, DataIvars { bytes: RwLock::new(own) })
        }

        #[unsafe(method_id(dataWithContentsOfFile:))]
        fn with_file(path: &NSString) -> Option<Retained<NSData>> {
            anymetal_files::read(path.to_string().as_ref(), MAX_FILE_BYTES).ok().map(NSData::owning)
        }

        #[unsafe(method(writeToFile:atomically:))]
        fn write_to_file(&self, path: &NSString, _atomically: bool) -> bool {
            self.with_bytes(|bytes| std::fs::write(path.to_string(), bytes)).is_ok()
        }

        #[unsafe(method(bytes))]
        fn bytes(&self) -> *const c_void {
            self.with_bytes(|bytes| bytes.as_ptr().cast())
        }

        #[unsafe(method(length))]
        fn length(&self) -> usize {
            self.with_bytes(<[u8]>::len)
        }

        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            other.and_then(|other| other.downcast_ref::<NSData>()).is_some_and(|other| self.to_vec() == other.to_vec())
        }

        #[unsafe(method(isEqualToData:))]
        fn is_equal_to_data(&self, other: &NSData) -> bool {
            self.to_vec() == other.to_vec()
        }

        #[unsafe(method(hash))]
        fn hash(&self) -> usize {
            self.with_bytes(<[u8]>::len)
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSData> {
            self.retain()
        }

        #[unsafe(method_id(mutableCopyWithZone:))]
        fn mutable_copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSMutableData> {
            NSMutableData::of(self.to_vec())
        }
    }
);

impl NSData {
    /// Data with a copy of those bytes.
    pub(crate) fn of(bytes: &[u8]) -> Retained<NSData> {
        NSData::owning(bytes.to_vec())
    }

    fn owning(bytes: Vec<u8>) -> Retained<NSData> {
        super::object(DataIvars { bytes: RwLock::new(bytes) })
    }

    /// Looks at its bytes.
    pub(crate) fn with_bytes<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        look(&self.ivars().bytes.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn to_vec(&self) -> Vec<u8> {
        self.with_bytes(<[u8]>::to_vec)
    }

    fn change<R>(&self, change: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        change(&mut self.ivars().bytes.write().unwrap_or_else(PoisonError::into_inner))
    }
}

define_class!(
    // SAFETY: `NSData`'s bytes may change.
    #[unsafe(super(NSData))]
    #[name = "NSMutableData"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct NSMutableData;

    impl NSMutableData {
        #[unsafe(method_id(data))]
        fn empty() -> Retained<NSMutableData> {
            NSMutableData::of(Vec::new())
        }

        #[unsafe(method_id(dataWithLength:))]
        fn with_length(length: usize) -> Retained<NSMutableData> {
            NSMutableData::of(vec![0; length])
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            unsafe { msg_send![super(partial), init] }
        }

        #[unsafe(method_id(initWithBytes:length:))]
        fn init_bytes(this: Allocated<Self>, bytes: *const c_void, length: usize) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: the sender promises what the method asks for.
            unsafe { msg_send![super(partial), initWithBytes: bytes, length: length] }
        }

        #[unsafe(method(mutableBytes))]
        fn mutable_bytes(&self) -> *mut c_void {
            self.change(|bytes| bytes.as_mut_ptr().cast())
        }

        #[unsafe(method(appendBytes:length:))]
        fn append_bytes(&self, bytes: *const c_void, length: usize) {
            // SAFETY: the sender promises so many bytes.
            let more = unsafe { copied(bytes, length) };
            self.change(|own| own.extend(more));
        }

        #[unsafe(method(appendData:))]
        fn append_data(&self, data: &NSData) {
            let more = data.to_vec();
            self.change(|own| own.extend(more));
        }

        #[unsafe(method(setLength:))]
        fn set_length(&self, length: usize) {
            self.change(|bytes| bytes.resize(length, 0));
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSData> {
            NSData::owning(self.to_vec())
        }
    }
);

impl NSMutableData {
    fn of(bytes: Vec<u8>) -> Retained<NSMutableData> {
        let partial = NSMutableData::alloc().set_ivars(());
        // SAFETY: `init` takes nothing and gives its receiver.
        let data: Retained<NSMutableData> = unsafe { msg_send![super(partial), init] };
        data.change(|own| *own = bytes);
        data
    }
}

/// # Safety
///
/// `bytes` is null or so many bytes.
unsafe fn copied(bytes: *const c_void, length: usize) -> Vec<u8> {
    if bytes.is_null() || length == 0 {
        return Vec::new();
    }
    // SAFETY: as promised.
    unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) }.to_vec()
}
