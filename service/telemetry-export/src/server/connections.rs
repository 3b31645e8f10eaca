//! The connections of a server, which one thread waits for.
//!
//! Owns [`Connections`]. Invariants: at most [`MAX_CONNECTIONS`] are open and at most [`MAX_RESPONSES`] of
//! them hold a response that the client has not taken; each ends within the time of its state. Nothing here
//! blocks but the wait for the next event.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::request::{self, Request};
use super::{Done, Job, Response};

/// Connections at once; the oldest idle one is closed for one more.
pub(super) const MAX_CONNECTIONS: usize = 512;
/// Responses at once that clients have not taken yet; the oldest connection with one is closed for one more.
const MAX_RESPONSES: usize = 32;
/// How long a request may take to arrive.
pub(super) const READ_TIME: Duration = Duration::from_secs(5);
/// How long a response may take to be received.
const WRITE_TIME: Duration = Duration::from_secs(10);
/// How long a client may take to close after the response.
const CLOSE_TIME: Duration = Duration::from_secs(1);
/// A connection is not closed in favour of another before it had this time to send its request.
const GRACE: Duration = Duration::from_millis(50);
/// Between two attempts to accept while the system refuses.
const BETWEEN_FAILURES: Duration = Duration::from_millis(100);
/// Connections accepted before others have their turn.
const ACCEPTED_AT_ONCE: usize = 64;

const LISTENER: Token = Token(0);
pub(super) const WAKER: Token = Token(1);
const FIRST: usize = 2;

/// See the module's documentation.
pub(super) struct Connections {
    poll: Poll,
    listener: TcpListener,
    jobs: SyncSender<Job>,
    responses: Receiver<Done>,
    stopped: Arc<AtomicBool>,
    /// By their tokens, which count up: the first is the oldest.
    open: BTreeMap<usize, Connection>,
    next: usize,
    /// When to accept again; `None`: when the listener says so.
    accept_at: Option<Instant>,
}

struct Connection {
    stream: TcpStream,
    opened: Instant,
    deadline: Option<Instant>,
    state: ConnectionState,
}

enum ConnectionState {
    /// The request's head so far.
    Reading(Vec<u8>),
    /// A thread computes the response.
    Answering,
    /// The response, and how much of it is sent.
    Writing(Vec<u8>, usize),
    /// All is sent; what the client still sends is dropped, so that closing does not take the response away.
    Closing,
}

/// What becomes of a connection that was looked after.
enum Next {
    Wait,
    Close,
    Respond(Request),
}

impl Connections {
    pub(super) fn new(
        poll: Poll,
        mut listener: TcpListener,
        jobs: SyncSender<Job>,
        responses: Receiver<Done>,
        stopped: Arc<AtomicBool>,
    ) -> std::io::Result<Self> {
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let (open, next, accept_at) = (BTreeMap::new(), FIRST, None);
        Ok(Connections { poll, listener, jobs, responses, stopped, open, next, accept_at })
    }

