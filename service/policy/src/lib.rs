//! Recovery policies: what to do when work fails, and when not to try.
//!
//! The crate knows error classes and the injected clock of `anymetal-hal`, and neither devices nor
//! work. Every policy is a small object whose builder refuses values that make no sense
//! ([`invalid`]), and every one can be used alone:
//!
//! - [`retry`]: which errors are tried again, how often, after which delays;
//! - [`breaker`]: stops calls to what keeps failing, and finds out when it works again;
//! - [`bulkhead`]: so many calls at once, so many waiting;
//! - [`deadline`]: one budget of time that all attempts share;
//! - [`idempotence`]: whether work may run again after it may have written something;
//! - [`ladder`]: what to try next: retry, release memory, degrade, another device; and the path
//!   that was taken;
//! - [`adapt`]: the number of streams by load, heat and power;
//! - [`stack`]: deadline, retry, bulkhead and breaker around one call, blocking or asynchronous;
//!   in [`tower`] as a layer over services.
//!
//! [`policies`] is all of them, as the settings give them. [`virtual_time`] runs tests and
//! simulations.
//!
//! Rules that hold everywhere here: time is the injected clock's and nothing else sleeps or polls;
//! the same seed gives the same delays; no lock that another call could want is held while foreign
//! code runs; errors of the caller's class are neither retried nor held against a device.
//!
//! # States of a breaker
//!
//! ```text
//!               failures in a row, failure rate of the window, device lost, trip()
//!        ┌──────────────────────────────────────────────────────────────────┐
//!        │                                                                  ▼
//!    ┌────────┐  all probes succeed   ┌───────────┐    open_for is over  ┌──────┐
//!    │ closed │◄──────────────────────│ half-open │◄─────────────────────│ open │
//!    └────────┘                       └───────────┘                      └──────┘
//!        ▲                               │     │        a probe fails       ▲
//!        │                               │     └────────────────────────────┤
//!        └───────────────────────────────┴──────────── reset() ─────────────┘
//! ```
//!
//! # The recovery ladder
//!
//! ```text
//!    attempt fails ──► caller's error ───────────────────────────────► give up
//!         │            may have written, may not run again ──────────► give up
//!         │            deadline has passed ──────────────────────────► give up
//!         │            device lost, its breaker open ────┐
//!         ▼                                              │
//!    retry after a delay        while attempts are left  │
//!         ▼                                              │
//!    release idle memory        if memory ran out        │
//!         ▼                                              │
//!    degrade by one level       while levels are left    │
//!         ▼                                              ▼
//!    open the breaker ──► the next device, from the top; none left ──► give up
//! ```
//!
//! # Example
//!
//! A call climbs its ladder in virtual time: the first device is lost, the second succeeds.
//!
//! ```
//! use std::sync::Arc;
//!
//! use anymetal_hal::clock::{Clock, ManualClock};
//! use anymetal_hal::error::DeviceError;
//! use anymetal_policy::breaker::Breakers;
//! use anymetal_policy::deadline::Deadline;
//! use anymetal_policy::idempotence::{RetryableWork, decide};
//! use anymetal_policy::ladder::{Failure, Ladder, Outcome, NextStep, Request};
//! use anymetal_policy::policies::Policies;
//!
//! let (policies, clock) = (Policies::default(), ManualClock::new());
//! let breakers = Breakers::new(policies.breaker.unwrap_or_default(), clock.clone(), 1024)?;
//! let devices: Vec<Arc<str>> = vec!["gpu".into(), "cpu".into()];
//!
//! // What stands for the work: the GPU is lost, the CPU succeeds.
//! let run = |device: &str| match device {
//!     "gpu" => Err(DeviceError::DeviceLost { device: device.into(), reason: "unplugged".into() }),
//!     _ => Ok(42),
//! };
//!
//! let request = Request {
//!     devices: devices.clone(),
//!     replay: decide(&RetryableWork::default(), policies.snapshot_limit),
//!     most_degraded: 0,
//!     budget: policies.deadline.start(clock.now(), Deadline::NEVER),
//!     call: 0,
//! };
//! let mut ladder = Ladder::new(&policies.ladder, &policies.retry, request)?;
//! let mut result = None;
//! while let NextStep::Run(next) = ladder.step() {
//!     if let Some(left) = next.open_breaker {
//!         breakers.get(&devices[left])?.trip();
//!     }
//!     clock.advance(next.delay);
//!     ladder.started(clock.now());
//!     let outcome = match breakers.get(&devices[next.device])?.permit() {
//!         Err(refusal) => Outcome::BreakerOpen { until: Some(refusal.until(clock.now())) },
//!         Ok(permit) => {
//!             let ran = run(&devices[next.device]);
//!             permit.result(&ran);
//!             match ran {
//!                 Ok(value) => {
//!                     result = Some(value);
//!                     Outcome::Success
//!                 }
//!                 Err(error) => Outcome::Failed(Failure::ran(&error)),
//!             }
//!         }
//!     };
//!     ladder.ended(clock.now(), outcome);
//! }
//! assert_eq!((ladder.step(), result), (NextStep::Done, Some(42)));
//! assert_eq!(ladder.path().to_string(), "gpu lost @0ns+0ns, fallback cpu ok @0ns+0ns");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod adapt;
pub mod breaker;
pub mod bulkhead;
pub mod classified;
pub mod deadline;
pub mod idempotence;
pub mod invalid;
pub mod ladder;
pub mod policies;
pub mod ratio;
pub mod retry;
pub mod stack;
pub mod timeout;
pub mod tower;
pub mod virtual_time;
