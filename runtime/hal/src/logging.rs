//! Messages from kernels: the log of a command buffer, from the binding to the text.
//!
//! Owns [`attach`], which binds a log to the dispatches of kernels with messages before a queue is given
//! them, and [`CommandLog::collect`], which reads it when they have ended. Invariant: a log has the size that
//! it was made with, whatever kernels write; messages that do not fit are counted; whatever the log's bytes
//! are, collecting ends and gives text. The layout is [`anymetal_abi::logging`]'s.

mod print;

use std::fmt;
use std::sync::Arc;

use anymetal_abi::logging::{
    CAPACITY, DROPPED, HEADER_WORDS, LogSite, Piece, RECORD_WORDS, USED, parse_format, record_words,
};

use crate::artifact::KernelInfo;
use crate::buffer::{Buffer, BufferDescriptor};
use crate::command::{Binding, BoundResource, Command};
use crate::device::Device;
use crate::error::DeviceError;
use anymetal_types::texture::BindingRole;

pub use anymetal_abi::logging::LogLevel;

/// Bytes of a log where nothing else is said.
pub const DEFAULT_LOG_BYTES: u64 = 1 << 20;

/// The least bytes of a log, as Metal has it.
pub const MIN_LOG_BYTES: u64 = 1 << 10;

/// The most bytes of a log.
pub const MAX_LOG_BYTES: u64 = 1 << 30;

/// A message of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogMessage {
    /// How grave it is.
    pub level: LogLevel,
    /// The subsystem of its log; empty for `os_log_default`.
    pub subsystem: String,
    /// The category of its log; empty for `os_log_default`.
    pub category: String,
    /// The text.
    pub text: String,
    /// The kernel.
    pub kernel: String,
    /// The number of its command in the command buffer.
    pub command: usize,
    /// The position of the thread in the grid.
    pub thread: [u32; 3],
    /// The position of its threadgroup in the grid.
    pub threadgroup: [u32; 3],
}

impl fmt::Display for LogMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, subsystem, category, text, kernel, thread: [x, y, z], .. } = self;
        write!(formatter, "{kernel} ({x},{y},{z}) {}", level.name())?;
        if !subsystem.is_empty() || !category.is_empty() {
            write!(formatter, " [{subsystem}:{category}]")?;
        }
        write!(formatter, ": {text}")
    }
}

/// The messages of a command buffer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Logs {
    /// By command, then by threadgroup; those of one thread in the order in which it wrote them.
    pub messages: Vec<LogMessage>,
    /// How many more there were for which the log had no room.
    pub dropped: u64,
}

impl Logs {
    /// The first message of `log_fault`.
    pub fn first_fault(&self) -> Option<&LogMessage> {
        self.messages.iter().find(|message| message.level == LogLevel::Fault)
    }

    /// The first fault, as the error that its command buffer ends with.
    pub fn error(&self) -> Option<DeviceError> {
        let LogMessage { kernel, text, thread, .. } = self.first_fault()?;
        Some(DeviceError::LogFault { kernel: kernel.clone(), message: text.clone(), thread: *thread })
    }
}

/// The log of a command buffer that runs or has run.
#[derive(Debug)]
pub struct CommandLog {
    buffer: Arc<dyn Buffer>,
    dispatches: Vec<LoggedDispatch>,
}

#[derive(Debug)]
struct LoggedDispatch {
    command: usize,
    kernel: String,
    group_size: [u32; 3],
    sites: Vec<LogSite>,
}

/// Binds a log of that many bytes to the dispatches of kernels with messages; `None`: there are none. The log
/// belongs to the commands: to be made once for each submission.
pub fn attach(
    commands: &mut [Command],
    device: &dyn Device,
    bytes: u64,
) -> Result<Option<CommandLog>, DeviceError> {
    let mut log: Option<CommandLog> = None;
    for (number, command) in commands.iter_mut().enumerate() {
        let Some(dispatch) = command.dispatch_mut() else { continue };
        let group_size = dispatch.group_size();
        let (kernel, bindings) = dispatch.late_bindings();
        if !kernel.has_messages() {
            continue;
        }
        let log = match &mut log {
            Some(log) => log,
            None => log.insert(CommandLog::new(device, bytes)?),
        };
        log.bind(number, kernel, group_size, bindings);
    }
    Ok(log)
}

