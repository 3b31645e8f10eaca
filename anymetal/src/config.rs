//! Settings: from code, the environment and a file, in layers.

pub use anymetal_core::config::{
    CheckSetting, ConfigError, HistoryLayer, KernelsLayer, Layer, Layers, MemoryLayer, RuntimeConfig, Size,
    Span, StreamsLayer,
};
pub use anymetal_driver::{Level, PassOptions};
