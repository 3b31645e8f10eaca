//! tmp
mod support;
use anymetal_ir::random::{RandomOptions, kernel};
use support::{Launch, agree};
fn bad(text: &str, launch: &Launch, buffers: &[Vec<u8>]) -> bool {
    let Ok(module) = anymetal_ir::parse_module(text) else { return false };
    if anymetal_ir::verify(&module).is_err() { return false }
    let r = std::panic::catch_unwind(|| agree(&module, "k", launch, buffers, "x"));
    match r { Ok(()) => false, Err(e) => e.downcast_ref::<String>().is_some_and(|s| s.contains("differs")) }
}
#[test]
fn one() {
    std::panic::set_hook(Box::new(|_| {}));
    let seed: u64 = std::env::var("SEED").unwrap().parse().unwrap();
    let random = kernel(seed, &RandomOptions::default());
    let launch = Launch::new(random.threads, random.threads_per_group);
    let file = std::env::var("FILE").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(bad(&text, &launch, &random.buffers));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let start = std::time::Instant::now();
    loop {
        let before = lines.len();
        let mut i = lines.len();
        while i > 0 && start.elapsed().as_secs() < 400 {
            i -= 1;
            if i >= lines.len() { continue; }
            // matching block
            let mut end = i + 1;
            if lines[i].trim_end().ends_with('{') && !lines[i].trim_start().starts_with('}') {
                let mut depth = 0i32;
                for (j, l) in lines.iter().enumerate().skip(i) {
                    depth += l.matches('{').count() as i32 - l.matches('}').count() as i32;
                    if depth == 0 { end = j + 1; break; }
                }
            }
            let mut candidate = lines.clone();
            candidate.drain(i..end);
            if bad(&candidate.join("\n"), &launch, &random.buffers) { lines = candidate; }
        }
        if lines.len() == before || start.elapsed().as_secs() > 400 { break; }
    }
    std::fs::write("/tmp/min.ir", lines.join("\n")).unwrap();
}
