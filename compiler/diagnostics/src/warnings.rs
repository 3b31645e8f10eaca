//! Which warnings are reported: clang's `-W` options and its diagnostic pragmas.
//!
//! A warning belongs to the group that its row of the [catalogue](crate::CATALOGUE) names. Groups contain
//! groups, as clang's do (`warning_groups.txt` has a line for each group and its members). The options set a
//! level for each row; a pragma changes the levels from its place on. The front end reports all warnings that
//! are enabled anywhere in the source ([`Warnings::enabled`]); [`Warnings::apply`] then drops those that are
//! ignored at their place, promotes warnings to errors and removes repetitions.

use crate::catalogue::CATALOGUE;
use crate::{Diagnostic, Entry, FileId, Severity, SourceMap, Span};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::OnceLock;

/// The most distinct settings that pragmas may make.
const MAX_SETTINGS: usize = 10_000;

/// clang's groups: on each line a group and the groups that it contains.
const GROUPS: &str = include_str!("warning_groups.txt");

/// The severity of a warning.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Level {
    /// It is not reported.
    Ignored,
    /// It is a warning.
    Warning,
    /// It is an error.
    Error,
}

/// The `-W` options of a compilation, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct WarningOptions {
    /// What follows `-W`: `all`, `no-unused-value`, `error=shadow`.
    pub flags: Vec<String>,
    /// `-w`: no warnings at all.
    pub silent: bool,
    /// Maximum number of errors that are reported, as clang's `-ferror-limit`; 0: all.
    pub error_limit: usize,
}

impl WarningOptions {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The flags that name no group.
    pub fn unknown(&self) -> Vec<&str> {
        self.flags.iter().map(String::as_str).filter(|flag| !Setting::default().option(flag)).collect()
    }
}

/// The level of one row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct RowLevel {
    level: Level,
    /// `-Wno-error=…`: stays a warning under `-Werror`.
    never_error: bool,
}

/// The levels at some place of the source.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Setting {
    /// By the position in [`rows`].
    rows: Vec<RowLevel>,
    /// `-Werror`
    all_are_errors: bool,
    /// `-w`
    silent: bool,
}

/// A warning's row, with its group.
type Row = (&'static Entry, &'static str);

/// The rows of warnings, in the catalogue's order.
fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let entries = CATALOGUE.iter().flat_map(|group| group.entries);
        entries.filter_map(|entry| Some((entry, entry.warning?.group))).collect()
    })
}

/// The position of an id in [`rows`].
fn row_of(id: &str) -> Option<usize> {
    static POSITIONS: OnceLock<FxHashMap<&'static str, usize>> = OnceLock::new();
    let positions =
        POSITIONS.get_or_init(|| rows().iter().enumerate().map(|(n, (entry, _))| (entry.id, n)).collect());
    positions.get(id).copied()
}

/// The rows of a group and of the groups that it contains; `None` for a group that does not exist.
fn rows_of_group(name: &str) -> Option<Vec<usize>> {
    static CHILDREN: OnceLock<HashMap<&'static str, Vec<&'static str>>> = OnceLock::new();
    let children = CHILDREN.get_or_init(|| {
        let lines = GROUPS.lines().map(|line| {
            let mut words = line.split(' ');
            (words.next().unwrap_or_default(), words.collect())
        });
        lines.collect()
    });
    let is_known = children.contains_key(name) || rows().iter().any(|(_, group)| *group == name);
    let mut names = BTreeSet::new();
    let mut work = vec![name];
    while let Some(name) = work.pop() {
        if names.insert(name) {
            work.extend(children.get(name).into_iter().flatten());
        }
    }
    is_known.then(|| (0..rows().len()).filter(|&row| names.contains(rows()[row].1)).collect())
}

impl Default for Setting {
    fn default() -> Self {
        let level = |entry: &Entry| match entry.warning {
            Some(flag) if flag.is_error => Level::Error,
            Some(flag) if flag.is_default => Level::Warning,
            _ => Level::Ignored,
        };
        let row = |(entry, _): &Row| RowLevel { level: level(entry), never_error: false };
        Self { rows: rows().iter().map(row).collect(), all_are_errors: false, silent: false }
    }
}

impl Setting {
    fn of_options(options: &WarningOptions) -> Self {
        let mut setting = Self { silent: options.silent, ..Self::default() };
        for flag in &options.flags {
            setting.option(flag);
        }
        setting
    }

