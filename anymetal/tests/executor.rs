//! What kernels run as, and how a program comes to know: with libLLVM, and in a process without.

use std::process::Command;
use std::sync::{Arc, Mutex};

use anymetal::config::Layers;
use anymetal::error::ErrorClass;
use anymetal::notice::{self, NoticeKind};
use anymetal::reflection::{Effort, Executor};
use anymetal::{CompileOptions, Device, Error, LibraryDescriptor};
use anymetal_driver::{
    Budget, CacheConfig, Compiler, CompilerOptions, Source, SourceOptions, Specialisation, Target,
};

const SOURCE: &str = "kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";
const CHILD: &str = "ANYMETAL_TEST_CHILD";

fn strict() -> CompileOptions {
    CompileOptions::new().require_machine_code(true)
}

/// Runs a test of this file in a process of its own that may not use libLLVM, nor what others compiled with
/// it.
fn without_llvm(test: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    child.env("ANYMETAL_LLVM", "none").env("ANYMETAL_CACHE", "off");
    let output = child.output().unwrap();
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

fn run_twice(device: &Device) -> Result<Executor, Error> {
    let twice = device.library_from_source(SOURCE)?.pipeline("twice")?;
    let y = device.buffer(&[21u32; 8])?;
    device.queue()?.launch(&twice).arg(&y).threads(8).submit()?.wait()?;
    assert_eq!(y.read()?, [42; 8]);
    assert_eq!(twice.fallbacks(), []);
    Ok(twice.executor().clone())
}

#[test]
fn with_llvm_kernels_are_machine_code_and_nothing_is_told() -> Result<(), Error> {
    let device = Device::system_default()?;
    assert_eq!(device.executor(), Executor::MachineCode, "these tests need libLLVM");
    assert!(run_twice(&device)?.is_machine_code());
    let strictly = device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&strict()))?
        .pipeline("twice")?;
    assert!(strictly.executor().is_machine_code());
    assert!(notice::take().iter().all(|notice| notice.kind != NoticeKind::Interpreted));
    Ok(())
}

#[test]
fn kernels_past_the_budgets_for_machine_code_run_in_the_interpreter() -> Result<(), Error> {
    let mut budget = Budget::default();
    budget.text_bytes = 1000;
    let compiler = Compiler::with_budget(&CompilerOptions::with_cache(CacheConfig::memory_only()), budget);
    let source = Source::from_text("large.metal", SOURCE, SourceOptions::default());
    let library = compiler.library(source).unwrap();
    let artifact = library.artifact("twice", &Specialisation::default(), Target::Cpu).unwrap();
    let device = Device::system_default()?;
    let twice = device.create_library(&LibraryDescriptor::from_artifact(artifact))?.pipeline("twice")?;
    let y = device.buffer(&[21u32; 100])?;
    device.queue()?.launch(&twice).arg(&y).threads(100).submit()?.wait()?;
    assert_eq!(y.read()?, [42; 100]);
    assert_eq!(twice.reduced_effort().map(|reduced| reduced.effort), Some(Effort::Interpreted));
    let Executor::Interpreter { reason } = twice.executor() else { panic!("it must be interpreted") };
    assert!(reason.contains("large.metal:1"), "{reason}");
    Ok(())
}

/// Counts the WARN events of this crate.
struct Subscriber(Arc<Mutex<usize>>);

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "anymetal" && *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn event(&self, _event: &tracing::Event<'_>) {
        *self.0.lock().unwrap() += 1;
    }

    fn record(&self, _span: &tracing::span::Id, _values: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _span: &tracing::span::Id, _follows: &tracing::span::Id) {}
    fn enter(&self, _span: &tracing::span::Id) {}
    fn exit(&self, _span: &tracing::span::Id) {}
}

#[test]
fn without_llvm_it_is_told_once_and_can_be_refused() -> Result<(), Error> {
    if std::env::var_os(CHILD).is_none() {
        without_llvm("without_llvm_it_is_told_once_and_can_be_refused");
        return Ok(());
    }
    let (events, heard) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(Vec::new())));
    tracing::subscriber::set_global_default(Subscriber(events.clone())).unwrap();
    let device = Device::system_default()?;
    let Executor::Interpreter { reason } = run_twice(&device)? else { panic!("there must be no LLVM") };
    assert!(reason.contains("ANYMETAL_LLVM"), "{reason}");
    assert_eq!(device.executor(), Executor::Interpreter { reason });
    run_twice(&device)?;

    // A hook that is set late hears of it all the same, and the list has it once.
    let hook = heard.clone();
    notice::set_hook(move |notice| hook.lock().unwrap().push(notice.kind));
    let interpreted =
        || heard.lock().unwrap().iter().filter(|kind| **kind == NoticeKind::Interpreted).count();
    assert_eq!((interpreted(), *events.lock().unwrap()), (1, 1));
    let taken = notice::take();
    assert!(taken.iter().any(|notice| notice.to_string().ends_with("interpreter, which is much slower")));
    assert!(notice::take().is_empty());

    let refused = device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&strict()))?
        .pipeline("twice")
        .unwrap_err();
    assert!(matches!(&refused, Error::NoMachineCode { kernel, .. } if kernel == "twice"), "{refused}");
    assert_eq!(refused.class(), ErrorClass::Lost);
    let mut settings = Layers::default();
    settings.code.kernels.require_machine_code = Some(true);
    let strict_device = Device::with_settings(&settings)?;
    let refused = strict_device.library_from_source(SOURCE)?.pipeline("twice").unwrap_err();
    assert!(matches!(refused, Error::NoMachineCode { .. }));
    Ok(())
}
