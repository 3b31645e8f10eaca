//! Heads of requests, and the responses to them.

use super::{Response, Routes};

/// The most bytes of a request's head.
pub(super) const MAX_HEAD: usize = 8 * 1024;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;

/// A request, by its head; a probe is the method HEAD.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    Get(String),
    Probe(String),
    OtherMethod,
    /// The status that reports what is wrong.
    Wrong(u16),
}

impl Request {
    /// The bytes to send. May run code of the program.
    pub(super) fn response(&self, routes: &dyn Routes) -> Vec<u8> {
        match self {
            Request::Get(path) => respond(routes, path).to_bytes(true),
            Request::Probe(path) => respond(routes, path).to_bytes(false),
            Request::OtherMethod => Response::text(405, "only GET and HEAD\n").to_bytes(true),
            Request::Wrong(status) => Response::text(*status, "not understood\n").to_bytes(true),
        }
    }
}

fn respond(routes: &dyn Routes, path: &str) -> Response {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    routes.get(path).unwrap_or_else(|| Response::text(404, "there is nothing here\n"))
}

pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "",
    }
}

/// The request, once its head is complete or known to be wrong.
pub(super) fn parse(bytes: &[u8]) -> Option<Request> {
    parse_head(bytes).or_else(|| (bytes.len() > MAX_HEAD).then_some(Request::Wrong(431)))
}

/// The head, once it is all there.
fn parse_head(bytes: &[u8]) -> Option<Request> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Partial) => None,
        Ok(httparse::Status::Complete(_)) => {
            let path = request.path.unwrap_or_default().to_owned();
            Some(match request.method {
                Some("GET") => Request::Get(path),
                Some("HEAD") => Request::Probe(path),
                _ => Request::OtherMethod,
            })
        }
        Err(httparse::Error::TooManyHeaders) => Some(Request::Wrong(431)),
        Err(_) => Some(Request::Wrong(400)),
    }
}