    /// Follows an option; false if it names no group.
    fn option(&mut self, flag: &str) -> bool {
        match flag {
            "error" => self.all_are_errors = true,
            "no-error" => self.all_are_errors = false,
            "everything" => self.rows.iter_mut().for_each(|row| enable(row, Level::Warning)),
            "no-everything" => self.rows.iter_mut().for_each(|row| row.level = Level::Ignored),
            _ => {
                let change: fn(&mut RowLevel);
                let group;
                if let Some(name) = flag.strip_prefix("no-error=") {
                    group = name;
                    change = |row| {
                        row.never_error = true;
                        if row.level == Level::Error {
                            row.level = Level::Warning;
                        }
                    };
                } else if let Some(name) = flag.strip_prefix("error=") {
                    group = name;
                    change = |row| *row = RowLevel { level: Level::Error, never_error: false };
                } else if let Some(name) = flag.strip_prefix("no-") {
                    group = name;
                    change = |row| row.level = Level::Ignored;
                } else {
                    // `-W` alone is `-Wextra`.
                    group = if flag.is_empty() { "extra" } else { flag };
                    change = |row| enable(row, Level::Warning);
                }
                return self.change_group(group, change);
            }
        }
        true
    }

    fn change_group(&mut self, group: &str, change: impl Fn(&mut RowLevel)) -> bool {
        if group == "everything" {
            self.rows.iter_mut().for_each(change);
            return true;
        }
        let Some(members) = rows_of_group(group) else { return false };
        members.into_iter().for_each(|row| change(&mut self.rows[row]));
        true
    }

    fn level(&self, row: usize) -> Level {
        let RowLevel { level, never_error } = self.rows[row];
        match level {
            Level::Warning if self.silent => Level::Ignored,
            Level::Warning if self.all_are_errors && !never_error => Level::Error,
            level => level,
        }
    }
}

/// Enables a warning that is not an error already.
fn enable(row: &mut RowLevel, level: Level) {
    if row.level == Level::Ignored {
        row.level = level;
    }
}

/// The result of a diagnostic pragma.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PragmaOutcome {
    /// It is in force.
    Done,
    /// It names a group that does not exist.
    UnknownGroup,
    /// A `pop` without a `push`.
    NothingToPop,
    /// There are too many, and it is ignored.
    TooMany,
}

/// The warnings of one compilation.
#[derive(Clone, Debug)]
pub struct Warnings {
    /// Distinct settings; the first is that of the options.
    settings: Vec<Setting>,
    known: HashMap<Setting, u32>,
    current: u32,
    stack: Vec<u32>,
    /// By file, the setting from a byte on, in order. Until the first byte the options hold.
    changes: BTreeMap<FileId, Vec<(u32, u32)>>,
    /// The files before this one are of the Metal library, about which nothing is reported.
    first_user_file: u32,
    error_limit: usize,
}

impl Default for Warnings {
    fn default() -> Self {
        Self::new(&WarningOptions::default(), 0)
    }
}

impl Warnings {
    /// The warnings that options enable. `first_user_file` is the number of files of the Metal library.
    pub fn new(options: &WarningOptions, first_user_file: u32) -> Self {
        let setting = Setting::of_options(options);
        Self {
            settings: vec![setting.clone()],
            known: HashMap::from([(setting, 0)]),
            current: 0,
            stack: Vec::new(),
            changes: BTreeMap::new(),
            first_user_file,
            error_limit: options.error_limit,
        }
    }

    // --- pragmas

    /// `push`
    pub fn push(&mut self) -> PragmaOutcome {
        if self.stack.len() >= MAX_SETTINGS {
            return PragmaOutcome::TooMany;
        }
        self.stack.push(self.current);
        PragmaOutcome::Done
    }

    /// `pop`, at a place of a file.
    pub fn pop(&mut self, place: Span) -> PragmaOutcome {
        let Some(setting) = self.stack.pop() else { return PragmaOutcome::NothingToPop };
        self.current = setting;
        self.continue_in(place.file, place.lo);
        PragmaOutcome::Done
    }