impl CommandLog {
    fn new(device: &dyn Device, bytes: u64) -> Result<Self, DeviceError> {
        let length = bytes.clamp(MIN_LOG_BYTES, MAX_LOG_BYTES) & !3;
        let descriptor = BufferDescriptor { label: "log".to_owned(), ..BufferDescriptor::shared(length) };
        let buffer = device.buffer(&descriptor)?;
        let capacity = (length / 4) as u32 - HEADER_WORDS;
        buffer.write(u64::from(CAPACITY) * 4, &capacity.to_le_bytes())?;
        Ok(CommandLog { buffer, dispatches: Vec::new() })
    }

    fn bind(
        &mut self,
        command: usize,
        kernel: &KernelInfo,
        group_size: [u32; 3],
        bindings: &mut Vec<Binding>,
    ) {
        let number = self.dispatches.len() as u32;
        let log = BoundResource::Buffer { buffer: Arc::clone(&self.buffer), offset: 0, length: None };
        let resources = [
            (BindingRole::Log, log),
            (BindingRole::LogCommand, BoundResource::Bytes(number.to_le_bytes().into())),
        ];
        for (role, resource) in resources {
            bindings.extend(role.index().map(|index| Binding { index, resource }));
        }
        let (kernel, sites) = (kernel.name.clone(), kernel.logs.clone());
        self.dispatches.push(LoggedDispatch { command, kernel, group_size, sites });
    }

    /// The messages, once the command buffer has ended.
    pub fn collect(&self) -> Result<Logs, DeviceError> {
        let mut header = [0; HEADER_WORDS as usize * 4];
        self.buffer.read(0, &mut header)?;
        let header = words(&header);
        let room = self.buffer.length() / 4 - u64::from(HEADER_WORDS);
        let used = u64::from(header[USED as usize]).min(room);
        let mut bytes = vec![0; used as usize * 4];
        self.buffer.read(u64::from(HEADER_WORDS) * 4, &mut bytes)?;
        let mut messages = self.messages(&words(&bytes));
        messages.sort_by_key(|message| {
            let [x, y, z] = message.threadgroup;
            (message.command, z, y, x)
        });
        Ok(Logs { messages, dropped: header[DROPPED as usize].into() })
    }

    fn messages(&self, words: &[u32]) -> Vec<LogMessage> {
        // The formats of a site are parsed once.
        let parsed = |dispatch: &LoggedDispatch| -> Vec<Vec<Piece>> {
            dispatch.sites.iter().map(|site| parse_format(&site.format).unwrap_or_default()).collect()
        };
        let formats: Vec<_> = self.dispatches.iter().map(parsed).collect();
        let mut messages = Vec::new();
        let mut rest = words;
        while let [number, dispatch, x, y, z, arguments @ ..] = rest {
            let (site, thread) = (number.wrapping_sub(1) as usize, [*x, *y, *z]);
            let Some(of) = self.dispatches.get(*dispatch as usize) else { break };
            let (Some(known), Some(format)) = (of.sites.get(site), formats[*dispatch as usize].get(site))
            else {
                break;
            };
            let taken = (record_words(format) - RECORD_WORDS) as usize;
            let Some((arguments, after)) = arguments.split_at_checked(taken) else { break };
            messages.push(LogMessage {
                level: known.level,
                subsystem: known.subsystem.clone(),
                category: known.category.clone(),
                text: print::message(format, arguments),
                kernel: of.kernel.clone(),
                command: of.command,
                thread,
                threadgroup: std::array::from_fn(|axis| thread[axis] / of.group_size[axis].max(1)),
            });
            rest = after;
        }
        messages
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
