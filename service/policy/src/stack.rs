//! Policies around one call: deadline, retry, bulkhead and breaker, in that order from outside to
//! inside.
//!
//! Owns [`Stack`]. Each attempt takes a place in the bulkhead, then asks the breaker, and gives
//! both back before the delay that follows, so that who waits for a retry takes nobody's place.
//! `backon` drives the attempts. A refusal by the bulkhead or the breaker ends the call at once:
//! both say that more calls do harm.
//!
//! Invariant: the operation is called only while a place and a permit are held, never after the
//! call has given up, and each permit reports how its attempt ended. [`crate::ladder`] is for calls
//! that can do more than wait.

use std::fmt;
use std::future::{Future, ready};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anymetal_hal::clock::{Clock, Sleep, wait_for};
use anymetal_hal::error::ErrorClass;
use backon::Retryable;

use crate::breaker::{Breaker, BreakerOpen};
use crate::bulkhead::{Bulkhead, BulkheadFull};
use crate::classified::{Classified, is_retried};
use crate::deadline::{Deadline, DeadlinePolicy, TimeBudget};
use crate::retry::RetryPolicy;
use crate::timeout::within;

/// One attempt of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Its number, from 1.
    pub number: u32,
    /// When it is given up.
    pub deadline: Deadline,
}

/// Why no further attempt was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Errors of this class are not tried again.
    NotRetried,
    /// All attempts were made, or the limit of their delays was reached.
    NoAttemptLeft,
    /// The next delay would not have left time before the deadline.
    NoTimeLeft,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError<E> {
    /// The last attempt failed.
    #[error("{error} (attempt {attempts})")]
    Failed {
        /// The last attempt's error.
        error: E,
        /// How many attempts there were.
        attempts: u32,
        /// Why there was no other.
        ended: Ended,
    },
    /// The last attempt ran until its deadline, or the call's deadline passed before it began.
    #[error("given up at the deadline (attempt {attempts})")]
    TimedOut {
        /// How many attempts there were.
        attempts: u32,
        /// Why there was no other.
        ended: Ended,
    },
    /// The breaker refused.
    #[error("{refusal} ({attempts} attempts before)")]
    Breaker {
        /// What it said.
        refusal: BreakerOpen,
        /// How many attempts there were before.
        attempts: u32,
    },
    /// The bulkhead refused.
    #[error("{refusal} ({attempts} attempts before)")]
    Bulkhead {
        /// What it said.
        refusal: BulkheadFull,
        /// How many attempts there were before.
        attempts: u32,
    },
}

impl<E: Classified> Classified for CallError<E> {
    fn class(&self) -> ErrorClass {
        match self {
            CallError::Failed { error, .. } => error.class(),
            CallError::TimedOut { .. } | CallError::Breaker { .. } => ErrorClass::Transient,
            CallError::Bulkhead { .. } => ErrorClass::Exhausted,
        }
    }
}

/// How an attempt failed.
enum AttemptError<E> {
    Operation(E),
    TimedOut,
    Breaker(BreakerOpen),
    Bulkhead(BulkheadFull),
}

impl<E: Classified> AttemptError<E> {
    fn is_retried(&self) -> bool {
        match self {
            AttemptError::Operation(error) => is_retried(error.class()),
            AttemptError::TimedOut => true,
            AttemptError::Breaker(_) | AttemptError::Bulkhead(_) => false,
        }
    }

    fn into_call_error(self, attempts: u32, ended: Ended) -> CallError<E> {
        match self {
            AttemptError::Operation(error) => CallError::Failed { error, attempts, ended },
            AttemptError::TimedOut => CallError::TimedOut { attempts, ended },
            AttemptError::Breaker(refusal) => CallError::Breaker { refusal, attempts },
            AttemptError::Bulkhead(refusal) => CallError::Bulkhead { refusal, attempts },
        }
    }
}

/// Policies around calls of one kind; cheap to clone, clones share bulkhead and breaker.
#[derive(Clone)]
pub struct Stack {
    shared: Arc<StackShared>,
}

struct StackShared {
    clock: Arc<dyn Clock>,
    deadline: DeadlinePolicy,
    retry: RetryPolicy,
    bulkhead: Option<Bulkhead>,
    breaker: Option<Breaker>,
    calls: AtomicU64,
}

/// Builds a [`Stack`].
#[derive(Debug, Clone)]
pub struct StackBuilder {
    clock: Arc<dyn Clock>,
    deadline: DeadlinePolicy,
    retry: RetryPolicy,
    bulkhead: Option<Bulkhead>,
    breaker: Option<Breaker>,
}

impl StackBuilder {
    /// Limits each call and each attempt.
    pub fn deadline(self, deadline: DeadlinePolicy) -> Self {
        StackBuilder { deadline, ..self }
    }

    /// Tries failed attempts again.
    pub fn retry(self, retry: RetryPolicy) -> Self {
        StackBuilder { retry, ..self }
    }

    /// Bounds the attempts at once, together with others that share the bulkhead.
    pub fn bulkhead(self, bulkhead: Bulkhead) -> Self {
        StackBuilder { bulkhead: Some(bulkhead), ..self }
    }

    /// Stops attempts while the breaker is open.
    pub fn breaker(self, breaker: Breaker) -> Self {
        StackBuilder { breaker: Some(breaker), ..self }
    }

