//! Which devices a process has: one for each set of settings; and that no failure is remembered.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anymetal::config::{ConfigError, Layer, Layers, Size, Span};
use anymetal::error::ErrorClass;
use anymetal::memory::StorageMode;
use anymetal::{BufferDescriptor, CompileOptions, Device, Error, Family, LibraryDescriptor};

const CHILD: &str = "ANYMETAL_TEST_CHILD";

/// Runs a test of this file in a process of its own, with a variable of its environment set.
fn in_child(test: &str, variable: &str, value: &Path) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, "1").env(variable, value);
    let output = child.output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

fn budget(bytes: u64) -> Layers {
    let mut settings = Layers::default();
    settings.code.memory.budget = Some(Size(bytes));
    settings
}

#[test]
fn a_device_is_one_for_each_set_of_settings() -> Result<(), Error> {
    let default = Device::system_default()?;
    let named = Device::by_name("CPU")?;
    assert!(default.is_same(&named) && default.is_same(&Device::all()?[0]));
    assert!(default.is_same(&Device::with_settings(&Layers::load(None)?)?));
    // So a buffer of one handle is listed by the others.
    let held =
        default.create_buffer(&BufferDescriptor::<u8>::zeroed(1000).label("held by the default device"))?;
    let listed = named.live_buffers();
    assert!(listed.iter().any(|buffer| (buffer.bytes, &*buffer.label) == (1000, held.label())), "{listed:?}");
    assert_eq!(held.storage_mode(), StorageMode::Shared);

    let small = Device::with_settings(&budget(4096))?;
    assert!(!small.is_same(&default) && small.is_same(&Device::with_settings(&budget(4096))?));
    assert!(!small.is_same(&Device::with_settings(&budget(8192))?));
    let all = small.buffer_zeroed::<u8>(4096)?;
    let over = Device::with_settings(&budget(4096))?.buffer_zeroed::<u8>(1).unwrap_err();
    assert_eq!(over.class(), ErrorClass::Exhausted, "one budget, whoever has the handle");
    drop((all, small));
    assert!(Device::with_settings(&budget(4096))?.live_buffers().is_empty());
    // A device made by hand is its own.
    assert!(!Device::from_hal(default.as_hal().clone()).is_same(&default));
    Ok(())
}

#[test]
fn threads_that_begin_at_once_get_one_device() {
    let devices: Vec<Device> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| Device::by_name("cpu").unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(devices.iter().all(|device| device.is_same(&devices[0])));
}

#[test]
fn a_failure_is_not_remembered() {
    if std::env::var_os(CHILD).is_none() {
        let folder = tempfile::tempdir().unwrap();
        return in_child("a_failure_is_not_remembered", "ANYMETAL_CONFIG", &folder.path().join("a.toml"));
    }
    let file = std::env::var_os("ANYMETAL_CONFIG").unwrap();
    let missing = Device::system_default().unwrap_err();
    assert!(matches!(missing, Error::Config(_)), "{missing}");
    std::fs::write(&file, "device = 'abacus'").unwrap();
    assert!(Device::system_default().unwrap_err().to_string().starts_with("there is no device `abacus`"));
    std::fs::write(&file, "device = 'cpu'\n[streams]\nin-flight = 3\n").unwrap();
    let device = Device::system_default().unwrap();
    assert_eq!(device.config().streams.in_flight, 3);
    std::fs::remove_file(&file).unwrap();
    assert!(device.is_same(&Device::system_default().unwrap()), "what was made stays");
}

const KERNELS: &str = "using namespace metal;
    kernel void sum(device float* y, uint i [[thread_position_in_grid]]) { y[i] = simd_sum(y[i]); }
    kernel void twice(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";

#[test]
fn a_family_is_refused_what_it_lacks_and_shares_the_hardware() {
    let device = Device::system_default().unwrap();
    let emulated = device.with_family(Family::Paravirtual);
    assert_eq!((device.family(), emulated.family()), (None, Some(Family::Paravirtual)));
    assert!(!emulated.is_same(&device) && emulated.name() == device.name());
    assert!(!emulated.capabilities().supports_bfloat && device.capabilities().supports_bfloat);
    let library = emulated.library_from_source(KERNELS).unwrap();
    let refused = library.pipeline("sum").unwrap_err();
    assert_eq!(refused.class(), ErrorClass::Caller);
    assert!(matches!(&refused, Error::Compile(failure) if failure.id() == "family"), "{refused}");
    let twice = library.pipeline("twice").unwrap();
    let y = emulated.buffer(&[1.0f32, 2.0]).unwrap();
    emulated.queue().unwrap().launch(&twice).arg(&y).threads(2).submit().unwrap().wait().unwrap();
    assert_eq!(y.read().unwrap(), [2.0, 4.0]);
    let options = CompileOptions::new().family(Some(Family::Apple4));
    let library = device.create_library(&LibraryDescriptor::from_source(KERNELS).options(&options)).unwrap();
    assert!(library.pipeline("sum").is_err(), "a library can be checked by itself");
}

#[test]
fn devices_of_the_same_family_and_settings_are_one() {
    let settings = |family| {
        let mut settings = Layers::default();
        settings.code.family = family;
        Device::with_settings(&settings).unwrap()
    };
    let (first, second) = (settings(Some(Family::Apple5)), settings(Some(Family::Apple5)));
    assert!(first.is_same(&second) && !first.is_same(&settings(Some(Family::Apple6))));
    assert!(!first.is_same(&settings(None)));
}

#[test]
fn more_constant_buffers_than_a_family_has_are_refused() {
    let arguments: String = (0..15).map(|n| format!("constant float& a{n}, ")).collect();
    let sum: String = (0..15).map(|n| format!("a{n} + ")).collect();
    let source = format!("kernel void sum({arguments}device float* y) {{ y[0] = {sum}0; }}");
    let pipeline = |family| {
        let device = Device::system_default().unwrap().with_family(family);
        device.library_from_source(&source)?.pipeline("sum")?.warm_up([32])
    };
    let refused = pipeline(Family::Mac2).unwrap_err().to_string();
    assert!(refused.contains("the GPU family mac2 does not support 15 arguments"), "{refused}");
    pipeline(Family::Apple7).unwrap();
}

#[test]
fn settings_that_ask_for_an_exporter_are_refused_without_the_service() -> Result<(), Error> {
    let path = Path::new("observed.toml");
    let with = |text: &str| -> Result<_, Error> {
        let layer = Layer::from_toml(text, path)?;
        Device::with_settings(&Layers { file: Some((path.to_owned(), layer)), ..Layers::default() })
    };
    match with("[telemetry]\nprometheus = '127.0.0.1:9464'\n") {
        Err(Error::Config(error)) => assert!(
            matches!(*error, ConfigError::NeedsService { setting: "telemetry.prometheus", .. }),
            "{error}"
        ),
        other => panic!("{other:?}"),
    }
    with("[policy.retry]\nattempts = 7\n[audit]\nfolder = 'log'\n[health]\nenabled = false\n")?;
    Ok(())
}

#[test]
fn idle_memory_is_freed_while_nothing_is_acquired() -> Result<(), Error> {
    let mut settings = Layers::default();
    settings.code.memory.pool_idle_age = Some(Span(Duration::from_millis(20)));
    let device = Device::with_settings(&settings)?;
    drop(device.acquire::<u8>(1 << 20)?);
    let started = Instant::now();
    while device.memory().pool.buffers > 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", device.memory().pool);
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
