//! Who listens in each mode.

use std::error::Error as StdError;

use anymetal::telemetry::export::store::Store;
use anymetal::{Device, Layers};

/// Whether this build has all of them.
pub(crate) const AVAILABLE: bool = true;

/// The device of a mode, with its listeners.
pub(crate) fn device(mode: &str) -> Result<Device, Box<dyn StdError>> {
    let mut settings = Layers::default();
    match mode {
        "metrics" => Store::new().install().map_err(|error| error.to_string())?,
        "all" => {
            settings.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
            settings.code.telemetry.otlp = Some(std::env::var("TELEMETRY_COST_COLLECTOR")?);
            settings.code.health.enabled = Some(true);
        }
        _ => {}
    }
    let device = Device::with_settings(&settings)?;
    let notices = anymetal::take_notices();
    if let Some(notice) = notices.iter().find(|notice| notice.kind == anymetal::NoticeKind::Telemetry) {
        return Err(notice.to_string().into());
    }
    Ok(device)
}
