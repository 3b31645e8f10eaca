//! The policies as a layer over any `tower_service::Service`, under the injected clock.
//!
//! Owns [`ResilienceLayer`] and the service [`Resilient`] that it makes. Each call is one call of a
//! [`Stack`]: the request is cloned for each attempt, and the attempt waits until the service
//! inside is ready. Invariant: the outer service is always ready; what is too much is refused by
//! the stack with a typed error, in time, instead of waiting for readiness without a bound.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::classified::Classified;
use crate::stack::{CallError, Stack};

/// Puts a stack of policies around services. Services made by one layer share bulkhead and breaker.
#[derive(Debug, Clone)]
pub struct ResilienceLayer {
    stack: Stack,
}

impl ResilienceLayer {
    /// A layer of that stack.
    pub fn new(stack: Stack) -> Self {
        ResilienceLayer { stack }
    }
}

impl<S> Layer<S> for ResilienceLayer {
    type Service = Resilient<S>;

    fn layer(&self, inner: S) -> Resilient<S> {
        Resilient { inner, stack: self.stack.clone() }
    }
}

/// A service with a stack of policies around it.
#[derive(Debug, Clone)]
pub struct Resilient<S> {
    inner: S,
    stack: Stack,
}

impl<S, Request> Service<Request> for Resilient<S>
where
    S: Service<Request> + Clone + Send + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Classified + Send,
    Request: Clone + Send + 'static,
{
    type Response = S::Response;
    type Error = CallError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (inner, stack) = (self.inner.clone(), self.stack.clone());
        Box::pin(async move {
            stack
                .call(move |_| {
                    // A service is ready for one call only, so each attempt has its own.
                    let (mut service, request) = (inner.clone(), request.clone());
                    async move {
                        poll_fn(|context| service.poll_ready(context)).await?;
                        service.call(request).await
                    }
                })
                .await
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use anymetal_hal::clock::ManualClock;
    use anymetal_hal::error::ErrorClass;

    use super::*;
    use crate::breaker::{Breaker, BreakerPolicy};
    use crate::bulkhead::{Bulkhead, BulkheadPolicy};
    use crate::retry::RetryPolicy;
    use crate::virtual_time::{Simulated, run, run_all};

    /// Fails so often, then doubles numbers; must be polled for readiness before each call.
    #[derive(Debug, Clone)]
    struct Flaky {
        failures_left: Arc<AtomicU32>,
        calls: Arc<AtomicU32>,
        ready: bool,
    }

    impl Flaky {
        fn new(failures: u32) -> Self {
            Flaky { failures_left: Arc::new(failures.into()), calls: Arc::default(), ready: false }
        }
    }

    impl Service<u32> for Flaky {
        type Response = u32;
        type Error = ErrorClass;
        type Future = std::future::Ready<Result<u32, ErrorClass>>;

        fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), ErrorClass>> {
            self.ready = true;
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: u32) -> Self::Future {
            assert!(std::mem::take(&mut self.ready), "called without being ready");
            self.calls.fetch_add(1, Ordering::Relaxed);
            let one_less = |left: u32| left.checked_sub(1);
            let failed = self.failures_left.try_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
            std::future::ready(if failed.is_ok() { Err(ErrorClass::Transient) } else { Ok(2 * request) })
        }
    }

    fn call(
        service: &mut impl Service<u32, Response = u32, Error = CallError<ErrorClass>>,
    ) -> Simulated<'_, Result<u32, CallError<ErrorClass>>> {
        Box::pin(async move {
            poll_fn(|context| service.poll_ready(context)).await?;
            service.call(21).await
        })
    }

    #[test]
    fn a_service_is_retried_and_its_breaker_is_shared() {
        let clock = ManualClock::new();
        let policy = BreakerPolicy::builder().consecutive_failures(4).build().unwrap();
        let breaker = Breaker::new(policy, clock.clone());
        let bulkhead = Bulkhead::new(BulkheadPolicy::default(), clock.clone());
        let builder = Stack::builder(clock.clone()).retry(RetryPolicy::default()).bulkhead(bulkhead);
        let layer = ResilienceLayer::new(builder.breaker(breaker).build());
        let (recovers, fails) = (Flaky::new(2), Flaky::new(u32::MAX));
        assert_eq!(run(&clock, call(&mut layer.layer(recovers.clone()))), Some(Ok(42)));
        assert_eq!(recovers.calls.load(Ordering::Relaxed), 3);
        let mut fails_behind = layer.layer(fails.clone());
        assert!(matches!(
            run(&clock, call(&mut fails_behind)),
            Some(Err(CallError::Failed { attempts: 3, .. }))
        ));
        assert!(matches!(
            run(&clock, call(&mut fails_behind)),
            Some(Err(CallError::Breaker { attempts: 1, .. }))
        ));
        let refused = run(&clock, call(&mut layer.layer(Flaky::new(0))));
        assert!(matches!(refused, Some(Err(CallError::Breaker { attempts: 0, .. }))), "{refused:?}");
    }

    #[test]
    fn what_is_too_much_is_refused_and_the_service_stays_ready() {
        /// Never ends.
        #[derive(Clone)]
        struct Hangs;

        impl Service<u32> for Hangs {
            type Response = u32;
            type Error = ErrorClass;
            type Future = std::future::Pending<Result<u32, ErrorClass>>;

            fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), ErrorClass>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, _request: u32) -> Self::Future {
                std::future::pending()
            }
        }

        let clock = ManualClock::new();
        let wait = Duration::from_secs(1);
        let policy = BulkheadPolicy::builder().concurrency(1).queue(1).wait(wait).build().unwrap();
        let stack = Stack::builder(clock.clone()).bulkhead(Bulkhead::new(policy, clock.clone())).build();
        let mut services = [(); 3].map(|()| ResilienceLayer::new(stack.clone()).layer(Hangs));
        let ended = run_all(&clock, services.iter_mut().map(call).collect());
        let refused = |ended: &Option<Result<u32, CallError<ErrorClass>>>| {
            matches!(ended, Some(Err(CallError::Bulkhead { .. })))
        };
        assert!(ended[0].is_none() && refused(&ended[1]) && refused(&ended[2]), "{ended:?}");
    }
}
