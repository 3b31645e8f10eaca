//! The settings of policies, layer by layer.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anymetal_policy::adapt::{Power, ThermalState};
use anymetal_policy::ladder::Rung;
use anymetal_policy::ratio::Ratio;
use anymetal_policy::retry::{Jitter, RetryPolicy};

use super::super::{ServiceConfig, variables};
use super::*;
use anymetal_core::config::layers::from_variables;

const EVERYTHING: &str = "
[policy]
snapshot-limit = '1 MiB'
[policy.retry]
attempts = 5
base = '10 ms'
factor = 1.5
cap = '1 s'
jitter = 'full'
seed = 7
total-delay = '3 s'
[policy.breaker]
enabled = true
consecutive-failures = 3
failure-rate = '20 %'
window = '1 min'
minimum-calls = 20
open-for = '5 s'
probes = 2
opens-on-loss = false
counts-exhausted = true
[policy.bulkhead]
enabled = true
concurrency = 8
queue = 16
wait = '100 ms'
[policy.deadline]
total = '10 s'
attempt = '2 s'
[policy.ladder]
rungs = ['release-memory', 'retry']
levels = 1
[policy.adapt]
minimum = 2
maximum = 4
tolerance = 3
decrease = 0.75
interval = '1 s'
power-budget = 65
";

fn file(text: &str) -> Result<ServiceLayers, ConfigError> {
    let path = Path::new("anymetal.toml");
    let layer = ServiceLayer::from_toml(text, path)?;
    Ok(ServiceLayers { file: Some((path.to_owned(), layer)), ..ServiceLayers::default() })
}

fn policies(layers: &ServiceLayers) -> Policies {
    layers.resolve().unwrap().policy
}

#[test]
fn every_policy_is_read_from_its_section() {
    let read = policies(&file(EVERYTHING).unwrap());
    let retry =
        RetryPolicy::builder().attempts(5).base(Duration::from_millis(10)).factor(Ratio::percent(150));
    let retry = retry.cap(Duration::from_secs(1)).jitter(Jitter::Full).seed(7);
    assert_eq!(read.retry, retry.total_delay(Duration::from_secs(3)).build().unwrap());
    let breaker = read.breaker.unwrap();
    assert_eq!((breaker.consecutive_failures(), breaker.minimum_calls(), breaker.probes()), (3, 20, 2));
    assert_eq!((breaker.failure_rate(), breaker.opens_on_loss()), (Ratio::percent(20), false));
    assert!(breaker.counts_exhausted());
    let strain = |watts| read.adapt.strain(ThermalState::Nominal, Some(Power::watts(watts)));
    assert_eq!((strain(58), strain(65)), (ThermalState::Nominal, ThermalState::Serious));
    assert_eq!((breaker.window().as_secs(), breaker.open_for().as_secs()), (60, 5));
    let bulkhead = read.bulkhead.unwrap();
    assert_eq!((bulkhead.concurrency(), bulkhead.queue(), bulkhead.wait().as_millis()), (8, 16, 100));
    assert_eq!(
        read.deadline.total().zip(read.deadline.attempt()).map(|(a, b)| (a.as_secs(), b.as_secs())),
        Some((10, 2))
    );
    assert_eq!((read.ladder.rungs(), read.ladder.levels()), (&[Rung::ReleaseMemory, Rung::Retry][..], 1));
    assert_eq!((read.adapt.minimum(), read.adapt.maximum(), read.snapshot_limit), (2, 4, 1 << 20));
}

#[test]
fn without_settings_policies_are_their_defaults() {
    assert_eq!(policies(&ServiceLayers::default()), Policies::default());
    assert_eq!(ServiceConfig::default().policy, Policies::default());
    let off = file("[policy.breaker]\nenabled = false\n[policy.ladder]\nrungs = []\n").unwrap();
    assert!(policies(&off).breaker.is_none() && policies(&off).ladder.rungs().is_empty());
}

