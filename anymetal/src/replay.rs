//! Replaying what was recorded: a history's submissions once more, on any device.

use anymetal_core::record::Recording;
use anymetal_core::record::replay::Replayed;

use crate::device::Device;
use crate::error::Error;
use crate::library::Library;

impl Device {
    /// Runs the submissions of a recording again, one after the other, each with the contents that its
    /// buffers had, and tells of each how it ended then and now. A recording that has everything for this
    /// comes from a device with the setting `history.replayable`, or from [`crate::testing::recording`]. Code
    /// that it lacks, that of the interpreter among it, is taken from the libraries, by the kernel's name.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::config::Layers;
    /// use anymetal::record::Recording;
    /// use anymetal::Device;
    ///
    /// let mut settings = Layers::load(None)?;
    /// (settings.code.history.entries, settings.code.history.replayable) = (Some(16), Some(true));
    /// let device = Device::with_settings(&settings)?;
    /// let source = "kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";
    /// let library = device.library_from_source(source)?;
    /// let (twice, y) = (library.pipeline("twice")?, device.buffer(&[21u32; 8])?);
    /// device.queue()?.launch(&twice).arg(&y).threads(8).label("double it").submit()?.wait()?;
    ///
    /// let path = std::env::temp_dir().join(format!("anymetal-replay-{}", std::process::id()));
    /// device.history().expect("the settings have one").save(&path)?;
    /// let recording = Recording::load(&path)?; // perhaps on another machine
    /// # std::fs::remove_file(&path).ok();
    /// let replayed = Device::system_default()?.replay(&recording, &[&library])?;
    /// assert!(replayed[0].is_same());
    /// # Ok(())
    /// # }
    /// ```
    pub fn replay(&self, recording: &Recording, libraries: &[&Library]) -> Result<Vec<Replayed>, Error> {
        let code = |kernel: &str, _fingerprint: &str| {
            // Code for any threadgroup size does what code for one does.
            libraries.iter().find_map(|library| library.general_code(kernel).ok())
        };
        Ok(recording.replay(&**self.hal(), &code)?)
    }
}
