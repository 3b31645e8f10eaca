//! The pool with workers that misbehave: shell scripts, which speak on the socket at their standard input.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use anymetal_isolate::{Frame, IsolationError, Pool, Settings};

/// The build that workers name: one letter, so that scripts can spell the frame's length.
const IDENTITY: &str = "b";
/// A first message: kind 0, a header of one byte, nothing after it.
const GREETING: &str = r"printf '\000\001\000\000\000\000\000\000\000\000\000\000\000b' >&0";
/// An answer: kind 2, a header of two bytes.
const ANSWER: &str = r"printf '\002\002\000\000\000\000\000\000\000\000\000\000\000{}' >&0";

fn pool(folder: &Path, script: &str) -> Pool {
    let worker = folder.join("worker");
    std::fs::write(&worker, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&worker, std::fs::Permissions::from_mode(0o700)).unwrap();
    let settings =
        Settings { worker: Some(worker), time: Duration::from_secs(10), workers: 1, ..Settings::default() };
    Pool::new(settings, IDENTITY)
}

fn request() -> Frame {
    Frame { kind: 1, header: b"{}".to_vec(), blob: Vec::new() }
}

fn call(pool: &Pool) -> Result<Frame, IsolationError> {
    let mut reply = |frame: &Frame| match frame.kind {
        2 => Ok(None),
        3 => Ok(Some(Frame { kind: 4, ..Frame::default() })),
        other => Err(IsolationError::malformed(format!("kind {other}"))),
    };
    pool.call(&request(), &mut reply)
}

#[test]
fn misbehaviour_of_a_worker_is_a_typed_error() {
    let folder = tempfile::tempdir().unwrap();
    let other_build = GREETING.replace('b', "c");
    let lacks = r"printf '\000\012\000\000\000\000\000\000\000\000\000\000\000b\nLandlock' >&0; sleep 9";
    let cases = [
        ("exit 0", "isolation-start"),
        ("echo usage >&2; exit 2", "isolation-start"),
        ("exec sleep 60", "isolation-time"),
        (other_build.as_str(), "isolation-other-build"),
        (lacks, "isolation-sandbox"),
        ("printf 'garbage without an end' >&0; sleep 9", "isolation-malformed"),
        ("GREET; head -c 15 >/dev/null", "isolation-ended"),
        ("GREET; kill -9 $$", "isolation-killed"),
        ("GREET; kill -ABRT $$", "isolation-crashed"),
        ("GREET; kill -SEGV $$", "isolation-crashed"),
        ("GREET; kill -SYS $$", "isolation-denied"),
        ("GREET; echo 'LLVM ERROR: out of memory' >&2; kill -ABRT $$", "isolation-memory"),
        ("GREET; exec sleep 60", "isolation-time"),
        ("GREET; printf 'garbage without an end' >&0; exec sleep 9", "isolation-malformed"),
        (
            r"GREET; printf '\011\000\000\000\000\000\000\000\000\000\000\000\000' >&0; sleep 9",
            "isolation-malformed",
        ),
        (r"GREET; printf '\002\377\377' >&0", "isolation-ended"),
    ];
    for (script, id) in cases {
        let mut pool = pool(folder.path(), &script.replace("GREET", GREETING));
        if id == "isolation-time" {
            let worker = Some(folder.path().join("worker"));
            let time = Duration::from_millis(300);
            pool = Pool::new(Settings { worker, time, ..Settings::default() }, IDENTITY);
        }
        let error = call(&pool).expect_err(script);
        assert_eq!(error.id(), id, "{script}: {error}");
    }
}

#[test]
fn questions_of_a_worker_are_answered_and_a_worker_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let question = r"printf '\003\000\000\000\000\000\000\000\000\000\000\000\000' >&0";
    // The request has 15 bytes, the reply to the question 13.
    let round = format!("head -c 15 >/dev/null; {question}; head -c 13 >/dev/null; {ANSWER}");
    let pool = pool(folder.path(), &format!("{GREETING}; {round}; {round}; sleep 60"));
    for _ in 0..2 {
        assert_eq!(call(&pool).unwrap().header, b"{}");
    }
}

#[test]
fn after_a_failure_the_next_request_gets_another_worker() {
    let folder = tempfile::tempdir().unwrap();
    let marker = folder.path().join("marker");
    let path = marker.display();
    // The first worker dies.
    let script = format!("{GREETING}; [ -e {path} ] || {{ : > {path}; kill -9 $$; }}; {ANSWER}; sleep 60");
    let pool = pool(folder.path(), &script);
    assert_eq!(call(&pool), Err(IsolationError::Killed));
    assert!(call(&pool).is_ok());
}

#[test]
fn a_missing_worker_and_a_file_that_is_none_are_typed_errors() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let settings = |worker: &Path| Settings { worker: Some(worker.to_owned()), ..Settings::default() };
    let error = call(&Pool::new(settings(&missing), IDENTITY)).unwrap_err();
    assert_eq!(error, IsolationError::WorkerNotFound { tried: vec![missing] });
    let text = folder.path().join("text");
    std::fs::write(&text, "not a program").unwrap();
    let error = call(&Pool::new(settings(&text), IDENTITY)).unwrap_err();
    assert_eq!(error.id(), "isolation-start", "{error}");
}
