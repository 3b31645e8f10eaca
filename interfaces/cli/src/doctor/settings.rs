//! The settings in force: environment variables and the settings file, each with where it comes from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anymetal::config::Layers;
use anymetal_driver::suggest;
use anymetal_environment::{PREFIX, VARIABLES};
use anymetal_files::MAX_SOURCE_BYTES;
use anymetal_service::ServiceLayers;
use toml::Value;

use super::finding::Finding;

const PART: &str = "settings";

/// Those of this process.
pub(super) fn check() -> Vec<Finding> {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX))?;
        Some((name, value.to_string_lossy().into_owned()))
    });
    of_variables(&variables.collect())
}

fn of_variables(variables: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = variables.iter().map(|(name, value)| variable(name, value)).collect();
    if let Some(path) = variables.get("ANYMETAL_CONFIG").filter(|path| !path.is_empty()) {
        findings.extend(file(&PathBuf::from(path), variables));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(PART, "all", "the defaults"));
    }
    let core = Layers::load(None).and_then(|layers| layers.resolve()).map(drop);
    let service = ServiceLayers::load(None).and_then(|layers| layers.resolve()).map(drop);
    // What both readers refuse, such as a file that cannot be read, is one problem.
    if let Err(error) = core.and(service) {
        findings.push(Finding::problem(PART, "together", error.to_string(), "correct the value"));
    }
    findings
}

fn variable(name: &str, value: &str) -> Finding {
    if anymetal_environment::find(name).is_some() {
        return Finding::ok(PART, name, format!("{value} (environment)"));
    }
    let advice = match suggest(name, VARIABLES.iter().map(|variable| variable.name)) {
        Some(meant) => format!("nothing reads it; did you mean {meant}?"),
        None => "nothing reads it; docs/environment.md lists all variables".to_owned(),
    };
    Finding::warning(PART, name, format!("{value} (environment)"), advice)
}

fn file(path: &Path, variables: &BTreeMap<String, String>) -> Vec<Finding> {
    let text = match anymetal_files::read_text(path, MAX_SOURCE_BYTES) {
        Ok(text) => text,
        // The check of all settings together says why.
        Err(_) => return Vec::new(),
    };
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let mut settings = Vec::new();
    flatten("", &table, &mut settings);
    let place = path.display();
    let setting = |(name, value): (String, String)| {
        let variable = variable_of(&name);
        match variables.get(&variable).filter(|value| !value.trim().is_empty()) {
            Some(_) => Finding::ok(PART, name, format!("{value} ({place}; {variable} counts instead)")),
            None => Finding::ok(PART, name, format!("{value} ({place})")),
        }
    };
    settings.into_iter().map(setting).collect()
}

/// The variable of a setting: by the rule, with its one exception.
fn variable_of(setting: &str) -> String {
    match setting {
        "kernels.check" => "ANYMETAL_CHECK".to_owned(),
        setting => PREFIX.to_owned() + &setting.to_uppercase().replace(['.', '-'], "_"),
    }
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(table) => flatten(&name, table, settings),
            value => settings.push((name, value.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn variables_and_settings_are_told_with_their_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.toml");
        std::fs::write(&path, "device = 'cpu'\n[memory]\nbudget = '1 GiB'\npool-buffers = 3\n").unwrap();
        let variables = [
            ("ANYMETAL_CONFIG", path.to_str().unwrap()),
            ("ANYMETAL_MEMORY_BUDGET", "2 GiB"),
            ("ANYMETAL_MEMORY_POOL_BUFERS", "4"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let findings = of_variables(&variables);
        let value = |name: &str| &findings.iter().find(|finding| finding.name == name).unwrap().value;
        assert_eq!(value("ANYMETAL_MEMORY_BUDGET"), "2 GiB (environment)");
        assert_eq!(*value("device"), format!("\"cpu\" ({})", path.display()));
        assert!(value("memory.budget").contains("; ANYMETAL_MEMORY_BUDGET counts instead)"));
        let slip = findings.iter().find(|finding| finding.state == State::Warning).unwrap();
        assert_eq!(
            slip.advice.as_deref(),
            Some("nothing reads it; did you mean ANYMETAL_MEMORY_POOL_BUFFERS?")
        );
        assert_eq!(of_variables(&BTreeMap::new())[0].value, "the defaults");
    }

    #[test]
    fn the_rule_for_variables_finds_every_one() {
        let file =
            "device = ''\nfamily = 'apple5'\n[kernels]\nrequire-machine-code = true\ncheck = 'library'\n";
        let mut settings = Vec::new();
        flatten("", &file.parse().unwrap(), &mut settings);
        for (name, _) in settings {
            assert!(anymetal_environment::find(&variable_of(&name)).is_some(), "{name}");
        }
    }
}
