//! Fetching metrics over HTTP.

use std::fmt;
use std::time::{Duration, Instant};

use super::samples::Samples;

/// A process that does not answer is given up after that.
const TIMEOUT: Duration = Duration::from_secs(5);
/// More is no exposition of one process.
const MAX_BYTES: u64 = 32 << 20;

/// Where a process serves its metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    url: String,
}

/// Values at a time.
#[derive(Debug, Clone)]
pub(super) struct Scrape {
    pub(super) samples: Samples,
    pub(super) at: Instant,
}

impl Endpoint {
    /// A URL, or a host and port to which scheme and path are added.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some((scheme, _)) => return Err(format!("`{scheme}` is not http")),
            None => text,
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            return Err(format!("`{text}` has no host"));
        }
        let path = if path.is_empty() { "metrics" } else { path };
        Ok(Endpoint { url: format!("http://{host}/{path}") })
    }

    /// The values now, or why there are none.
    pub(super) fn fetch(&self) -> Result<Scrape, String> {
        let agent =
            ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).proxy(None).build().new_agent();
        let mut response = agent.get(&self.url).call().map_err(|error| error.to_string())?;
        let at = Instant::now();
        let body = response.body_mut().with_config().limit(MAX_BYTES).read_to_string();
        let samples = Samples::parse(&body.map_err(|error| error.to_string())?)?;
        Ok(Scrape { samples, at })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_become_urls_and_other_schemes_are_refused() {
        let url = |text| Endpoint::parse(text).map(|endpoint| endpoint.to_string());
        assert_eq!(url("10.0.0.7:9464").unwrap(), "http://10.0.0.7:9464/metrics");
        assert_eq!(url("http://h:1/").unwrap(), "http://h:1/metrics");
        assert_eq!(url("http://h:1/a/b?c").unwrap(), "http://h:1/a/b?c");
        assert!(url("https://h").unwrap_err().contains("`https` is not http"));
        assert!(url("http:///metrics").is_err() && url("").is_err());
    }
}
