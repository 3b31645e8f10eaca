//! The form of a workload's file.
//!
//! Owns [`Description`]. Invariant: a description that was read names only queues, buffers, graphs and steps
//! that it has, and each of its steps and nodes does exactly one thing.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use anymetal::command::Priority;
use anymetal::profile::CountedWork;
use serde::Deserialize;

use crate::failure::Failure;
use crate::source_file::read_text;

/// A workload.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    /// The kernels' source, relative to the description.
    pub(super) source: std::path::PathBuf,
    /// Rounds.
    #[serde(default = "once")]
    pub(super) repeat: NonZeroU32,
    /// What each buffer holds at first.
    #[serde(default)]
    pub(super) buffers: BTreeMap<String, String>,
    #[serde(default, rename = "queue")]
    pub(super) queues: Vec<QueueDescription>,
    #[serde(default, rename = "step")]
    pub(super) steps: Vec<Step>,
    #[serde(default, rename = "graph")]
    pub(super) graphs: Vec<GraphDescription>,
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueueDescription {
    pub(super) name: String,
    #[serde(default)]
    priority: PriorityName,
}

impl QueueDescription {
    pub(super) fn priority(&self) -> Priority {
        match self.priority {
            PriorityName::Low => Priority::Low,
            PriorityName::Normal => Priority::Normal,
            PriorityName::High => Priority::High,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PriorityName {
    Low,
    #[default]
    Normal,
    High,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphDescription {
    pub(super) name: String,
    #[serde(rename = "node")]
    pub(super) nodes: Vec<Step>,
}

/// A step, or a node of a graph.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) queue: Option<String>,
    #[serde(default)]
    pub(super) after: Vec<String>,
    kernel: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    threads: Option<Sizes>,
    groups: Option<Sizes>,
    group: Option<Sizes>,
    copy: Option<[String; 2]>,
    fill: Option<String>,
    value: Option<u8>,
    graph: Option<String>,
    #[serde(default)]
    pub(super) queues: Vec<String>,
    flop: Option<u64>,
    bytes: Option<u64>,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Action<'a> {
    Kernel { kernel: &'a str, args: &'a [String], grid: GridSizes<'a>, group: Option<&'a Sizes> },
    Copy { from: &'a str, to: &'a str },
    Fill { buffer: &'a str, value: u8 },
    Graph(&'a str),
}

#[derive(Debug)]
pub(super) enum GridSizes<'a> {
    Threads(&'a Sizes),
    Groups(&'a Sizes),
}

/// One to three extents.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Sizes {
    One(u32),
    Some(Vec<u32>),
}

impl Sizes {
    fn is_valid(&self) -> bool {
        match self {
            Sizes::One(_) => true,
            Sizes::Some(sizes) => (1..=3).contains(&sizes.len()),
        }
    }
}

impl Step {
    /// What it does, and exactly that.
    pub(super) fn action(&self) -> Result<Action<'_>, String> {
        let wrong = |problem: &str| format!("`{}`: {problem}", self.name);
        let kinds = [self.kernel.is_some(), self.copy.is_some(), self.fill.is_some(), self.graph.is_some()];
        if kinds.iter().filter(|is| **is).count() != 1 {
            return Err(wrong("give one of kernel, copy, fill and graph"));
        }
        let sizes = [&self.threads, &self.groups, &self.group];
        if self.kernel.is_none() && (sizes.iter().any(|size| size.is_some()) || !self.args.is_empty()) {
            return Err(wrong("args, threads, groups and group are for kernels"));
        }
        if self.kernel.is_none() && (self.flop.is_some() || self.bytes.is_some()) {
            return Err(wrong("flop and bytes are for kernels"));
        }
        if self.fill.is_none() && self.value.is_some() {
            return Err(wrong("value is for fill"));
        }
        if sizes.into_iter().flatten().any(|size| !size.is_valid()) {
            return Err(wrong("a grid has one to three dimensions"));
        }
        if let Some(kernel) = &self.kernel {
            let grid = match (&self.threads, &self.groups) {
                (Some(threads), None) => GridSizes::Threads(threads),
                (None, Some(groups)) => GridSizes::Groups(groups),
                _ => return Err(wrong("a kernel needs threads or groups")),
            };
            return Ok(Action::Kernel { kernel, args: &self.args, grid, group: self.group.as_ref() });
        }
        Ok(match (&self.copy, &self.fill, &self.graph) {
            (Some([from, to]), ..) => Action::Copy { from, to },
            (_, Some(buffer), _) => Action::Fill { buffer, value: self.value.unwrap_or_default() },
            (.., graph) => Action::Graph(graph.as_deref().unwrap_or_default()),
        })
    }
}

impl Description {
    /// The counted work of one run, by the name under which a report adds up: a step's kernel, a graph's
    /// node. Where steps of the same kernel count differently there is none.
    pub(super) fn work(&self) -> BTreeMap<String, CountedWork> {
        let nodes = self.graphs.iter().flat_map(|graph| &graph.nodes).map(|node| (Some(&node.name), node));
        let steps = self.steps.iter().map(|step| (step.kernel.as_ref(), step));
        let mut work: BTreeMap<String, Option<CountedWork>> = BTreeMap::new();
        for (name, step) in steps.chain(nodes) {
            let (Some(name), true) = (name, step.kernel.is_some()) else { continue };
            let counted = match (step.flop, step.bytes) {
                (None, None) => None,
                (flop, bytes) => Some(CountedWork { flop: flop.unwrap_or(0), bytes: bytes.unwrap_or(0) }),
            };
            let known = work.entry(name.clone()).or_insert(counted);
            *known = known.filter(|_| *known == counted);
        }
        work.into_iter().filter_map(|(name, counted)| Some((name, counted?))).collect()
    }

    /// Reads and checks a file.
    pub(super) fn read(path: &Path) -> Result<Description, Failure> {
        let wrong = |problem: String| Failure::Input(format!("{}: {problem}", path.display()));
        let text = read_text(path)?;
        let description: Description =
            toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        description.check().map_err(wrong)?;
        Ok(description)
    }

    fn check(&self) -> Result<(), String> {
        let queues: Vec<&str> = self.queues.iter().map(|queue| queue.name.as_str()).collect();
        let graphs: Vec<&str> = self.graphs.iter().map(|graph| graph.name.as_str()).collect();
        let steps: Vec<&str> = self.steps.iter().map(|step| step.name.as_str()).collect();
        for (what, names) in [("queue", &queues), ("graph", &graphs), ("step", &steps)] {
            if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
                return Err(format!("there are two {what}s `{}`", twice.1));
            }
        }
        if self.steps.is_empty() {
            return Err("there is no step".to_owned());
        }
        for (number, step) in self.steps.iter().enumerate() {
            let places = match step.action()? {
                Action::Graph(graph) => {
                    known("graph", graph, &graphs, &step.name)?;
                    if step.queue.is_some() || step.queues.is_empty() {
                        return Err(format!("`{}`: a graph runs on `queues`, not on `queue`", step.name));
                    }
                    step.queues.iter().collect()
                }
                other => {
                    self.check_buffers(&step.name, &other)?;
                    match (&step.queue, step.queues.is_empty()) {
                        (Some(queue), true) => vec![queue],
                        _ => return Err(format!("`{}`: give its `queue`", step.name)),
                    }
                }
            };
            places.into_iter().try_for_each(|queue| known("queue", queue, &queues, &step.name))?;
            step.after
                .iter()
                .try_for_each(|before| known("earlier step", before, &steps[..number], &step.name))?;
        }
        self.graphs.iter().flat_map(|graph| &graph.nodes).try_for_each(|node| self.check_node(node))
    }

    fn check_node(&self, node: &Step) -> Result<(), String> {
        if node.queue.is_some() || !node.queues.is_empty() || !node.after.is_empty() {
            return Err(format!("`{}`: a node has no queue and no after", node.name));
        }
        match node.action()? {
            Action::Graph(_) => Err(format!("`{}`: a node is a kernel, copy or fill", node.name)),
            other => self.check_buffers(&node.name, &other),
        }
    }

    fn check_buffers(&self, step: &str, action: &Action<'_>) -> Result<(), String> {
        let buffers: Vec<&str> = self.buffers.keys().map(String::as_str).collect();
        match action {
            Action::Copy { from, to } => {
                [from, to].into_iter().try_for_each(|name| known("buffer", name, &buffers, step))
            }
            Action::Fill { buffer, .. } => known("buffer", buffer, &buffers, step),
            // Anything but a buffer's name is a SPEC; errors in it are reported when it is read.
            Action::Kernel { .. } | Action::Graph(_) => Ok(()),
        }
    }
}

fn known(what: &str, name: &str, names: &[&str], step: &str) -> Result<(), String> {
    if names.contains(&name) {
        return Ok(());
    }
    let names = if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) };
    Err(format!("`{step}`: there is no {what} `{name}`; there are {names}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let text = format!("source = 'k.metal'\n[buffers]\nx = 'zeros:u8:4'\n[[queue]]\nname = 'q'\n{text}");
        let description: Result<Description, _> = toml::from_str(&text);
        match description {
            Ok(description) => description.check().unwrap_err(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn work_is_that_of_all_steps_of_a_kernel_or_none() {
        let step =
            |name: &str, rest: &str| format!("[[step]]\nname = '{name}'\nqueue = 'q'\nthreads = 1\n{rest}\n");
        let text = format!(
            "source = 'k'\n[[queue]]\nname = 'q'\n{}{}{}{}{}[[graph]]\nname = 'g'\n[[graph.node]]\nname = \
             'n'\nkernel = 'c'\nthreads = 1\nflop = 7\n",
            step("a1", "kernel = 'a'\nflop = 2\nbytes = 3"),
            step("a2", "kernel = 'a'\nflop = 2\nbytes = 3"),
            step("b1", "kernel = 'b'\nflop = 2"),
            step("b2", "kernel = 'b'\nflop = 4"),
            step("c1", "kernel = 'c'"),
        );
        let description: Description = toml::from_str(&text).unwrap();
        let a = ("a".to_owned(), CountedWork { flop: 2, bytes: 3 });
        let n = ("n".to_owned(), CountedWork { flop: 7, bytes: 0 });
        assert_eq!(description.work(), BTreeMap::from([a, n]));
    }

    #[test]
    fn errors_name_the_step_and_the_key() {
        let step = |rest: &str| problem(&format!("[[step]]\nname = 's'\n{rest}"));
        assert_eq!(problem(""), "there is no step");
        assert_eq!(step("queue = 'q'"), "`s`: give one of kernel, copy, fill and graph");
        assert_eq!(step("queue = 'p'\nfill = 'x'"), "`s`: there is no queue `p`; there are `q`");
        assert_eq!(step("queue = 'q'\nfill = 'y'"), "`s`: there is no buffer `y`; there are `x`");
        assert_eq!(step("fill = 'x'"), "`s`: give its `queue`");
        assert_eq!(step("queue = 'q'\nkernel = 'k'"), "`s`: a kernel needs threads or groups");
        assert_eq!(
            step("queue = 'q'\nfill = 'x'\nthreads = 1"),
            "`s`: args, threads, groups and group are for kernels"
        );
        assert_eq!(
            step("queue = 'q'\nfill = 'x'\nafter = ['s']"),
            "`s`: there is no earlier step `s`; there are none"
        );
        assert_eq!(step("queues = ['q']\ngraph = 'g'"), "`s`: there is no graph `g`; there are none");
        assert!(step("queue = 'q'\nfil = 'x'").contains("unknown field `fil`"));
        assert!(
            step("queue = 'q'\nkernel = 'k'\nthreads = [1, 2, 3, 4]").contains("one to three dimensions")
        );
        assert_eq!(step("queue = 'q'\nfill = 'x'\nflop = 1"), "`s`: flop and bytes are for kernels");
        let twice = "[[step]]\nname = 's'\nqueue = 'q'\nfill = 'x'\n";
        assert_eq!(problem(&format!("{twice}{twice}")), "there are two steps `s`");
    }
}
