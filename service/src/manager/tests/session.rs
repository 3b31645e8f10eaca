//! What one process leaves to the next: pipelines that are warm, tuning values, manifests.

use std::fs;
use std::path::Path;

use anymetal_audit::session::{SetAsideReason, TuningValue};

use super::notices::seen;
use super::*;
use crate::manager::Durability;
use anymetal::PipelineDescriptor;
use anymetal::notice::{Notice, NoticeKind};

fn with_session(path: &Path) -> Bench {
    Bench::with(&[("a", no_faults())], policies(), |builder| builder.session_file(path))
}

/// The threadgroup sizes that a kernel has code for on the first device.
fn sizes(bench: &Bench) -> Vec<Vec<[u32; 3]>> {
    let generation = bench.manager.core.slots[0].alive().unwrap();
    generation.all_group_sizes().into_iter().map(|(_, sizes)| sizes).collect()
}

#[test]
fn a_kernel_is_warm_for_the_sizes_of_the_process_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.toml");
    {
        let bench = with_session(&path);
        let add = bench.kernel("add");
        let x = bench.manager.buffer_with(&[4u32; 4096], "x", Durability::default()).unwrap();
        let y = bench.manager.buffer_zeroed::<u32>(4096).unwrap();
        let launch = bench.manager.launch(&add).arg(&x).arg(&y).threads(4096).group_size(64);
        bench.run(launch.execute_async()).unwrap();
        bench.manager.session().unwrap().tune("tile", 32);
        assert_eq!(sizes(&bench), [[[64, 1, 1]]]);
        drop((add, x, y));
    }
    let bench = with_session(&path);
    let session = bench.manager.session().unwrap();
    assert_eq!(session.tuning("tile"), Some(TuningValue::Integer(32)));
    assert_eq!(session.tuning("streams.a"), Some(TuningValue::Integer(1)));
    let buffer = &session.found().buffers[0];
    assert_eq!((buffer.label.as_str(), buffer.bytes, session.found().buffers.len()), ("x", 4 * 4096, 1));

    let add = bench.kernel("add");
    assert_eq!(sizes(&bench), [[[64, 1, 1]]], "before any launch");
    let other = bench.kernel("increment");
    assert_eq!(sizes(&bench)[1], [[0u32; 3]; 0], "a kernel that was not there is not warm");
    drop((add, other));
    let kernels = session.kernels(SOURCE).unwrap();
    assert_eq!(kernels.iter().map(ManagedKernel::name).collect::<Vec<_>>(), ["add"]);
    assert!(session.kernels("kernel void other() {}").unwrap().is_empty());
    assert!(session.set_aside().is_none());
}

#[test]
fn pipelines_of_changed_sources_go_and_those_not_made_yet_stay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.json");
    {
        let bench = with_session(&path);
        let _kernels = [bench.kernel("add"), bench.kernel("increment")];
        bench.manager.session().unwrap().save().unwrap();
    }
    let bench = with_session(&path);
    let changed = SOURCE.replace("+ 1", "+ 2");
    let described = PipelineDescriptor::new("add").label("a label of its own");
    let _add = bench.manager.kernel(&changed, "add").unwrap();
    let _labelled = bench.manager.kernel(&changed, described).unwrap();
    let now = bench.manager.session().unwrap().now();
    let pipelines: Vec<_> =
        now.pipelines.iter().map(|one| (one.kernel.as_str(), one.label.as_str())).collect();
    assert_eq!(pipelines, [("add", ""), ("add", "a label of its own"), ("increment", "")]);
    assert_eq!(now.pipelines[0].source_hash, anymetal_audit::session::source_hash(&changed));
}

#[test]
fn a_device_begins_with_the_number_of_streams_that_it_had() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.toml");
    with_session(&path).manager.session().unwrap().tune("streams.a", 1);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("streams.a"), "{text}");
    let mut session = anymetal_audit::session::Session::restore(&path).unwrap().session;
    session.tuning.insert("streams.a".to_owned(), 5.into());
    session.save(&path).unwrap();
    assert_eq!(with_session(&path).manager.devices()[0].streams, 5);
    session.tuning.insert("streams.a".to_owned(), 5000.into());
    session.save(&path).unwrap();
    assert_eq!(with_session(&path).manager.devices()[0].streams, 16, "within the bounds of the policy");
}

#[test]
fn a_damaged_file_is_told_set_aside_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.toml");
    drop(with_session(&path));
    let text = fs::read_to_string(&path).unwrap().replace("streams.a", "streams.b");
    fs::write(&path, text).unwrap();
    let bench = with_session(&path);
    let session = bench.manager.session().unwrap();
    let aside = session.set_aside().unwrap();
    assert_eq!(aside.reason, SetAsideReason::Changed);
    assert!(aside.path.exists() && session.found().tuning.is_empty());
    let notices = seen();
    let message = aside.to_string();
    let is_expected = |notice: &Notice| notice.kind == NoticeKind::Session && notice.message == message;
    assert!(notices.iter().any(is_expected), "{notices:?}");
    session.save().unwrap();
    drop(bench);
    assert!(with_session(&path).manager.session().unwrap().set_aside().is_none());
}

#[test]
fn a_size_that_a_file_made_up_makes_no_kernel_fail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.toml");
    {
        let bench = with_session(&path);
        let _add = bench.kernel("add");
    }
    let mut session = anymetal_audit::session::Session::restore(&path).unwrap().session;
    session.pipelines[0].warm_up = vec![[0, 1, 1], [4_000_000_000, 1, 1], [32, 1, 1]];
    session.save(&path).unwrap();
    let bench = with_session(&path);
    let _add = bench.kernel("add");
    assert_eq!(sizes(&bench), [[[32, 1, 1]]]);
}