    /// Sets the level of a group from a place on.
    pub fn set(&mut self, group: &str, level: Level, place: Span) -> PragmaOutcome {
        let mut setting = self.settings[self.current as usize].clone();
        if !setting.change_group(group, |row| row.level = level) {
            return PragmaOutcome::UnknownGroup;
        }
        if let Some(&known) = self.known.get(&setting) {
            self.current = known;
        } else if self.settings.len() >= MAX_SETTINGS {
            return PragmaOutcome::TooMany;
        } else {
            self.current = self.settings.len() as u32;
            self.known.insert(setting.clone(), self.current);
            self.settings.push(setting);
        }
        self.continue_in(place.file, place.lo);
        PragmaOutcome::Done
    }

    /// A file is read from its beginning.
    pub fn enter(&mut self, file: FileId) {
        if self.current != 0 || self.changes.contains_key(&file) {
            self.changes.insert(file, vec![(0, self.current)]);
        }
    }

    /// The current setting holds in a file from a byte on.
    pub fn continue_in(&mut self, file: FileId, from: u32) {
        let last = self.changes.get(&file).and_then(|changes| changes.last()).map_or(0, |change| change.1);
        if last != self.current {
            self.changes.entry(file).or_default().push((from, self.current));
        }
    }

    // --- levels

    /// The warnings that are reported anywhere in the source.
    pub fn enabled(&self) -> EnabledWarnings {
        let any = |row| self.settings.iter().any(|setting| setting.level(row) != Level::Ignored);
        let first_user_file = self.first_user_file;
        EnabledWarnings { rows: (0..rows().len()).map(any).collect(), first_user_file }
    }

    fn level_at(&self, row: usize, place: Span) -> Level {
        let changes = self.changes.get(&place.file).map_or(&[][..], Vec::as_slice);
        let before = changes.partition_point(|&(from, _)| from <= place.lo);
        let setting = before.checked_sub(1).map_or(0, |n| changes[n].1);
        self.settings[setting as usize].level(row)
    }

    /// Sets the levels and groups of warnings; drops those that are ignored, that are about the Metal
    /// library, or that repeat another: a template is warned about once, not once for each instantiation.
    /// After the limit of errors the list ends.
    pub fn apply(&self, map: &SourceMap, list: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let mut seen = HashSet::new();
        let applied = list.into_iter().filter_map(|diagnostic| self.applied(map, diagnostic, &mut seen));
        let mut applied: Vec<Diagnostic> = applied.collect();
        let mut errors = (0..applied.len()).filter(|&n| applied[n].severity == Severity::Error);
        let first_left_out = (self.error_limit > 0).then(|| errors.nth(self.error_limit)).flatten();
        if let Some(first) = first_left_out {
            let more = 1 + errors.count();
            applied.truncate(first);
            let message = format!("too many errors: {more} more are not shown");
            applied.push(Diagnostic::error("too-many-errors", Span::NONE, message));
        }
        applied
    }

    fn applied(
        &self,
        map: &SourceMap,
        mut diagnostic: Diagnostic,
        seen: &mut HashSet<(&'static str, Span)>,
    ) -> Option<Diagnostic> {
        if diagnostic.severity != Severity::Warning {
            return Some(diagnostic);
        }
        let Some(row) = row_of(diagnostic.id) else { return Some(diagnostic) };
        let place = map.outermost(diagnostic.span);
        let of_library = |span: Span| !span.is_none() && span.file.0 < self.first_user_file;
        if of_library(place) || of_library(diagnostic.span) || !seen.insert((diagnostic.id, diagnostic.span))
        {
            return None;
        }
        diagnostic.group = Some(rows()[row].1);
        match self.level_at(row, place) {
            Level::Ignored => return None,
            Level::Warning => {}
            Level::Error => diagnostic.severity = Severity::Error,
        }
        Some(diagnostic)
    }
}

/// Which warnings are reported anywhere in a source.
#[derive(Clone, Debug, Default)]
pub struct EnabledWarnings {
    rows: Vec<bool>,
    first_user_file: u32,
}

impl EnabledWarnings {
    /// Whether a place is in the Metal library, about which nothing is reported.
    pub fn is_of_library(&self, place: Span) -> bool {
        place.file.0 < self.first_user_file
    }

    /// Whether a place is in the file that is compiled, not in one that it includes.
    pub fn is_main_file(&self, place: Span) -> bool {
        place.file.0 == self.first_user_file
    }

