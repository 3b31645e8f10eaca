//! Who listens in each mode.

use std::error::Error as StdError;

use anymetal::Device;
use anymetal::config::Layers;
use anymetal_service::ServiceLayers;
use anymetal_service::export::store::Store;

/// The device of a mode, with its listeners.
pub(crate) fn device(mode: &str) -> Result<Device, Box<dyn StdError>> {
    let mut settings = ServiceLayers::default();
    match mode {
        "metrics" => Store::new().install().map_err(|error| error.to_string())?,
        "all" => {
            settings.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
            settings.code.telemetry.otlp = Some(std::env::var("TELEMETRY_COST_COLLECTOR")?);
            settings.code.health.enabled = Some(true);
        }
        _ => {}
    }
    anymetal_service::start_with(&settings)?;
    let device = Device::with_settings(&Layers::default())?;
    let notices = anymetal::notice::take();
    if let Some(notice) = notices.iter().find(|notice| notice.kind == anymetal::notice::NoticeKind::Telemetry)
    {
        return Err(notice.to_string().into());
    }
    Ok(device)
}
