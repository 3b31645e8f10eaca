use anymetal_macros::kernel;

#[kernel]
fn case(x: &[AtomicU32]) {
    x[0].fetch_add(1, Ordering::SeqCst);
}

fn main() {}