    /// Serves until the server stops.
    pub(super) fn run(mut self) {
        let mut events = Events::with_capacity(256);
        loop {
            match self.poll.poll(&mut events, self.time_to_wait()) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return,
                _ if self.stopped.load(Ordering::Acquire) => return,
                _ => {}
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.accept_at = Some(Instant::now()),
                    WAKER => {}
                    Token(number) => self.advance(number),
                }
            }
            while let Ok((Token(number), bytes)) = self.responses.try_recv() {
                self.write(number, bytes);
            }
            if self.accept_at.is_some_and(|at| at <= Instant::now()) {
                self.accept();
            }
            self.end_late_ones();
        }
    }

    fn time_to_wait(&self) -> Option<Duration> {
        let deadlines = self.open.values().filter_map(|connection| connection.deadline);
        let first = deadlines.chain(self.accept_at).min();
        first.map(|at| at.saturating_duration_since(Instant::now()))
    }

    fn accept(&mut self) {
        self.accept_at = Some(Instant::now());
        for _ in 0..ACCEPTED_AT_ONCE {
            if self.open.len() >= MAX_CONNECTIONS && !self.close_oldest_idle() {
                // Those that wait to be accepted are in the system's queue meanwhile.
                self.accept_at = Some(Instant::now() + GRACE);
                return;
            }
            match self.listener.accept() {
                Ok((stream, _)) => self.add(stream),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.accept_at = None;
                    return;
                }
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                // Out of descriptors, mostly.
                Err(_) => {
                    self.close_oldest_idle();
                    self.accept_at = Some(Instant::now() + BETWEEN_FAILURES);
                    return;
                }
            }
        }
    }

    fn add(&mut self, mut stream: TcpStream) {
        let (number, now) = (self.next, Instant::now());
        self.next += 1;
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.poll.registry().register(&mut stream, Token(number), interest).is_err() {
            return;
        }
        let (deadline, state) = (Some(now + READ_TIME), ConnectionState::Reading(Vec::new()));
        self.open.insert(number, Connection { stream, opened: now, deadline, state });
        self.advance(number);
    }

    /// Closes the oldest connection that has sent no complete request or has its response, if it had time to
    /// send one; says whether there was one.
    fn close_oldest_idle(&mut self) -> bool {
        let is_idle = |connection: &Connection| match connection.state {
            ConnectionState::Reading(_) | ConnectionState::Closing => connection.opened.elapsed() >= GRACE,
            ConnectionState::Answering | ConnectionState::Writing(..) => false,
        };
        let oldest = self.open.iter().find(|(_, connection)| is_idle(connection)).map(|(number, _)| *number);
        oldest.is_some_and(|number| self.open.remove(&number).is_some())
    }

    /// Does what a connection is ready for.
    fn advance(&mut self, number: usize) {
        // An event of a connection that was closed in the same round.
        let Some(connection) = self.open.get_mut(&number) else { return };
        match connection.advance() {
            Next::Wait => {}
            Next::Close => drop(self.open.remove(&number)),
            Next::Respond(request) => self.respond(number, request),
        }
    }

    fn respond(&mut self, number: usize, request: Request) {
        if let Some(connection) = self.open.get_mut(&number) {
            (connection.state, connection.deadline) = (ConnectionState::Answering, None);
        }
        let job = Job { connection: Token(number), request };
        // The queue has room for one request of each connection. Those of connections that were closed
        // meanwhile may still be in it: then this one is closed in its turn.
        if self.jobs.try_send(job).is_err() {
            self.open.remove(&number);
        }
    }

    /// Starts to send a response.
    fn write(&mut self, number: usize, bytes: Vec<u8>) {
        // The client of a response may be gone.
        let Some(connection) = self.open.get_mut(&number) else { return };
        connection.state = ConnectionState::Writing(bytes, 0);
        connection.deadline = Some(Instant::now() + WRITE_TIME);
        self.advance(number);
        let is_writing = |connection: &Connection| matches!(connection.state, ConnectionState::Writing(..));
        let writing = || self.open.iter().filter(|(_, connection)| is_writing(connection));
        if writing().count() > MAX_RESPONSES {
            let oldest = writing().map(|(number, _)| *number).next();
            oldest.map(|number| self.open.remove(&number));
        }
    }

    fn end_late_ones(&mut self) {
        let now = Instant::now();
        let is_late = |connection: &Connection| connection.deadline.is_some_and(|deadline| deadline <= now);
        let late: Vec<usize> = self
            .open
            .iter()
            .filter(|(_, connection)| is_late(connection))
            .map(|(number, _)| *number)
            .collect();
        for number in late {
            match self.open.get(&number).map(|connection| &connection.state) {
                Some(ConnectionState::Reading(_)) => {
                    self.write(number, Response::text(408, "not understood\n").to_bytes(true));
                }
                _ => drop(self.open.remove(&number)),
            }
        }
    }
}

impl Connection {
    fn advance(&mut self) -> Next {
        match &mut self.state {
            ConnectionState::Reading(head) => loop {
                let mut piece = [0; 1024];
                match self.stream.read(&mut piece) {
                    Ok(0) => return Next::Close,
                    Ok(read) => head.extend_from_slice(&piece[..read]),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return after(&error),
                }
                if let Some(request) = request::parse(head) {
                    return Next::Respond(request);
                }
            },
            // Whether the client left shows when the response is sent.
            ConnectionState::Answering => Next::Wait,
            ConnectionState::Writing(bytes, sent) => {
                while *sent < bytes.len() {
                    match self.stream.write(&bytes[*sent..]) {
                        Ok(0) => return Next::Close,
                        Ok(written) => *sent += written,
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return after(&error),
                    }
                }
                if self.stream.shutdown(Shutdown::Write).is_err() {
                    return Next::Close;
                }
                (self.state, self.deadline) = (ConnectionState::Closing, Some(Instant::now() + CLOSE_TIME));
                self.drain()
            }
            ConnectionState::Closing => self.drain(),
        }
    }

    /// Drops what the client still sends until it closes or pauses. A client that sends a lot has what it
    /// needs of the response, or never will.
    fn drain(&mut self) -> Next {
        let mut piece = [0; 1024];
        for _ in 0..64 {
            match self.stream.read(&mut piece) {
                Ok(0) => return Next::Close,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return after(&error),
            }
        }
        Next::Close
    }
}

/// What an error of a stream means: the other end is not ready, or gone.
fn after(error: &std::io::Error) -> Next {
    match error.kind() {
        ErrorKind::WouldBlock => Next::Wait,
        _ => Next::Close,
    }
}
