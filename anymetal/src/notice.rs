//! Notices: what a user should know although nothing failed.
//!
//! Owns [`Notice`], the process's list of them, and the hook that is told of each. Invariant: this crate
//! writes to no stream; a notice is an event (`anymetal.notice`), goes to the hook, and stays in the
//! list until it is taken. Each is told once per process. The list is bounded; the oldest go first.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anymetal_driver::{Compiler, Note};
use anymetal_telemetry::event;

/// The most notices that wait to be taken.
const MAX_WAITING: usize = 256;

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoticeKind {
    /// Kernels run in the interpreter, because there is no libLLVM. [`crate::Pipeline::executor`] tells of
    /// each.
    Interpreted,
    /// Compiled kernels are not kept on disk.
    CacheUnusable,
    /// A kernel has no code of its own for a threadgroup size, and runs the code for any size.
    /// [`crate::Pipeline::fallbacks`] tells of each.
    NotSpecialised,
    /// A kernel is past a compile budget and was compiled with less effort, or is interpreted.
    /// [`crate::Pipeline::reduced_effort`] tells of each.
    ReducedEffort,
    /// A kernel was compiled without optimisation, because of a bug of the compiler at the requested level.
    CompilerBug,
    /// A translation from OpenCL C or CUDA C++ that does not keep everything, such as the precision of
    /// `double`.
    Translation,
    /// The sanitizer found something, for the first time at these places.
    Finding,
    /// The tuning database cannot be used as it is.
    Tuning,
    /// Something that the settings demand of telemetry or health cannot be done.
    Telemetry,
    /// The audit log cannot be opened or written.
    Audit,
    /// A session's file was set aside, cannot be written, or has what cannot be restored.
    Session,
    /// A variable with our prefix that nothing reads.
    Settings,
    /// Something else that the compiler says.
    Other,
}

impl NoticeKind {
    /// Its name in lower case, as in events.
    pub fn id(self) -> &'static str {
        match self {
            NoticeKind::Interpreted => "interpreted",
            NoticeKind::CacheUnusable => "cache-unusable",
            NoticeKind::NotSpecialised => "not-specialised",
            NoticeKind::ReducedEffort => "reduced-effort",
            NoticeKind::CompilerBug => "compiler-bug",
            NoticeKind::Translation => "translation",
            NoticeKind::Finding => "finding",
            NoticeKind::Tuning => "tuning",
            NoticeKind::Telemetry => "telemetry",
            NoticeKind::Audit => "audit",
            NoticeKind::Session => "session",
            NoticeKind::Settings => "settings",
            NoticeKind::Other => "other",
        }
    }
}

/// Something that went on in another way than wished.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// What it is about.
    pub kind: NoticeKind,
    /// What it says, on one line.
    pub message: String,
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

type Hook = Arc<dyn Fn(&Notice) + Send + Sync>;

struct Notices {
    waiting: VecDeque<Notice>,
    hook: Option<Hook>,
    /// How many of the compiler's notes are notices already.
    compiler_notes: usize,
}

static NOTICES: Mutex<Notices> =
    Mutex::new(Notices { waiting: VecDeque::new(), hook: None, compiler_notes: 0 });

/// Sets a function that is called with each notice of this process from now on, and at once with those that
/// have not been taken yet. It replaces the function that was set before. It runs on the thread that the
/// notice comes up on, and must neither compile nor wait for work.
///
/// ```
/// anymetal::notice::set_hook(|notice| eprintln!("anymetal: {notice}"));
/// ```
pub fn set_hook(hook: impl Fn(&Notice) + Send + Sync + 'static) {
    let hook: Hook = Arc::new(hook);
    let waiting = {
        let mut notices = lock();
        notices.hook = Some(Arc::clone(&hook));
        notices.waiting.clone()
    };
    waiting.iter().for_each(|notice| hook(notice));
}

/// The notices of this process that no earlier call returned, for programs that tell them at the end.
pub fn take() -> Vec<Notice> {
    // Notes of compilations that did not go through a library of this crate, too.
    pass_on_compiler_notes();
    lock().waiting.drain(..).collect()
}

/// Adds a notice, for libraries over this crate.
pub fn emit(kind: NoticeKind, message: String) {
    event::notice(kind.id(), &message);
    let notice = Notice { kind, message };
    let hook = {
        let mut notices = lock();
        if notices.waiting.len() == MAX_WAITING {
            notices.waiting.pop_front();
        }
        notices.waiting.push_back(notice.clone());
        notices.hook.clone()
    };
    // Outside the lock: the hook may set another.
    if let Some(hook) = hook {
        hook(&notice);
    }
}

/// Tells what the compiler has noted since the last call.
pub(crate) fn pass_on_compiler_notes() {
    let (notes, told) = {
        let mut notices = lock();
        // Read under the lock: the list only grows, and no thread may set the count back.
        let notes = Compiler::global().notes();
        let told = std::mem::replace(&mut notices.compiler_notes, notes.len());
        (notes, told)
    };
    for note in notes.get(told..).unwrap_or_default() {
        emit(kind_of(note), note.to_string());
    }
}

fn kind_of(note: &Note) -> NoticeKind {
    match note {
        Note::NoLlvm(_) => NoticeKind::Interpreted,
        Note::CacheUnusable { .. } => NoticeKind::CacheUnusable,
        Note::ReducedEffort { .. } => NoticeKind::ReducedEffort,
        Note::CompilerBug { .. } => NoticeKind::CompilerBug,
        _ => NoticeKind::Other,
    }
}

fn lock() -> std::sync::MutexGuard<'static, Notices> {
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner)
}
