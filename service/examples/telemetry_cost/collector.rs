//! A collector that accepts everything.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) struct Collector {
    endpoint: String,
    requests: Arc<AtomicUsize>,
}

impl Collector {
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Starts one; its threads live as long as the process.
pub(crate) fn start() -> std::io::Result<Collector> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let endpoint = format!("http://{}", listener.local_addr()?);
    let requests = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || answer(stream, &counted));
        }
    });
    Ok(Collector { endpoint, requests })
}

/// Answers the requests of a connection until it ends.
fn answer(mut stream: TcpStream, counted: &AtomicUsize) -> std::io::Result<()> {
    let (mut bytes, mut piece) = (Vec::new(), [0; 64 * 1024]);
    loop {
        while let Some(length) = request_length(&bytes) {
            bytes.drain(..length);
            counted.fetch_add(1, Ordering::Relaxed);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        }
        match stream.read(&mut piece)? {
            0 => return Ok(()),
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
}

/// The length of the first request, if it is all there.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let whole = head + length.unwrap_or(0);
    (bytes.len() >= whole).then_some(whole)
}
