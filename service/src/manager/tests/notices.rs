//! The notices of this test process.

use std::sync::{Mutex, Once};

use anymetal::notice::Notice;
use anymetal_hal::sync::lock;

static SEEN: Mutex<Vec<Notice>> = Mutex::new(Vec::new());

/// All notices so far. Tests of one process share them: each looks for a message that only it causes.
pub(super) fn seen() -> Vec<Notice> {
    static HOOKED: Once = Once::new();
    // The hook is called at once with the notices that nothing has taken.
    HOOKED.call_once(|| anymetal::notice::set_hook(|notice| lock(&SEEN).push(notice.clone())));
    lock(&SEEN).clone()
}
