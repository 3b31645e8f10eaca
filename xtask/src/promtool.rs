//! The metrics as Prometheus' own tool judges them: names, types, helps, units, text.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a program whose output is metrics, and hands that to `promtool check metrics`.
pub(crate) fn check(program: &Path) -> Result<bool, String> {
    let mut printed = Command::new(program)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} does not start: {error}", program.display()))?;
    let metrics = printed.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let judged = Command::new("promtool").args(["check", "metrics"]).stdin(metrics).status();
    let printed = printed.wait();
    match judged {
        Ok(status) => Ok(status.success() && printed.is_ok_and(|status| status.success())),
        Err(error) => Err(format!("it does not start ({error}); it is in Debian's package `prometheus`")),
    }
}
