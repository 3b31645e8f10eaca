//! `MTLLogState`: where messages of kernels go, and the handlers that are told of them.
//!
//! Messages reach their handlers on the queue's thread, once their command buffer has ended and before its
//! completion handlers. Without a log state, or with one that has no handlers, they are printed, as Metal's
//! go to the system's log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use anymetal::log::{LogLevel, LogMessage, Logs};
use block2::{Block, RcBlock};
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::descriptor::{descriptor, locked};
use crate::foundation::NSString;

/// Subsystem and category, which are nil for `os_log_default`, the level, the text.
type Handler = dyn Fn(*mut NSString, *mut NSString, isize, *mut NSString);

descriptor! {
    /// What log state to make.
    LogStateDescriptor = "MTLLogStateDescriptor", LogStateProperties;
    values {
        level, set_level: isize = 0, [level] [setLevel:];
        buffer_size, set_buffer_size: isize = 0, [bufferSize] [setBufferSize:];
    }
    objects {}
}

/// The instance variables of a log state.
pub(crate) struct LogStateIvars {
    /// The least `MTLLogLevel` that is told; 0: all.
    level: isize,
    /// Bytes of a command buffer's log; 0: those of the default.
    bytes: u64,
    handlers: Mutex<Vec<RcBlock<Handler>>>,
}

impl std::fmt::Debug for LogStateIvars {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LogStateIvars").field("level", &self.level).finish_non_exhaustive()
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalLogState"]
    #[ivars = LogStateIvars]
    #[derive(Debug)]
    pub(crate) struct LogState;

    impl LogState {
        #[unsafe(method(addLogHandler:))]
        fn add_handler(&self, handler: &Block<Handler>) {
            locked(&self.ivars().handlers).push(handler.copy());
        }
    }
);

impl LogState {
    /// The log state of a descriptor.
    pub(crate) fn of(descriptor: &LogStateDescriptor) -> Retained<Self> {
        let properties = descriptor.ivars();
        let bytes = u64::try_from(properties.buffer_size()).unwrap_or(0);
        let (level, handlers) = (properties.level(), Mutex::default());
        crate::foundation::object(LogStateIvars { level, bytes, handlers })
    }

    /// The bytes that a command buffer's log is to have, if that was said.
    pub(crate) fn bytes(&self) -> Option<u64> {
        Some(self.ivars().bytes).filter(|&bytes| bytes > 0)
    }

    fn tell(&self, logs: &Logs) {
        // A handler may add one.
        let handlers = locked(&self.ivars().handlers).clone();
        let told = |message: &&LogMessage| level(message.level) >= self.ivars().level;
        for message in logs.messages.iter().filter(told) {
            if handlers.is_empty() {
                print(&message.to_string());
            }
            let name = |text: &str| (!text.is_empty()).then(|| NSString::of(text));
            let (subsystem, category) = (name(&message.subsystem), name(&message.category));
            let text = NSString::of(&message.text);
            let pointer = |string: &Option<Retained<NSString>>| {
                string.as_ref().map_or(std::ptr::null_mut(), |string| Retained::as_ptr(string).cast_mut())
            };
            for handler in &handlers {
                let text = Retained::as_ptr(&text).cast_mut();
                handler.call((pointer(&subsystem), pointer(&category), level(message.level), text));
            }
        }
    }
}

/// `MTLLogLevel`
fn level(of: LogLevel) -> isize {
    match of {
        LogLevel::Debug => 1,
        LogLevel::Info => 2,
        LogLevel::Default => 3,
        LogLevel::Error => 4,
        LogLevel::Fault => 5,
    }
}

/// The log state that a descriptor's property is.
pub(crate) fn log_state_of(object: Option<Retained<AnyObject>>) -> Option<Retained<LogState>> {
    object.and_then(|object| object.downcast::<LogState>().ok())
}

/// Whether a library with logging was made: others have no messages.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// A library with logging is made.
pub(crate) fn enable() {
    ENABLED.store(true, Ordering::Relaxed);
}

/// Whether there may be messages.
pub(crate) fn is_enabled() -> bool {
    ENABLED.load(Ordering::Relaxed)
}

/// Tells the handlers of a command buffer's messages.
pub(crate) fn deliver(state: Option<&LogState>, logs: Option<Arc<Logs>>) {
    let Some(logs) = logs else { return };
    match state {
        Some(state) => state.tell(&logs),
        None => logs.messages.iter().for_each(|message| print(&message.to_string())),
    }
    if logs.dropped > 0 {
        print(&format!("{} more messages of kernels were lost: the log was full", logs.dropped));
    }
}

#[allow(clippy::print_stderr, reason = "this is where messages of kernels go by default")]
fn print(line: &str) {
    eprintln!("{line}");
}
