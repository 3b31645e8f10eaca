//! The metrics as Prometheus' own tool judges them: names, types, helps, units, text.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a cargo command whose output is metrics, and hands that to `promtool check metrics`.
pub(crate) fn check(root: &Path, cargo: &[&str]) -> bool {
    let mut printed = Command::new(env!("CARGO"));
    let printed = printed.args(cargo).current_dir(root).stdout(Stdio::piped()).spawn();
    let Some((mut printed, metrics)) = printed.ok().and_then(|mut child| {
        let metrics = child.stdout.take()?;
        Some((child, metrics))
    }) else {
        eprintln!("cargo does not start");
        return false;
    };
    let judged = Command::new("promtool").args(["check", "metrics"]).stdin(Stdio::from(metrics)).status();
    let printed = printed.wait();
    match judged {
        Ok(status) => status.success() && printed.is_ok_and(|status| status.success()),
        Err(error) => {
            eprintln!("promtool does not start ({error}); it is in Debian's package `prometheus`");
            false
        }
    }
}
