//! The section `[memory]`: pools, the budget, the staging ring.

use std::time::Duration;

use serde::Deserialize;

use super::{ConfigError, Layers, Setter, Size, Span, check, flag, parse, value};
use crate::memory::budget::Budget;
use crate::memory::pool::{PoolLimits, PoolOptions};

/// The section `[memory]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct MemoryLayer {
    /// Bytes of all blocks of a pool.
    pub pool_bytes: Option<Size>,
    /// All blocks of a pool.
    pub pool_buffers: Option<usize>,
    /// Bytes of a pool's idle blocks.
    pub pool_idle_bytes: Option<Size>,
    /// How long a block may be idle.
    pub pool_idle_age: Option<Span>,
    /// The working set; missing everywhere: what the device recommends.
    pub budget: Option<Size>,
    /// Bytes of the staging ring.
    pub staging_bytes: Option<Size>,
    /// Bytes of code for threadgroup sizes that pipelines keep.
    pub code_bytes: Option<Size>,
    /// Whether live resources keep their backtraces.
    pub backtraces: Option<bool>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_MEMORY_POOL_BYTES", |layer, text| parse(&mut layer.memory.pool_bytes, text, Size::EXPECTED)),
    ("ANYMETAL_MEMORY_POOL_BUFFERS", |layer, text| {
        parse(&mut layer.memory.pool_buffers, text, "a whole number")
    }),
    ("ANYMETAL_MEMORY_POOL_IDLE_BYTES", |layer, text| {
        parse(&mut layer.memory.pool_idle_bytes, text, Size::EXPECTED)
    }),
    ("ANYMETAL_MEMORY_POOL_IDLE_AGE", |layer, text| {
        parse(&mut layer.memory.pool_idle_age, text, Span::EXPECTED)
    }),
    ("ANYMETAL_MEMORY_BUDGET", |layer, text| parse(&mut layer.memory.budget, text, Size::EXPECTED)),
    ("ANYMETAL_MEMORY_STAGING_BYTES", |layer, text| {
        parse(&mut layer.memory.staging_bytes, text, Size::EXPECTED)
    }),
    ("ANYMETAL_MEMORY_CODE_BYTES", |layer, text| parse(&mut layer.memory.code_bytes, text, Size::EXPECTED)),
    ("ANYMETAL_MEMORY_BACKTRACES", |layer, text| flag(&mut layer.memory.backtraces, text)),
];

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &Layers) -> Result<MemoryConfig, ConfigError> {
    let defaults = MemoryConfig::default();
    let pool_bytes = layers.find("ANYMETAL_MEMORY_POOL_BYTES", |layer| &layer.memory.pool_bytes);
    let buffers = layers.find("ANYMETAL_MEMORY_POOL_BUFFERS", |layer| &layer.memory.pool_buffers);
    let idle_bytes = layers.find("ANYMETAL_MEMORY_POOL_IDLE_BYTES", |layer| &layer.memory.pool_idle_bytes);
    let idle_age = layers.find("ANYMETAL_MEMORY_POOL_IDLE_AGE", |layer| &layer.memory.pool_idle_age);
    let budget = layers.find("ANYMETAL_MEMORY_BUDGET", |layer| &layer.memory.budget);
    let staging = layers.find("ANYMETAL_MEMORY_STAGING_BYTES", |layer| &layer.memory.staging_bytes);
    let code_bytes = layers.find("ANYMETAL_MEMORY_CODE_BYTES", |layer| &layer.memory.code_bytes);
    let backtraces = layers.find("ANYMETAL_MEMORY_BACKTRACES", |layer| &layer.memory.backtraces);

    let no_pool = "a pool without room refuses every request";
    check("memory.pool-bytes", &pool_bytes, |size| size.0 > 0, no_pool)?;
    check("memory.pool-buffers", &buffers, |count| *count > 0, no_pool)?;
    check("memory.budget", &budget, |size| size.0 > 0, "a budget of nothing refuses every request")?;
    check("memory.staging-bytes", &staging, |size| size.0 > 0, "a ring without room takes no upload")?;
    let pool_limit = pool_bytes.as_ref().map_or(Size(u64::MAX), |(size, _)| *size);
    let above = "more idle bytes than memory.pool-bytes allows in all";
    check("memory.pool-idle-bytes", &idle_bytes, |idle| *idle <= pool_limit, above)?;
    Ok(MemoryConfig {
        pool_bytes: value(pool_bytes).map_or(defaults.pool_bytes, |size| size.0),
        pool_buffers: value(buffers).unwrap_or(defaults.pool_buffers),
        pool_idle_bytes: value(idle_bytes).map_or(defaults.pool_idle_bytes, |size| size.0),
        pool_idle_age: value(idle_age).map_or(defaults.pool_idle_age, |span| span.0),
        budget: value(budget).map(|size| size.0),
        staging_bytes: value(staging).map_or(defaults.staging_bytes, |size| size.0),
        code_bytes: value(code_bytes).map_or(defaults.code_bytes, |size| size.0),
        backtraces: value(backtraces).unwrap_or(defaults.backtraces),
    })
}

/// The settings of memory, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryConfig {
    /// Bytes of all blocks of a pool.
    pub pool_bytes: u64,
    /// All blocks of a pool.
    pub pool_buffers: usize,
    /// Bytes of a pool's idle blocks.
    pub pool_idle_bytes: u64,
    /// How long a block may be idle.
    pub pool_idle_age: Duration,
    /// The working set; `None`: what the device recommends.
    pub budget: Option<u64>,
    /// Bytes of the staging ring.
    pub staging_bytes: u64,
    /// Bytes of code for threadgroup sizes that pipelines of a device keep. The least recently used code is
    /// evicted.
    pub code_bytes: u64,
    /// Whether live resources keep their backtraces.
    pub backtraces: bool,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        let limits = PoolLimits::default();
        MemoryConfig {
            pool_bytes: limits.max_bytes,
            pool_buffers: limits.max_buffers,
            pool_idle_bytes: limits.max_idle_bytes,
            pool_idle_age: Duration::from_secs(60),
            budget: None,
            staging_bytes: 32 << 20,
            code_bytes: 256 << 20,
            backtraces: false,
        }
    }
}

impl MemoryConfig {
    /// The options of a pool under that budget.
    pub fn pool_options(&self, budget: Budget) -> PoolOptions {
        PoolOptions {
            limits: PoolLimits {
                max_bytes: self.pool_bytes,
                max_buffers: self.pool_buffers,
                max_idle_bytes: self.pool_idle_bytes,
            },
            idle_age: Some(self.pool_idle_age),
            backtraces: self.backtraces,
            budget: Some(budget),
            ..PoolOptions::default()
        }
    }
}