    /// Whether this warning is.
    pub fn contains(&self, id: &str) -> bool {
        row_of(id).is_some_and(|row| self.rows.get(row).copied().unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(flags: &[&str], silent: bool, id: &str) -> Level {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let warnings = Warnings::new(&WarningOptions { flags, silent, error_limit: 0 }, 0);
        warnings.level_at(row_of(id).expect("a warning"), Span::NONE)
    }

    #[test]
    fn options_hold_in_their_order() {
        assert_eq!(level(&[], false, "unused-value"), Level::Warning);
        assert_eq!(level(&[], false, "unused-variable"), Level::Ignored);
        assert_eq!(level(&["all"], false, "unused-variable"), Level::Warning);
        assert_eq!(level(&["all", "no-unused"], false, "unused-variable"), Level::Ignored);
        assert_eq!(level(&["no-unused", "all"], false, "unused-variable"), Level::Warning);
        assert_eq!(level(&["everything"], false, "shadow"), Level::Warning);
        assert_eq!(level(&["everything"], true, "shadow"), Level::Ignored);
    }

    #[test]
    fn warnings_become_errors() {
        assert_eq!(level(&["error"], false, "unused-value"), Level::Error);
        assert_eq!(level(&["error"], false, "unused-variable"), Level::Ignored);
        assert_eq!(level(&["error=unused"], false, "unused-variable"), Level::Error);
        assert_eq!(level(&["error=unused", "unused"], false, "unused-variable"), Level::Error);
        assert_eq!(level(&["error", "no-error=unused-value"], false, "unused-value"), Level::Warning);
        assert_eq!(level(&["error=unused-value"], true, "unused-value"), Level::Error);
    }

    #[test]
    fn after_the_limit_of_errors_the_list_ends() {
        let limit = |error_limit| {
            let warnings = Warnings::new(&WarningOptions { error_limit, ..WarningOptions::default() }, 0);
            let error = |n: u32| Diagnostic::error("unknown-name", Span::new(FileId(9), n, n + 1), "m");
            let list =
                vec![error(0), error(1), Diagnostic::warning("unused-value", Span::NONE, "w"), error(2)];
            let applied = warnings.apply(&SourceMap::new(), list);
            applied.iter().map(|diagnostic| diagnostic.id).collect::<Vec<_>>()
        };
        assert_eq!(limit(0).len(), 4);
        assert_eq!(limit(3).len(), 4);
        assert_eq!(limit(2), ["unknown-name", "unknown-name", "unused-value", "too-many-errors"]);
        assert_eq!(limit(1), ["unknown-name", "too-many-errors"]);
    }

    #[test]
    fn unknown_groups_are_known_as_such() {
        let flags = ["all", "c++17-extensions", "no-error=nothing", "nothing"].map(str::to_owned).to_vec();
        assert_eq!(
            WarningOptions { flags, ..WarningOptions::default() }.unknown(),
            ["no-error=nothing", "nothing"]
        );
    }

    #[test]
    fn pragmas_hold_from_their_place_to_the_pop() {
        let mut map = SourceMap::new();
        let file = map.add_file("a", " ".repeat(100));
        let at = |lo| Span::new(file, lo, lo + 1);
        let mut warnings = Warnings::default();
        assert_eq!(warnings.push(), PragmaOutcome::Done);
        assert_eq!(warnings.set("unused", Level::Ignored, at(10)), PragmaOutcome::Done);
        assert_eq!(warnings.set("unused", Level::Error, at(20)), PragmaOutcome::Done);
        assert_eq!(warnings.pop(at(30)), PragmaOutcome::Done);
        assert_eq!(warnings.pop(at(31)), PragmaOutcome::NothingToPop);
        assert_eq!(warnings.set("no-such-group", Level::Error, at(40)), PragmaOutcome::UnknownGroup);
        let row = row_of("unused-value").expect("a warning");
        let levels = [5, 15, 25, 35].map(|lo| warnings.level_at(row, at(lo)));
        assert_eq!(levels, [Level::Warning, Level::Ignored, Level::Error, Level::Warning]);
        let reported = [5, 15, 25].map(|lo| Diagnostic::warning("unused-value", at(lo), "m"));
        let applied = warnings.apply(&map, reported.to_vec());
        let severities: Vec<Severity> = applied.iter().map(|d| d.severity).collect();
        assert_eq!(severities, [Severity::Warning, Severity::Error]);
    }
}
