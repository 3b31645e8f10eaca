//! The service: a monitor that ticks by itself, and what it answers over HTTP.
//!
//! Owns [`HealthService`]. `/livez` says whether the monitor ticks: 503 means that the process should be
//! started anew. `/readyz` says whether work should be sent here. `/healthz` has all components as JSON, and
//! `/capacity` the capacity report.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anymetal_hal::clock::Clock;
use anymetal_telemetry_export::background::Background;
use anymetal_telemetry_export::server::{Response, Routes};
use anymetal_telemetry_export::store::Store;
use serde_json::json;

use crate::capacity::CapacityReport;
use crate::monitor::Monitor;
use crate::state::{Health, Hysteresis};

/// So many intervals without a tick are no life.
const MISSED: u32 = 5;

/// Ticks until it is dropped.
#[derive(Debug)]
pub struct HealthService {
    shared: Arc<ServiceShared>,
    thread: Background,
}

#[derive(Debug)]
struct ServiceShared {
    clock: Arc<dyn Clock>,
    interval: Duration,
    started: Duration,
    monitor: Mutex<Monitor>,
    /// Whether the program wants no more work.
    draining: AtomicBool,
}

impl HealthService {
    /// Starts ticking.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(
        monitor: Monitor,
        store: Store,
        clock: Arc<dyn Clock>,
        interval: Duration,
    ) -> std::io::Result<Self> {
        let interval = interval.max(Duration::from_millis(1));
        let shared = Arc::new(ServiceShared {
            clock: Arc::clone(&clock),
            interval,
            started: clock.now(),
            monitor: Mutex::new(monitor),
            draining: AtomicBool::new(false),
        });
        let its = Arc::clone(&shared);
        let tick = move || {
            let snapshot = store.snapshot();
            let now = its.clock.now();
            its.monitor().tick(now, snapshot);
        };
        let thread = Background::start("anymetal-health", clock, interval, tick)?;
        Ok(HealthService { shared, thread })
    }

    /// Tells a component's state, as a policy knows it; it is entered at the next tick.
    pub fn report(&self, component: &str, state: Health, reason: &str) {
        let immediately = Hysteresis { worse_for: Duration::ZERO, better_for: Duration::ZERO };
        self.shared.monitor().report(component, state, reason, true, immediately);
    }

    /// Whether the program wants no more work: `/readyz` then says no.
    pub fn set_draining(&self, draining: bool) {
        self.shared.draining.store(draining, Ordering::Relaxed);
    }

    /// Ticks now, and waits until that is done.
    pub fn tick(&self) {
        self.thread.flush();
    }

    /// Looks at the monitor.
    pub fn with_monitor<R>(&self, look: impl FnOnce(&Monitor) -> R) -> R {
        look(&self.shared.monitor())
    }

    /// The capacity report; `None` before the first tick.
    pub fn capacity(&self) -> Option<CapacityReport> {
        CapacityReport::of(&self.shared.monitor())
    }

    /// What it answers over HTTP; `None` for other paths.
    pub fn routes(&self) -> impl Routes + use<> {
        let shared = Arc::clone(&self.shared);
        move |path: &str| match path {
            "/livez" => Some(shared.live()),
            "/readyz" => Some(shared.ready()),
            "/healthz" => Some(shared.health()),
            "/capacity" => Some(shared.capacity()),
            _ => None,
        }
    }
}

impl ServiceShared {
    fn monitor(&self) -> MutexGuard<'_, Monitor> {
        self.monitor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> Response {
        let last = self.monitor().last_tick().unwrap_or(self.started);
        let silent = self.clock.now().saturating_sub(last);
        match silent <= self.interval * MISSED {
            true => Response::text(200, "ok\n"),
            false => Response::text(503, format!("no tick for {} s\n", silent.as_secs())),
        }
    }

    fn ready(&self) -> Response {
        if self.draining.load(Ordering::Relaxed) {
            return Response::text(503, "draining\n");
        }
        let monitor = self.monitor();
        if monitor.is_ready() {
            return Response::text(200, "ok\n");
        }
        let bad = monitor.components().into_iter().filter(|component| component.state == Health::Unhealthy);
        let lines: Vec<String> =
            bad.map(|component| format!("{}: {}", component.component, component.reason)).collect();
        Response::text(503, format!("not ready\n{}\n", lines.join("\n")))
    }

    fn health(&self) -> Response {
        let monitor = self.monitor();
        let state = monitor.overall();
        let body = json!({ "state": state, "components": monitor.components() });
        let status = if monitor.is_ready() { 200 } else { 503 };
        json_response(status, body.to_string())
    }

    fn capacity(&self) -> Response {
        match CapacityReport::of(&self.monitor()) {
            Some(report) => json_response(200, report.to_json()),
            None => Response::text(503, "not yet\n"),
        }
    }
}

fn json_response(status: u16, body: String) -> Response {
    Response { status, content_type: "application/json", body: body.into_bytes() }
}
