use anymetal_macros::kernel;

#[kernel]
fn case(x: &[AtomicU32]) {
    x[0].compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
}

fn main() {}
