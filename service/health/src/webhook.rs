//! Alerts to a URL, as JSON.
//!
//! Owns [`Webhook`]. Invariant: an alert is offered up to [`ATTEMPTS`] times, a longer and longer time apart,
//! in order; then it is given up and counted. Nothing waits for the target but its own thread.

use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::Clock;
use anymetal_telemetry::record;
use anymetal_telemetry_export::background::Background;
use anymetal_telemetry_export::bounded::Bounded;
use anymetal_telemetry_export::post::{BadTarget, Target};

use crate::alert::{Alert, AlertSink};

/// Alerts that wait.
const QUEUE: usize = 256;
/// How often an alert is offered.
pub const ATTEMPTS: u32 = 5;
/// Until the second attempt; each further one takes twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// How often the thread looks.
const INTERVAL: Duration = Duration::from_secs(1);
const EXPORTER: &str = "webhook";

/// Why there is no webhook.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The URL is no target.
    #[error(transparent)]
    Target(#[from] BadTarget),
    /// The system has no thread to give.
    #[error("no thread for the webhook: {0}")]
    NoThread(#[from] std::io::Error),
}

/// Sends alerts until it is dropped.
#[derive(Debug)]
pub struct Webhook {
    queue: Arc<Bounded<Alert>>,
    thread: Background,
}

impl Webhook {
    /// Sends alerts to a URL.
    ///
    /// # Errors
    /// The URL is no target; the system has no thread to give.
    pub fn start(url: &str, clock: Arc<dyn Clock>) -> Result<Self, WebhookError> {
        let queue = Arc::new(Bounded::new(EXPORTER, QUEUE));
        let mut sender = Sender {
            target: Target::new(url)?,
            queue: Arc::clone(&queue),
            clock: Arc::clone(&clock),
            pending: None,
        };
        let thread = Background::start("anymetal-webhook", clock, INTERVAL, move || sender.send())?;
        Ok(Webhook { queue, thread })
    }

    /// Alerts that were given up.
    pub fn dropped(&self) -> u64 {
        self.queue.dropped()
    }

    /// Offers what is due now, and waits until that is done.
    pub fn flush(&self) {
        self.thread.flush();
    }
}

impl AlertSink for Webhook {
    fn send(&self, alert: &Alert) {
        if self.queue.push(alert.clone()) {
            self.thread.wake();
        }
    }
}

struct Pending {
    alert: Alert,
    attempts: u32,
    due: Duration,
}

struct Sender {
    target: Target,
    queue: Arc<Bounded<Alert>>,
    clock: Arc<dyn Clock>,
    pending: Option<Pending>,
}

impl Sender {
    /// Offers alerts in order until none waits or one is not accepted.
    fn send(&mut self) {
        loop {
            let now = self.clock.now();
            let next = || self.queue.take(1).pop().map(|alert| Pending { alert, attempts: 0, due: now });
            let Some(mut pending) = self.pending.take().or_else(next) else { return };
            if pending.due > now {
                self.pending = Some(pending);
                return;
            }
            let body = serde_json::to_vec(&pending.alert).unwrap_or_default();
            let sent = self.target.post("application/json", &body);
            record::exported(EXPORTER, if sent.is_ok() { "ok" } else { "failed" });
            let Err(error) = sent else { continue };
            pending.attempts += 1;
            if !error.may_pass() || pending.attempts >= ATTEMPTS {
                self.queue.drop_counted(1);
                continue;
            }
            pending.due = self.clock.now().saturating_add(FIRST_DELAY * (1 << (pending.attempts - 1)));
            self.pending = Some(pending);
            return;
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let left = self.queue.len() + usize::from(self.pending.is_some());
        if left > 0 {
            self.queue.drop_counted(left as u64);
        }
    }
}
