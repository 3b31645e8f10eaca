//! What a check found.

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ok,
    /// It works, and not as well as it could.
    Warning,
    /// Something does not work.
    Problem,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// The part of the machine.
    pub(super) part: &'static str,
    /// What was looked at.
    pub(super) name: String,
    pub(super) state: State,
    /// What was found.
    pub(super) value: String,
    /// What to do.
    pub(super) advice: Option<String>,
}

impl Finding {
    pub(super) fn ok(part: &'static str, name: impl Into<String>, value: impl Into<String>) -> Self {
        Finding { part, name: name.into(), state: State::Ok, value: value.into(), advice: None }
    }

    pub(super) fn warning(
        part: &'static str,
        name: impl Into<String>,
        value: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        let finding = Finding::ok(part, name, value);
        Finding { state: State::Warning, advice: Some(advice.into()), ..finding }
    }

    pub(super) fn problem(
        part: &'static str,
        name: impl Into<String>,
        value: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Finding { state: State::Problem, ..Finding::warning(part, name, value, advice) }
    }
}

/// Bytes, as people read them.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["bytes", "KiB", "MiB", "GiB"];
    let step = (0..UNITS.len() - 1).take_while(|&step| count >> (10 * (step + 1)) > 0).count();
    match step {
        0 => format!("{count} bytes"),
        step => format!("{:.1} {}", count as f64 / f64::from(1u32 << (10 * step)), UNITS[step]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_leaves_a_whole() {
        let shown = [0, 1023, 1024, 1 << 20, 3 << 29, 1 << 41].map(bytes);
        assert_eq!(shown, ["0 bytes", "1023 bytes", "1.0 KiB", "1.0 MiB", "1.5 GiB", "2048.0 GiB"]);
    }
}
