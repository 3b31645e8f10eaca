//! The errors of a subcommand, and its exit codes.
//!
//! Invariant: 1 means that the same input will never work, 2 that the command line itself is wrong, 4 that
//! the device or the run failed.

use std::io::IsTerminal;
use std::process::ExitCode;

use anymetal::Error;
use anymetal::error::ErrorClass;
use anymetal::notice::NoticeKind;
use anymetal_driver::CompileError;
use anymetal_driver::types::family::FeatureUse;
use serde_json::{Value, json};

/// Why a subcommand did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line is invalid.
    Usage(String),
    /// A file, an argument or a value is wrong.
    Input(String),
    /// The source or the request to the compiler is wrong, or the compiler failed.
    Compile(CompileError),
    /// The device refused before anything ran.
    Refused(Error),
    /// The kernel ran and did not finish well.
    Run(Error),
    /// Everything was reported already; only the exit code remains.
    Told(u8),
}

impl Failure {
    /// The exit code as the contract gives it.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => 2,
            Failure::Input(_) => 1,
            Failure::Compile(error) if error.is_user_error() => 1,
            Failure::Compile(_) => 4,
            Failure::Refused(error) if error.class() == ErrorClass::Caller => 1,
            Failure::Refused(_) | Failure::Run(_) => 4,
            Failure::Told(code) => *code,
        })
    }

    /// Tells it on stderr, in colour on a terminal.
    pub(crate) fn report(&self) {
        match self {
            Failure::Compile(error) => eprint!("{}", error.render_text(stderr_has_colour())),
            Failure::Refused(Error::Compile(failure)) => {
                eprint!("{}", failure.render_text(stderr_has_colour()));
            }
            Failure::Told(_) => {}
            other => eprintln!("error: {}", other.message()),
        }
    }

    /// One word for programs.
    pub(crate) fn status(&self) -> &'static str {
        use anymetal::error::DeviceError as D;
        match self {
            Failure::Usage(_) => "usage",
            Failure::Input(_) => "invalid",
            Failure::Compile(error) if error.is_user_error() => "invalid",
            Failure::Refused(error) if error.class() == ErrorClass::Caller => "invalid",
            Failure::Run(Error::Device(D::OutOfBounds(_))) => "out-of-bounds",
            Failure::Run(Error::Device(D::DeadlineExceeded { .. })) => "timeout",
            Failure::Compile(_) | Failure::Refused(_) | Failure::Run(_) | Failure::Told(_) => "failed",
        }
    }

    /// The `error` field of JSON output.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({ "message": self.message() });
        match self {
            Failure::Compile(compile) => add_compile_error(&mut error, compile),
            Failure::Refused(Error::Compile(failure)) => add_compile_error(&mut error, failure.error()),
            Failure::Run(Error::Device(anymetal::error::DeviceError::OutOfBounds(fault))) => {
                error["argument"] = json!(fault.argument);
                error["argument_name"] = json!(fault.argument_name);
                error["access"] = json!(fault.kind.word());
                error["index"] = json!(fault.element_index);
                error["byte_offset"] = json!(fault.byte_offset);
                error["file"] = json!(fault.file);
                error["line"] = json!(fault.line);
                error["column"] = json!(fault.column);
            }
            _ => {}
        }
        error
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Failure::Usage(message) | Failure::Input(message) => message.clone(),
            Failure::Compile(error) => error.to_string(),
            Failure::Refused(error) | Failure::Run(error) => error.to_string(),
            Failure::Told(_) => String::new(),
        }
    }
}

fn add_compile_error(error: &mut Value, compile: &CompileError) {
    error["id"] = json!(compile.id());
    if let CompileError::Family(refusal) = compile {
        error["family"] = json!(refusal.family);
        let used = |used: &FeatureUse| {
            json!({
                "feature": used.feature.name(),
                "first_family": used.feature.first_family(),
                "file": used.file,
                "line": used.line,
                "column": used.column,
            })
        };
        error["uses"] = refusal.uses.iter().map(used).collect();
        error["threadgroup_bytes"] = json!(refusal.threadgroup_bytes);
    }
    error["diagnostics"] = diagnostics(&compile.render_json());
}

/// The first error of a translation that failed.
/// Rendered diagnostics as a value.
fn diagnostics(rendered: &str) -> Value {
    serde_json::from_str(rendered).expect("rendered diagnostics are JSON")
}

impl From<CompileError> for Failure {
    fn from(error: CompileError) -> Self {
        Failure::Compile(error)
    }
}

/// An error of a call that runs nothing.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

/// Whether diagnostics may use colours.
pub(crate) fn stderr_has_colour() -> bool {
    has_colour(&std::io::stderr())
}

/// Whether text may use colours: a terminal, and colours are not disabled.
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints the compiler's notes and warnings for the user that are not errors.
pub(crate) fn report_notes() {
    for notice in anymetal::notice::take() {
        match notice.kind {
            NoticeKind::ReducedEffort | NoticeKind::CompilerBug => {
                eprintln!("warning[{}]: {notice}", notice.kind.id())
            }
            _ => eprintln!("note: {notice}"),
        }
    }
}
