//! Sessions that were saved, damaged, and restored.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::*;

fn session() -> Session {
    let pipeline = PipelineState {
        label: "blur".to_owned(),
        kernel: "blur<float>".to_owned(),
        source_name: "blur.metal".to_owned(),
        source_hash: source_hash("kernel void blur() {}"),
        options: BTreeMap::from([("math".to_owned(), "safe".to_owned())]),
        constants: BTreeMap::from([
            ("radius".to_owned(), TuningValue::Integer(3)),
            ("wide".to_owned(), TuningValue::Flag(true)),
        ]),
        warm_up: vec![[256, 1, 1], [16, 16, 1]],
    };
    Session {
        pipelines: vec![pipeline],
        tuning: BTreeMap::from([
            ("streams".to_owned(), TuningValue::Integer(-4)),
            ("split".to_owned(), TuningValue::Float(2.0)),
            ("order \"x\"".to_owned(), TuningValue::Text("y-major".to_owned())),
        ]),
        buffers: vec![BufferState { label: "weights".to_owned(), bytes: 1 << 40, ..BufferState::default() }],
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn corrupt(path: &std::path::Path, number: u32) -> PathBuf {
    PathBuf::from(format!("{}.corrupt-{number}", path.display()))
}

#[test]
fn what_is_saved_is_restored_in_both_formats() {
    let folder = folder();
    for name in ["session.toml", "session.json"] {
        let path = folder.path().join(name);
        assert_eq!(Session::restore(&path), Ok(Restored::default()), "no file is no session");
        for saved in [session(), Session::default()] {
            saved.save(&path).unwrap();
            assert_eq!(Session::restore(&path), Ok(Restored { session: saved, set_aside: None }));
        }
    }
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "nothing else is left: {names:?}");
    let wrong = folder.path().join("session.yaml");
    assert_eq!(session().save(&wrong), Err(SessionError::UnknownFormat { path: wrong }));
}

#[test]
fn values_that_a_file_would_not_give_back_are_refused() {
    let path = folder().path().join("session.json");
    let mut odd = session();
    odd.tuning.insert("ratio".to_owned(), TuningValue::Float(f64::NAN));
    assert_eq!(
        odd.save(&path).unwrap_err().to_string(),
        "the session cannot be written: `ratio` is NaN, and numbers are finite"
    );
    let mut large = session();
    large.buffers[0].bytes = u64::MAX;
    assert!(matches!(large.save(&path), Err(SessionError::Unwritable { .. })));
}

#[test]
fn every_changed_byte_is_noticed_or_means_the_same() {
    let folder = folder();
    for name in ["session.toml", "session.json"] {
        let path = folder.path().join(name);
        session().save(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            fs::write(&path, &changed).unwrap();
            let restored = Session::restore(&path).unwrap();
            match restored.set_aside {
                Some(aside) => {
                    assert_eq!(restored.session, Session::default());
                    assert_eq!(fs::read(&aside.path).unwrap(), changed, "it is kept as it was");
                    fs::remove_file(aside.path).unwrap();
                }
                // Such as another kind of space between fields.
                None => assert_eq!(restored.session, session(), "{name}: byte {place}"),
            }
        }
    }
}

#[test]
fn unusable_files_are_set_aside_one_after_the_other() {
    let path = folder().keep().join("session.json");
    for (number, text) in [(1, "{"), (2, "{\"version\": 9, \"more\": []}"), (3, "")] {
        fs::write(&path, text).unwrap();
        let restored = Session::restore(&path).unwrap();
        let aside = restored.set_aside.unwrap();
        assert_eq!((restored.session, &aside.path), (Session::default(), &corrupt(&path, number)));
        assert_eq!(fs::read_to_string(&aside.path).unwrap(), text);
        if number == 2 {
            assert_eq!(aside.reason, SetAsideReason::LaterVersion { found: 9 });
            assert!(aside.to_string().contains("it is of version 9, and this program reads up to 1"));
        }
        session().save(&path).unwrap();
        assert_eq!(Session::restore(&path).unwrap().session, session());
    }
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

#[test]
fn a_folder_or_pipe_in_the_files_place_is_set_aside_too() {
    let folder = folder();
    let path = folder.path().join("session.toml");
    fs::create_dir(&path).unwrap();
    let aside = Session::restore(&path).unwrap().set_aside.unwrap();
    let reason = "it is a folder, not a regular file".to_owned();
    assert_eq!((aside.reason, aside.path.is_dir()), (SetAsideReason::NotRegular(reason), true));
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let aside = Session::restore(&path).unwrap().set_aside.unwrap();
    assert_eq!(aside.reason.to_string(), "it is a named pipe, not a regular file");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_write_is_refused_and_stays() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let path = folder.path().join("session.toml");
    session().save(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for (changed, mode, repaired) in [(path.as_path(), 0o666, 0o600), (folder.path(), 0o777, 0o700)] {
        fs::set_permissions(changed, fs::Permissions::from_mode(mode)).unwrap();
        let Err(SessionError::Unusable { reason, .. }) = Session::restore(&path) else {
            panic!("{mode:o} is accepted")
        };
        assert!(reason.contains(&format!("mode 0{mode:o}")) && reason.contains("chmod go-w"), "{reason}");
        fs::set_permissions(changed, fs::Permissions::from_mode(repaired)).unwrap();
    }
    assert_eq!(Session::restore(&path).unwrap().session, session());
}

proptest! {
    #[test]
    fn any_bytes_are_restored_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let folder = folder();
        for name in ["s.toml", "s.json"] {
            let path = folder.path().join(name);
            fs::write(&path, &bytes).unwrap();
            prop_assert!(Session::restore(&path).unwrap().set_aside.is_some());
        }
    }

    #[test]
    fn every_finite_number_is_restored_as_it_was(bits in any::<u64>(), json in any::<bool>()) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        let folder = folder();
        let path = folder.path().join(if json { "s.json" } else { "s.toml" });
        let tuning = BTreeMap::from([("x".to_owned(), TuningValue::Float(number))]);
        let saved = Session { tuning, ..Session::default() };
        saved.save(&path).unwrap();
        prop_assert_eq!(Session::restore(&path).unwrap(), Restored { session: saved, set_aside: None });
    }

    #[test]
    fn mixed_up_files_are_restored_without_a_panic(cut in 0usize..1200, insert in ".{0,20}", json in any::<bool>()) {
        let folder = folder();
        let path = folder.path().join(if json { "s.json" } else { "s.toml" });
        session().save(&path).unwrap();
        let mut text = fs::read_to_string(&path).unwrap();
        let cut = (0..=cut.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
        text.insert_str(cut, &insert);
        fs::write(&path, &text).unwrap();
        let restored = Session::restore(&path).unwrap();
        prop_assert!(restored.set_aside.is_some() || restored.session == session());
    }
}
