//! A history of real work, saved, loaded and run again from this crate alone.

use anymetal::config::Layers;
use anymetal::error::ErrorClass;
use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal::record::{Recording, RecordingError};
use anymetal::testing::{self, RecorderOptions};
use anymetal::{BufferDescriptor, Device, Error};

const SOURCE: &str = "
kernel void add(device const uint* x, device uint* y, constant uint& k, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + k;
}
kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }
";

fn device(contents: bool) -> Result<Device, Error> {
    let mut settings = Layers::load(None)?;
    (settings.code.history.entries, settings.code.history.replayable) = (Some(32), Some(contents));
    Device::with_settings(&settings)
}

/// Launches, an indirect launch, a fused graph run three times, a copy, and a launch that fails.
fn work(device: &Device) -> Result<(), Error> {
    let library = device.library_from_source(SOURCE)?;
    let (add, twice) = (library.pipeline("add")?, library.pipeline("twice")?);
    let (x, y) = (
        device.create_buffer(&BufferDescriptor::new(&[1u32; 100]).label("x"))?,
        device.create_buffer(&BufferDescriptor::new(&[0u32; 100]).label("y"))?,
    );
    let groups = device.buffer(&[2u32, 1, 1])?;
    let queue = device.queue()?;
    queue.launch(&add).arg(&x).arg(&y).arg(5).threads(100).label("add").submit()?.wait()?;
    queue.launch(&twice).arg(&y).groups_from(&groups.view(0..3)?).group_size(32).submit()?.wait()?;
    let mut graph = GraphBuilder::new("graph");
    graph.kernel("add", add.node().arg(&x).arg(&y).arg(1).threads(100).build()?)?;
    graph.kernel("twice", twice.node().arg(&y).threads(100).build()?)?;
    graph.order_as_added();
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    assert_eq!(graph.plan().fused(), 1);
    for _ in 0..3 {
        queue.submit_graph(&graph)?.wait()?;
    }
    let mut commands = queue.command_buffer()?.label("copy");
    commands.blit_encoder().copy(&y.view(0..50)?, &x.view(50..100)?)?;
    commands.commit()?.wait()?;
    let fails = queue.launch(&twice).arg(&y).threads(101).label("too far").submit()?.wait();
    assert!(matches!(fails, Err(Error::Device(_))));
    assert_eq!((x.read()?[99], y.read()?[99]), (4, 8));
    Ok(())
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn a_saved_history_runs_again_with_the_same_ends_and_bytes() -> Result<(), Error> {
    let recorded = device(true)?;
    work(&recorded)?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history");
    recorded.history().unwrap().save(&path)?;
    let recording = Recording::load(&path)?;
    assert_eq!(recording.entries.len(), 7);

    let replayed = device(false)?.replay(&recording, &[])?;
    assert!(replayed.iter().all(|replayed| replayed.is_same()), "{}", recording.text());
    assert!(replayed[6].outcome.is_err());
    let mut ends = Vec::new();
    for (_, buffer) in &replayed[5].buffers {
        let mut bytes = vec![0; 400];
        buffer.read(0, &mut bytes).unwrap();
        ends.push(words(&bytes)[99]);
    }
    ends.sort_unstable();
    assert_eq!(ends, [4, 8], "x after the copy, y after the doubling in the failed launch");
    Ok(())
}

#[test]
fn code_that_a_recording_lacks_comes_from_libraries_or_is_a_typed_error() -> Result<(), Error> {
    let (device, recorder) = testing::recording(&device(false)?, RecorderOptions::replayable(8));
    let library = device.library_from_source(SOURCE)?;
    let (twice, y) = (library.pipeline("twice")?, device.buffer(&[3u32; 8])?);
    device.queue()?.launch(&twice).arg(&y).threads(8).submit()?.wait()?;
    let mut recording = recorder.recording();
    recording.pipelines.iter_mut().for_each(|pipeline| pipeline.artifact = None);

    let missing = device.replay(&recording, &[]).unwrap_err();
    assert_eq!(missing.class(), ErrorClass::Caller);
    assert_eq!(
        missing.to_string(),
        "entry 0: the code of kernel `twice` is not recorded, and none was given for it"
    );
    let replayed = device.replay(&recording, &[&library])?;
    let mut bytes = [0; 32];
    replayed[0].buffers[0].1.read(0, &mut bytes).unwrap();
    assert!(replayed[0].is_same());
    assert_eq!(words(&bytes), [6; 8]);

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("junk"), "junk").unwrap();
    let junk = Error::from(Recording::load(&folder.path().join("junk")).unwrap_err());
    assert!(matches!(&junk, Error::Recording(error) if matches!(**error, RecordingError::NotARecording)));
    Ok(())
}
