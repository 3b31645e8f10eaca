//! From PTX to loaded code, by way of the code for the card that was kept from an earlier run.

use crate::device_shared::DeviceShared;
use crate::driver::DriverError;

/// Compiles PTX for the card, or takes what was kept, and loads it.
pub(crate) fn load(device: &DeviceShared, ptx: &str) -> Result<u64, DriverError> {
    let driver = &device.driver;
    let Some(cache) = &device.options.code_cache else {
        return driver.load(&driver.compile(ptx)?);
    };
    let card = driver.card();
    // The driver's compiler is part of the driver.
    let name = format!("cubin sm_{} driver {}\n{ptx}", card.sm, card.driver_version);
    if let Some(code) = cache.read(name.as_bytes()) {
        match driver.load(&code) {
            Err(DriverError::BadCode(_) | DriverError::Other(_)) => cache.forget(name.as_bytes()),
            loaded_or_lost => return loaded_or_lost,
        }
    }
    let code = driver.compile(ptx)?;
    let module = driver.load(&code)?;
    cache.write(name.as_bytes(), &code);
    Ok(module)
}
