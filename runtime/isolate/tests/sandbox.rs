//! What a closed sandbox denies, tried in child processes.
//!
//! Each test runs this program again for the test `attempt` alone, which closes the sandbox and tries one
//! action. The filter of calls ends the child with SIGSYS; what merely fails is printed.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "children report to their parents")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use anymetal_isolate::sandbox::Code;
use anymetal_isolate::{Channel, Frame, sandbox};
use rustix::process::{Pid, Signal, getppid, kill_process};

/// Ends the names of actions that are tried in the sandbox of machine code.
const RUNNING: &str = "-running";
/// Names the action that the child tries.
const ACTION: &str = "ISOLATE_TEST_ACTION";
/// What a child may allocate.
const MEMORY_BYTES: u64 = 64 << 20;
const SIGABRT: i32 = 6;
const SIGSYS: i32 = 31;

/// Runs the action in a child; returns how the child ended, what it printed, and the other end of its
/// connection.
fn attempt_in_child(action: &str) -> (ExitStatus, String, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["attempt", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(ACTION, action)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .output()
        .unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned(), ours)
}

#[track_caller]
fn is_ended_by_the_filter(action: &str) {
    let (status, printed, _) = attempt_in_child(action);
    assert_eq!(status.signal(), Some(SIGSYS), "{action}: {status}: {printed}");
    assert!(!printed.contains("it is allowed"), "{action}: {printed}");
}

#[test]
fn this_machine_has_all_parts() {
    assert_eq!(sandbox::missing(), Vec::<String>::new());
}

#[test]
fn no_file_is_opened() {
    let (status, printed, _) = attempt_in_child("open");
    assert!(status.success() && printed.contains("it fails: PermissionDenied"), "{status}: {printed}");
}

#[test]
fn other_actions_end_the_process() {
    for action in ["tcp", "unix", "listen", "execute", "signal", "read-other", "write-other", "delete"] {
        is_ended_by_the_filter(action);
        is_ended_by_the_filter(&format!("{action}{RUNNING}"));
    }
}

#[test]
fn memory_is_limited() {
    let (status, printed, _) = attempt_in_child("allocate");
    assert_eq!(status.signal(), Some(SIGABRT), "{status}: {printed}");
    assert!(printed.contains("memory allocation of"), "{printed}");
}

#[test]
fn threads_and_the_connection_work() {
    for action in ["work".to_owned(), format!("work{RUNNING}")] {
        let (status, printed, mut connection) = attempt_in_child(&action);
        assert!(status.success(), "{action}: {status}: {printed}");
        let mut received = Vec::new();
        connection.read_to_end(&mut received).unwrap();
        assert!(received.ends_with(b"done"), "{action}: {received:?}");
    }
}

#[test]
#[ignore = "the other tests run it in child processes"]
fn attempt() {
    let action = std::env::var(ACTION).expect("another test names the action");
    let channel = Channel::open().expect("the standard input is a socket");
    let mut other = File::open("/etc/passwd").expect("it can be read before");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("file");
    let (action, code) = match action.strip_suffix(RUNNING) {
        Some(action) => (action, Code::Allowed),
        None => (action.as_str(), Code::Denied),
    };
    let mut writable = File::create(&path).expect("it can be written before");
    assert_eq!(sandbox::close(&channel, MEMORY_BYTES, code), Vec::<String>::new());
    let outcome: std::io::Result<()> = match action {
        "open" => File::open("/etc/passwd").map(drop),
        "tcp" => TcpStream::connect(("127.0.0.1", 9)).map(drop),
        "unix" => UnixStream::connect("/run/socket").map(drop),
        "listen" => UnixListener::bind(&path).map(drop),
        "execute" => Command::new("/bin/true").status().map(drop),
        "signal" => {
            let parent: Pid = getppid().expect("there is a parent");
            kill_process(parent, Signal::USR1).map_err(Into::into)
        }
        "read-other" => other.read(&mut [0; 8]).map(drop),
        "write-other" => writable.write(b"x").map(drop),
        "delete" => std::fs::remove_file(&path),
        "allocate" => {
            let bytes = std::hint::black_box(vec![1_u8; 2 * MEMORY_BYTES as usize]);
            eprintln!("{}", bytes.len());
            Ok(())
        }
        "work" => {
            let sum = std::thread::spawn(|| (0..1000_u64).map(std::hint::black_box).sum::<u64>());
            assert_eq!(sum.join().expect("the thread works"), 499_500);
            channel.send(&Frame { kind: 9, header: Vec::new(), blob: b"done".to_vec() })
        }
        other => panic!("no action `{other}`"),
    };
    match outcome {
        Ok(()) => eprintln!("it is allowed"),
        Err(error) => eprintln!("it fails: {:?}", error.kind()),
    }
    // The folder cannot be removed from here.
    std::process::exit(0);
}
