//! The driver's code between runs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use anymetal_hal::code_cache::CodeCache;

use super::*;

#[derive(Debug, Default)]
struct InMemory(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl CodeCache for InMemory {
    fn read(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned()
    }

    fn write(&self, name: &[u8], bytes: &[u8]) {
        self.0.lock().unwrap().insert(name.to_owned(), bytes.to_owned());
    }

    fn forget(&self, name: &[u8]) {
        self.0.lock().unwrap().remove(name);
    }
}

/// The calls that a process makes for a pipeline.
fn calls(cache: &Arc<InMemory>) -> Vec<String> {
    let shared: Arc<dyn CodeCache> = Arc::<InMemory>::clone(cache);
    let options = NvidiaOptions::default().with_code_cache(Some(shared));
    let bench = Bench::with(multiply, &options, SystemClock::shared());
    let _pipeline = bench.pipeline();
    bench.driver.calls(&["compile", "load"])
}

#[test]
fn code_is_compiled_once_for_a_card_and_a_driver() {
    let cache = Arc::new(InMemory::default());
    assert_eq!(calls(&cache), ["compile", "load"]);
    assert_eq!(calls(&cache), ["load"]);
    let names: Vec<Vec<u8>> = cache.0.lock().unwrap().keys().cloned().collect();
    assert_eq!(names, [b"cubin sm_90 driver 12040\nfine".to_vec()]);
}

#[test]
fn damaged_code_is_refused_forgotten_and_compiled_again() {
    let cache = Arc::new(InMemory::default());
    calls(&cache);
    cache.0.lock().unwrap().values_mut().for_each(|code| code.truncate(3));
    assert_eq!(calls(&cache), ["load", "compile", "load"]);
    assert_eq!(calls(&cache), ["load"]);
}