    /// The stack.
    pub fn build(self) -> Stack {
        let StackBuilder { clock, deadline, retry, bulkhead, breaker } = self;
        let calls = AtomicU64::new(0);
        Stack { shared: Arc::new(StackShared { clock, deadline, retry, bulkhead, breaker, calls }) }
    }
}

impl Stack {
    /// A builder of a stack that does nothing yet: one attempt, no limits.
    pub fn builder(clock: Arc<dyn Clock>) -> StackBuilder {
        StackBuilder {
            clock,
            deadline: DeadlinePolicy::default(),
            retry: RetryPolicy::once(),
            bulkhead: None,
            breaker: None,
        }
    }

    /// Calls the operation until it succeeds or the policies end it. An attempt that runs to its
    /// deadline is dropped.
    pub async fn call<T, E, F, Fut>(&self, operation: F) -> Result<T, CallError<E>>
    where
        E: Classified,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let StackShared { clock, deadline, retry, calls, .. } = &*self.shared;
        let call = Arc::new(Call {
            stack: Arc::clone(&self.shared),
            budget: deadline.start(clock.now(), Deadline::NEVER),
            operation: Mutex::new(operation),
            attempts: AtomicU32::new(0),
            ended: Mutex::new(Ended::NotRetried),
        });
        let schedule = retry.schedule(calls.fetch_add(1, Ordering::Relaxed));
        let attempt = {
            let call = Arc::clone(&call);
            move || Arc::clone(&call).attempt()
        };
        let adjust = {
            let call = Arc::clone(&call);
            move |_: &AttemptError<E>, delay| call.in_time(delay)
        };
        let retried = |error: &AttemptError<E>| error.is_retried();
        let result =
            attempt.retry(schedule).sleep(sleeper(Arc::clone(clock))).when(retried).adjust(adjust).await;
        result.map_err(|error| call.error(error))
    }

    /// The same on the calling thread, which blocks between attempts. A blocking operation is not
    /// interrupted; it has its deadline in [`Attempt`].
    pub fn call_blocking<T, E, F>(&self, mut operation: F) -> Result<T, CallError<E>>
    where
        E: Classified,
        F: FnMut(Attempt) -> Result<T, E>,
    {
        let call = self.call(move |attempt| ready(operation(attempt)));
        match wait_for(&*self.shared.clock, None, call) {
            Some(result) => result,
            None => unreachable!("waiting without a limit ends with the future"),
        }
    }
}

/// One call of a stack.
struct Call<F> {
    stack: Arc<StackShared>,
    budget: TimeBudget,
    /// Locked only to make the next attempt's future, which nobody else does: attempts follow one
    /// another.
    operation: Mutex<F>,
    attempts: AtomicU32,
    ended: Mutex<Ended>,
}

impl<F> Call<F> {
    async fn attempt<T, E, Fut>(self: Arc<Self>) -> Result<T, AttemptError<E>>
    where
        E: Classified,
        F: FnMut(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let StackShared { clock, bulkhead, breaker, .. } = &*self.stack;
        let _place = match bulkhead {
            Some(bulkhead) => {
                Some(bulkhead.enter_async(self.budget.total()).await.map_err(AttemptError::Bulkhead)?)
            }
            None => None,
        };
        if self.budget.total().has_passed(clock.now()) {
            return Err(AttemptError::TimedOut);
        }
        let permit = breaker.as_ref().map(Breaker::permit).transpose().map_err(AttemptError::Breaker)?;
        let number = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let attempt = Attempt { number, deadline: self.budget.attempt(clock.now()) };
        let future = (self.operation.lock().unwrap_or_else(PoisonError::into_inner))(attempt);
        let result = match within(clock, attempt.deadline, future).await {
            Some(result) => result.map_err(AttemptError::Operation),
            None => Err(AttemptError::TimedOut),
        };
        if let Some(permit) = permit {
            match &result {
                Ok(_) => permit.success(),
                Err(AttemptError::Operation(error)) => permit.failure(error.class()),
                Err(_) => permit.failure(ErrorClass::Transient),
            }
        }
        result
    }

    /// The delay before the next attempt, if there is one and it leaves time; notes why not.
    fn in_time(&self, delay: Option<Duration>) -> Option<Duration> {
        let now = self.stack.clock.now();
        let why = if delay.is_some() { Ended::NoTimeLeft } else { Ended::NoAttemptLeft };
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = why;
        delay.filter(|delay| self.budget.total().allows_delay(now, *delay))
    }

    fn error<E: Classified>(&self, error: AttemptError<E>) -> CallError<E> {
        let ended = match error.is_retried() {
            true => *self.ended.lock().unwrap_or_else(PoisonError::into_inner),
            false => Ended::NotRetried,
        };
        error.into_call_error(self.attempts.load(Ordering::Relaxed), ended)
    }
}

/// Waits by the clock.
fn sleeper(clock: Arc<dyn Clock>) -> impl Fn(Duration) -> Sleep + 'static {
    move |delay| Sleep::until(Arc::clone(&clock), clock.now().saturating_add(delay))
}

impl fmt::Debug for Stack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StackShared { deadline, retry, bulkhead, breaker, .. } = &*self.shared;
        formatter
            .debug_struct("Stack")
            .field("deadline", deadline)
            .field("retry", retry)
            .field("bulkhead", bulkhead)
            .field("breaker", breaker)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