/// Every setting of the file has its variable, and the variable sets the same.
#[test]
fn every_setting_has_a_variable_that_sets_the_same() {
    let values = [
        ("SNAPSHOT_LIMIT", "1 MiB"),
        ("RETRY_ATTEMPTS", "5"),
        ("RETRY_BASE", "10 ms"),
        ("RETRY_FACTOR", "1.5"),
        ("RETRY_CAP", "1 s"),
        ("RETRY_JITTER", "full"),
        ("RETRY_SEED", "7"),
        ("RETRY_TOTAL_DELAY", "3 s"),
        ("BREAKER_ENABLED", "1"),
        ("BREAKER_CONSECUTIVE_FAILURES", "3"),
        ("BREAKER_FAILURE_RATE", "20 %"),
        ("BREAKER_WINDOW", "1 min"),
        ("BREAKER_MINIMUM_CALLS", "20"),
        ("BREAKER_OPEN_FOR", "5 s"),
        ("BREAKER_PROBES", "2"),
        ("BREAKER_OPENS_ON_LOSS", "false"),
        ("BREAKER_COUNTS_EXHAUSTED", "1"),
        ("BULKHEAD_ENABLED", "true"),
        ("BULKHEAD_CONCURRENCY", "8"),
        ("BULKHEAD_QUEUE", "16"),
        ("BULKHEAD_WAIT", "100 ms"),
        ("DEADLINE_TOTAL", "10 s"),
        ("DEADLINE_ATTEMPT", "2 s"),
        ("LADDER_RUNGS", "release-memory, retry"),
        ("LADDER_LEVELS", "1"),
        ("ADAPT_MINIMUM", "2"),
        ("ADAPT_MAXIMUM", "4"),
        ("ADAPT_TOLERANCE", "3"),
        ("ADAPT_DECREASE", "0.75"),
        ("ADAPT_INTERVAL", "1 s"),
        ("ADAPT_POWER_BUDGET", "65"),
    ];
    let known = variables().into_iter().filter_map(|(name, _)| name.strip_prefix("ANYMETAL_POLICY_"));
    assert_eq!(known.collect::<Vec<_>>(), values.map(|(name, _)| name));
    let variable = |name: &str| {
        let name = name.strip_prefix("ANYMETAL_POLICY_")?;
        values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let layer = from_variables::<ServiceLayer>(variable).unwrap();
    assert_eq!(layer, ServiceLayer::from_toml(EVERYTHING, Path::new("anymetal.toml")).unwrap());
    let none = from_variables::<ServiceLayer>(|name| {
        (name == "ANYMETAL_POLICY_LADDER_RUNGS").then(|| "none".to_owned())
    });
    assert_eq!(none.unwrap().policy.ladder.rungs, Some(Vec::new()));
}

/// The table of variables in the documentation has each setting, and no other.
#[test]
fn the_documentation_lists_every_setting() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/environment.md");
    let text = std::fs::read_to_string(file).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let of_policy = |name: &str| name.starts_with("ANYMETAL_POLICY_");
    let documented = cells.map(|(name, _)| name.to_owned()).filter(|name| of_policy(name));
    let known = variables().into_iter().map(|(name, _)| name.to_owned()).filter(|name| of_policy(name));
    assert_eq!(documented.collect::<BTreeSet<_>>(), known.collect::<BTreeSet<_>>());
}

#[test]
fn refusals_name_the_setting_its_value_and_where_it_comes_from() {
    let refused = |text: &str| file(text).unwrap().resolve().unwrap_err().to_string();
    assert_eq!(
        refused("[policy.retry]\nattempts = 0\n"),
        "policy.retry.attempts = 0 (from anymetal.toml): work that is never attempted never ends"
    );
    let mut layers = file("[policy.retry]\nbase = '2 s'\n").unwrap();
    layers.environment.policy.retry.cap = Some(Span(Duration::from_secs(1)));
    assert_eq!(
        layers.resolve().unwrap_err().to_string(),
        "policy.retry.cap = 1s (from ANYMETAL_POLICY_RETRY_CAP): shorter than retry.base"
    );
    assert!(
        refused("[policy.ladder]\nrungs = ['fallback', 'retry']\n").starts_with("policy.ladder.rungs = ")
    );
    assert!(refused("[policy.adapt]\ndecrease = 2\n").starts_with("policy.adapt.decrease = 2 (from "));
    assert!(refused("[policy.breaker]\nprobes = 0\n").starts_with("policy.breaker.probes = 0 (from "));
    assert!(refused("[policy.bulkhead]\nwait = '0 s'\n").starts_with("policy.bulkhead.wait = 0ns (from "));
    assert!(refused("[policy.deadline]\ntotal = '0 s'\n").starts_with("policy.deadline.total = 0ns (from "));
    let unknown = file("[policy.retry]\nattempt = 1\n").unwrap_err().to_string();
    assert!(unknown.contains("line 2") && unknown.contains("`attempts`"), "{unknown}");
    let rung = from_variables::<ServiceLayer>(|name| {
        (name == "ANYMETAL_POLICY_LADDER_RUNGS").then(|| "jump".to_owned())
    });
    assert!(
        rung.unwrap_err()
            .to_string()
            .starts_with("ANYMETAL_POLICY_LADDER_RUNGS: `jump` is not `none` or a list")
    );
}
