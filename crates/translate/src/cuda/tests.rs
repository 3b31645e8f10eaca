//! Translations of small sources, each rule by itself.
