//! A small HTTP server: GET on a few paths, for scrapers and probes.
//!
//! Owns [`Server`]. It is no web server: one request a connection, no body is read, a request's head has at
//! most [`MAX_HEAD`] bytes. Invariant: a slow or hostile client occupies one of [`THREADS`] threads for at
//! most [`PATIENCE`], and nothing else.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads that answer.
const THREADS: usize = 4;
/// The most bytes of a request's head.
const MAX_HEAD: usize = 8 * 1024;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// Between two attempts to accept while that fails.
const BETWEEN_FAILURES: Duration = Duration::from_millis(100);
/// How long one request may take to arrive, and its answer to leave.
const PATIENCE: Duration = Duration::from_secs(5);

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status: 200, 503.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// Plain text.
    pub fn text(status: u16, body: impl Into<String>) -> Self {
        Response { status, content_type: "text/plain; charset=utf-8", body: body.into().into_bytes() }
    }
}

/// What a server answers.
pub trait Routes: Send + Sync {
    /// The answer for a path (without its query); `None`: there is no such path.
    fn get(&self, path: &str) -> Option<Response>;
}

impl<F: Fn(&str) -> Option<Response> + Send + Sync> Routes for F {
    fn get(&self, path: &str) -> Option<Response> {
        self(path)
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens at an address such as `127.0.0.1:9464`; port 0 takes a free one.
    ///
    /// # Errors
    /// The address is none, or in use, or the system has no thread to give.
    pub fn start(address: impl ToSocketAddrs, routes: Arc<dyn Routes>) -> std::io::Result<Self> {
        let listener = Arc::new(TcpListener::bind(address)?);
        let (address, stopped) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let mut server = Server { address, stopped, threads: Vec::new() };
        for number in 0..THREADS {
            let (listener, routes) = (Arc::clone(&listener), Arc::clone(&routes));
            let stopped = Arc::clone(&server.stopped);
            let name = format!("anymetal-http-{number}");
            let serve = move || serve(&listener, &*routes, &stopped);
            server.threads.push(std::thread::Builder::new().name(name).spawn(serve)?);
        }
        Ok(server)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        // Each thread that accepts is woken by one connection.
        for _ in &self.threads {
            let _woken = TcpStream::connect_timeout(&reachable(self.address), PATIENCE);
        }
        for thread in self.threads.drain(..) {
            let _ended = thread.join();
        }
    }
}

/// The address by which the process reaches itself.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

fn serve(listener: &TcpListener, routes: &dyn Routes, stopped: &AtomicBool) {
    while !stopped.load(Ordering::Acquire) {
        match listener.accept() {
            Ok(_) if stopped.load(Ordering::Acquire) => return,
            // A client that goes away in between is its own affair.
            Ok((mut stream, _)) => drop(answer(&mut stream, routes)),
            // Out of descriptors, mostly: try again when another connection may have ended.
            Err(_) => std::thread::park_timeout(BETWEEN_FAILURES),
        }
    }
}

fn answer(stream: &mut TcpStream, routes: &dyn Routes) -> std::io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let (response, with_body) = match read_head(stream)? {
        Request::Get(path) => (respond(routes, &path), true),
        Request::Probe(path) => (respond(routes, &path), false),
        Request::OtherMethod => (Response::text(405, "only GET and HEAD\n"), true),
        Request::Wrong(status) => (Response::text(status, "not understood\n"), true),
        Request::Gone => return Ok(()),
    };
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
        response.status,
        reason(response.status),
        response.content_type,
        response.body.len(),
        if response.status == 405 { "Allow: GET, HEAD\r\n" } else { "" },
    );
    stream.write_all(head.as_bytes())?;
    if with_body {
        stream.write_all(&response.body)?;
    }
    stream.flush()
}

fn respond(routes: &dyn Routes, path: &str) -> Response {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    routes.get(path).unwrap_or_else(|| Response::text(404, "there is nothing here\n"))
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "",
    }
}

/// A request, by its head; a probe is the method HEAD.
#[derive(Debug, PartialEq, Eq)]
enum Request {
    Get(String),
    Probe(String),
    OtherMethod,
    /// The status that tells what is wrong.
    Wrong(u16),
    /// The client left.
    Gone,
}

fn read_head(stream: &mut TcpStream) -> std::io::Result<Request> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Request::Wrong(408));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(Request::Gone),
            Ok(read) => head.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(Request::Wrong(408)),
        }
        if let Some(parsed) = parse_head(&head) {
            return Ok(parsed);
        }
        if head.len() > MAX_HEAD {
            return Ok(Request::Wrong(431));
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(server: &Server, text: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn server() -> Server {
        let routes = |path: &str| match path {
            "/metrics" => Some(Response::text(200, "a 1\n")),
            _ => None,
        };
        Server::start("127.0.0.1:0", Arc::new(routes)).unwrap()
    }

    #[test]
    fn paths_are_answered_and_other_requests_refused() {
        let server = server();
        let got = request(&server, "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n");
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("\r\n\r\na 1\n"), "{got}");
        let head = request(&server, "HEAD /metrics HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 4\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(request(&server, "GET /else HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
        assert!(request(&server, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert!(request(&server, "\u{1}\u{2}\r\n\r\n").starts_with("HTTP/1.1 400 "));
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(MAX_HEAD));
        assert!(request(&server, &long).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn clients_that_say_nothing_do_not_keep_others_from_an_answer_and_it_ends() {
        let server = server();
        let silent: Vec<TcpStream> =
            (0..THREADS - 1).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        assert!(request(&server, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200 "));
        drop(silent);
        let address = server.address();
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "it no longer listens");
    }
}
