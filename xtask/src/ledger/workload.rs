//! The kernels that are measured: `xtask/ledger/workloads.toml`.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;
use serde::Deserialize;

/// Difference of floats that another order of sums may make, relative to the largest.
const TOLERANCE: f32 = 1e-3;

/// The same for halves.
const HALF_TOLERANCE: f32 = 1e-2;

/// A kernel and a launch of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    /// `bench`, `suites` or `corpora`.
    pub(crate) set: String,
    /// Below the repository, the package or the suite.
    file: PathBuf,
    /// A crate of `testing/corpora` that has the file.
    #[serde(default)]
    package: Option<String>,
    /// A suite of `testing/suites/suites.toml` that has the file.
    #[serde(default)]
    suite: Option<String>,
    pub(crate) kernel: String,
    pub(crate) threads: String,
    pub(crate) group: String,
    /// As `run --arg`.
    pub(crate) args: Vec<String>,
    /// As `run --threadgroup-memory`.
    #[serde(default)]
    pub(crate) threadgroup_memory: Vec<String>,
    /// Other options of `run` and `compile`.
    #[serde(default)]
    pub(crate) options: Vec<String>,
    /// The argument with the results.
    pub(crate) output: String,
}

#[derive(Deserialize)]
struct Workloads {
    workload: Vec<Workload>,
}

/// All workloads whose files are there, with the paths of these.
pub(crate) fn all(root: &Path, suites: Option<&Path>) -> Result<Vec<Workload>, String> {
    let path = root.join("xtask/ledger/workloads.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let parsed: Workloads = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let metadata = MetadataCommand::new().manifest_path(root.join("testing/corpora/Cargo.toml")).exec();
    let metadata = metadata.map_err(|error| format!("testing/corpora: cargo metadata failed: {error}"))?;
    let folder_of = |name: &str| {
        let package = metadata.packages.iter().find(|package| package.name.as_str() == name);
        let package = package.ok_or_else(|| format!("testing/corpora has no package `{name}`"))?;
        let folder = package.manifest_path.parent().expect("a manifest is in a folder");
        Ok::<PathBuf, String>(folder.as_std_path().to_owned())
    };
    let mut found = Vec::new();
    for mut workload in parsed.workload {
        let folder = match (&workload.package, &workload.suite, suites) {
            (Some(package), ..) => folder_of(package)?,
            (None, Some(suite), Some(suites)) => suites.join(suite),
            (None, Some(_), None) => continue,
            (None, None, _) => root.to_owned(),
        };
        workload.file = folder.join(&workload.file);
        found.push(workload);
    }
    Ok(found)
}

impl Workload {
    /// The file's name, the kernel and the threadgroup size.
    pub(crate) fn name(&self) -> String {
        let file = self.file.file_stem().unwrap_or_default();
        format!("{} {} {}", file.to_string_lossy(), self.kernel, self.group.replace(',', "x"))
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether both results are the same; those of a floating-point type up to rounding.
    pub(crate) fn agree(&self, one: &[u8], other: &[u8]) -> bool {
        if one == other {
            return true;
        }
        let single = |bytes: &[u8]| Vec::from_iter(bytes.chunks_exact(4).map(f32_of));
        let half = |bytes: &[u8]| Vec::from_iter(bytes.chunks_exact(2).map(f16_of));
        match self.output_type() {
            "f32" => are_near(&single(one), &single(other), TOLERANCE),
            "f16" => are_near(&half(one), &half(other), HALF_TOLERANCE),
            _ => false,
        }
    }

    /// The type in `output=rand:TYPE:COUNT`.
    fn output_type(&self) -> &str {
        let of_output = |arg: &&String| arg.split_once('=').is_some_and(|(name, _)| name == self.output);
        let arg = self.args.iter().find(of_output);
        arg.and_then(|arg| arg.split(':').nth(1)).unwrap_or_default()
    }
}

fn f32_of(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes.try_into().expect("a float has four bytes"))
}

fn f16_of(bytes: &[u8]) -> f32 {
    half::f16::from_le_bytes(bytes.try_into().expect("a half has two bytes")).to_f32()
}

fn are_near(one: &[f32], other: &[f32], tolerance: f32) -> bool {
    let finite = one.iter().copied().filter(|value| value.is_finite());
    let largest = finite.fold(0.0f32, |max, value| max.max(value.abs()));
    let is_near = |(a, b): (&f32, &f32)| {
        a.to_bits() == b.to_bits() || (a - b).abs() <= tolerance * largest || (a.is_nan() && b.is_nan())
    };
    one.len() == other.len() && one.iter().zip(other).all(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_agree_up_to_rounding_only() {
        let text = "set = 'bench'\nfile = 'a.metal'\nkernel = 'k'\nthreads = '1'\ngroup = '1'\n\
                    args = ['0=zeros:f32:1']\noutput = '0'";
        let workload: Workload = toml::from_str(text).expect("the text is a workload");
        let bytes = |values: &[f32]| Vec::from_iter(values.iter().flat_map(|value| value.to_le_bytes()));
        let same = |a: &[f32], b: &[f32]| workload.agree(&bytes(a), &bytes(b));
        assert!(same(&[1.0, 1000.0], &[1.0005, 1000.0]));
        assert!(!same(&[1.0, 1000.0], &[3.0, 1000.0]));
        assert!(same(&[f32::NAN], &[f32::NAN]));
        assert!(!same(&[1.0], &[f32::NAN]) && !same(&[1.0], &[1.0, 1.0]));
    }

    #[test]
    fn each_workload_of_the_repository_is_complete() {
        let root = crate::workspace_root();
        let text = std::fs::read_to_string(root.join("xtask/ledger/workloads.toml")).expect("it exists");
        let parsed: Workloads = toml::from_str(&text).expect("it is well formed");
        for workload in &parsed.workload {
            let is_own = workload.package.is_none() && workload.suite.is_none();
            assert_eq!(is_own, workload.set == "bench", "{}", workload.name());
            assert!(!is_own || root.join(&workload.file).exists(), "{}", workload.file.display());
            assert!(workload.args.iter().all(|arg| arg.contains('=')), "{}", workload.name());
            assert!(!workload.output_type().is_empty(), "{}", workload.name());
        }
    }
}
