//! `NSData` and `NSMutableData`.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{PoisonError, RwLock};

use block2::Block;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{AnyThread, Message, msg_send};

use super::Range;
use super::string::NSString;
use crate::arguments::Bytes;
use crate::runtime::{raise_invalid_argument, raise_range};

/// The largest file that is read into memory.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 30;

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
        fn init_bytes(this: Allocated<Self>, bytes: Bytes, length: usize) -> Retained<Self> {
            super::initialized(this, DataIvars { bytes: RwLock::new(bytes.read(length).to_vec()) })
        }

        #[unsafe(method_id(dataWithBytes:length:))]
        fn with_bytes_at(bytes: Bytes, length: usize) -> Retained<NSData> {
            NSData::of(bytes.read(length))
        }

        // The bytes are copied, and given back at once.
        #[unsafe(method_id(initWithBytesNoCopy:length:deallocator:))]
        fn init_no_copy(this: Allocated<Self>, bytes: Bytes, length: usize, deallocator: Option<&Block<dyn Fn(NonNull<c_void>, usize)>>) -> Retained<Self> {
            let own = bytes.read(length).to_vec();
            if let (Some(deallocator), Some(bytes)) = (deallocator, bytes.start()) {
                deallocator.call((bytes, length));
            }
            super::initialized(this, DataIvars { bytes: RwLock::new(own) })
        }

        #[unsafe(method_id(dataWithContentsOfFile:))]
        fn with_file(path: Option<&NSString>) -> Option<Retained<NSData>> {
            let read = |path: &NSString| anymetal_files::read(path.to_string().as_ref(), MAX_FILE_BYTES).ok();
            path.and_then(read).map(NSData::owning)
        }

        #[unsafe(method(writeToFile:atomically:))]
        fn write_to_file(&self, path: Option<&NSString>, _atomically: bool) -> bool {
            path.is_some_and(|path| self.with_bytes(|bytes| std::fs::write(path.to_string(), bytes)).is_ok())
        }

        #[unsafe(method(bytes))]
        fn bytes(&self) -> *const c_void {
            self.with_bytes(|bytes| bytes.as_ptr().cast())
        }

        #[unsafe(method(length))]
        fn length(&self) -> usize {
            self.with_bytes(<[u8]>::len)
        }

        #[unsafe(method(getBytes:length:))]
        fn get_bytes(&self, buffer: Bytes, length: usize) {
            self.with_bytes(|bytes| copy_to(&buffer, &bytes[..length.min(bytes.len())]));
        }

        #[unsafe(method(getBytes:range:))]
        fn get_range(&self, buffer: Bytes, range: Range) {
            self.with_bytes(|bytes| {
                copy_to(&buffer, &bytes[within("-[NSData getBytes:range:]", range, bytes.len())]);
            });
        }

        #[unsafe(method_id(subdataWithRange:))]
        fn subdata(&self, range: Range) -> Retained<NSData> {
            self.with_bytes(|bytes| NSData::of(&bytes[within("-[NSData subdataWithRange:]", range, bytes.len())]))
        }

        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            other.and_then(|other| other.downcast_ref::<NSData>()).is_some_and(|other| self.to_vec() == other.to_vec())
        }

        #[unsafe(method(isEqualToData:))]
        fn is_equal_to_data(&self, other: Option<&NSData>) -> bool {
            other.is_some_and(|other| self.to_vec() == other.to_vec())
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
        fn with_length(length: usize) -> Option<Retained<NSMutableData>> {
            let mut bytes = Vec::new();
            grow(&mut bytes, "+[NSMutableData dataWithLength:]", length);
            Some(NSMutableData::of(bytes))
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            unsafe { msg_send![super(partial), init] }
        }

        #[unsafe(method_id(initWithBytes:length:))]
        fn init_bytes(this: Allocated<Self>, bytes: Bytes, length: usize) -> Retained<Self> {
            let bytes = bytes.read(length).to_vec();
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            let data: Retained<Self> = unsafe { msg_send![super(partial), init] };
            data.change(|own| *own = bytes);
            data
        }

        #[unsafe(method(mutableBytes))]
        fn mutable_bytes(&self) -> *mut c_void {
            self.change(|bytes| bytes.as_mut_ptr().cast())
        }

        #[unsafe(method(appendBytes:length:))]
        fn append_bytes(&self, bytes: Bytes, length: usize) {
            // A copy: they may be the receiver's own, which move when it grows.
            let more = bytes.read(length).to_vec();
            self.change(|own| own.extend(more));
        }

        #[unsafe(method(appendData:))]
        fn append_data(&self, data: &NSData) {
            let more = data.to_vec();
            self.change(|own| own.extend(more));
        }

        #[unsafe(method(setLength:))]
        fn set_length(&self, length: usize) {
            self.change(|bytes| grow(bytes, "-[NSMutableData setLength:]", length));
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

/// Copies bytes to a sender's buffer.
fn copy_to(buffer: &Bytes, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let to = buffer.at_least(bytes.len());
    // SAFETY: the sender promises that the buffer may be written. It may be part of the data itself.
    unsafe { std::ptr::copy(bytes.as_ptr(), to, bytes.len()) };
}

/// The indices of a range; raises a failure for one that is not within the length.
fn within(method: &str, range: Range, length: usize) -> std::ops::Range<usize> {
    range
        .within(length)
        .unwrap_or_else(|| raise_range(&format!("{method}: {range:?} is not within data of {length} bytes")))
}

/// Gives data that length, with zeros at its end; a failure where there is no memory for it.
fn grow(bytes: &mut Vec<u8>, method: &str, length: usize) {
    let more = length.saturating_sub(bytes.len());
    if bytes.try_reserve_exact(more).is_err() {
        raise_invalid_argument(&format!("{method}: there is no memory for a length of {length}"));
    }
    bytes.resize(length, 0);
}
