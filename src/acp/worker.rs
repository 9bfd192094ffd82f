//! A thread that takes messages in the order in which they were sent, and that begins when it is first
//! needed. What the messages ask for, and what is done about them, is the owner's part. A `Service` is one
//! that serves one request about a folder or file after the other, as what is kept on the disk does.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::mutex::lock;

/// The handle to a worker. Cheap to clone; all clones are one. A worker whose handles are all gone takes
/// what was sent, and ends.
pub struct Worker<M> {
    name: &'static str,
    thread: Arc<Mutex<Option<Running<M>>>>,
}

struct Running<M> {
    sender: Sender<M>,
    thread: JoinHandle<()>,
}

impl<M> Clone for Worker<M> {
    fn clone(&self) -> Self {
        Self { name: self.name, thread: self.thread.clone() }
    }
}

impl<M: Send + 'static> Worker<M> {
    /// A worker whose thread will have this name.
    pub fn new(name: &'static str) -> Self {
        Self { name, thread: Arc::default() }
    }

    pub fn is_running(&self) -> bool {
        lock(&self.thread).is_some()
    }

    /// Starts the thread unless it runs. `prepare` gives what it does with its queue; one that sends
    /// messages to itself takes a clone of the sender, and has to be told when to end.
    pub fn start<W>(&self, prepare: impl FnOnce(&Sender<M>) -> W) -> io::Result<()>
    where
        W: FnOnce(Receiver<M>) + Send + 'static,
    {
        let mut running = lock(&self.thread);
        if running.is_none() {
            let (sender, queue) = mpsc::channel();
            let work = prepare(&sender);
            let thread = thread::Builder::new().name(self.name.to_owned()).spawn(move || work(queue))?;
            *running = Some(Running { sender, thread });
        }
        Ok(())
    }

    /// Sends a message to a thread that was started. Never waits.
    pub fn send(&self, message: M) {
        if let Some(running) = &*lock(&self.thread) {
            // A thread that ended before its queue did so by a panic, which the panic hook has logged.
            let _ = running.sender.send(message);
        }
    }

    /// Waits until all that was sent is done.
    pub fn finish(&self) {
        let running = lock(&self.thread).take();
        if let Some(Running { sender, thread }) = running {
            drop(sender);
            // One that gathers goes on at once.
            thread.thread().unpark();
            // It can only fail by a panic, which the panic hook has logged.
            let _ = thread.join();
        }
    }
}

/// What a service does on its thread.
pub trait Serve: Send + 'static {
    type Request: Send + 'static;

    /// What comes within this time is taken together.
    const GATHERS: Duration = Duration::ZERO;

    /// Does what is asked for; `at` is the folder or the file that it is about.
    fn serve(&mut self, at: &Path, request: Self::Request);

    /// Nothing more is waiting just now: what was put off to be done together is done.
    fn pause(&mut self) {}

    /// The thread couldn't be started.
    fn refuse(&mut self, at: &Path, request: Self::Request, why: &io::Error);

    /// All that was asked for is done, and nothing more comes.
    fn end(self)
    where
        Self: Sized,
    {
    }
}

/// The handle to a service. Cheap to clone; all clones are one.
pub struct Service<S: Serve> {
    worker: Worker<(PathBuf, S::Request)>,
    begin: Arc<dyn Fn() -> S + Send + Sync>,
}

impl<S: Serve> Clone for Service<S> {
    fn clone(&self) -> Self {
        Self { worker: self.worker.clone(), begin: self.begin.clone() }
    }
}

impl<S: Serve> Service<S> {
    /// A service whose thread will have this name; `begin` makes what serves on it.
    pub fn named(name: &'static str, begin: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self { worker: Worker::new(name), begin: Arc::new(begin) }
    }

    /// Asks for something; never waits.
    pub fn request(&self, at: PathBuf, request: S::Request) {
        let started = self.worker.start(|_| {
            let mut server = (self.begin)();
            move |queue: Receiver<(PathBuf, S::Request)>| {
                while let Ok((at, request)) = queue.recv() {
                    if !S::GATHERS.is_zero() {
                        // Who sends more meanwhile need not wake it for that.
                        thread::park_timeout(S::GATHERS);
                    }
                    server.serve(&at, request);
                    queue.try_iter().for_each(|(at, request)| server.serve(&at, request));
                    server.pause();
                }
                server.end();
            }
        });
        match started {
            Ok(()) => self.worker.send((at, request)),
            Err(error) => (self.begin)().refuse(&at, request, &error),
        }
    }

    /// Waits until all is on the disk.
    pub fn finish(&self) {
        self.worker.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Notes {
        tell: Sender<String>,
        count: usize,
        /// How many had been served by the last pause.
        paused: usize,
    }

    impl Serve for Notes {
        type Request = &'static str;

        fn serve(&mut self, at: &Path, request: &'static str) {
            self.count += 1;
            self.tell.send(format!("{} {request} {}", at.display(), self.count)).expect("the test");
        }

        fn pause(&mut self) {
            self.paused = self.count;
        }

        fn refuse(&mut self, _: &Path, _: &'static str, _: &io::Error) {
            panic!("a thread could not be started");
        }

        fn end(self) {
            assert_eq!(self.paused, self.count, "nothing is put off at the end");
            self.tell.send("ended".to_owned()).expect("the test");
        }
    }

    #[test]
    fn a_service_serves_in_order_keeps_its_state_and_ends_once_all_is_done() {
        let (tell, told) = mpsc::channel();
        let service = Service::named("acp-test", move || Notes { tell: tell.clone(), count: 0, paused: 0 });
        service.request("/a".into(), "one");
        service.clone().request("/b".into(), "two");
        service.finish();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["/a one 1", "/b two 2", "ended"]);
    }

    /// Tells how many requests it served between two pauses.
    struct Gathering(Sender<usize>, usize);

    impl Serve for Gathering {
        const GATHERS: Duration = Duration::from_secs(600);

        type Request = ();

        fn serve(&mut self, _: &Path, (): ()) {
            self.1 += 1;
        }

        fn pause(&mut self) {
            self.0.send(std::mem::take(&mut self.1)).expect("the test");
        }

        fn refuse(&mut self, _: &Path, (): (), _: &io::Error) {
            panic!("a thread could not be started");
        }
    }

    #[test]
    fn a_service_that_gathers_takes_all_together_and_its_end_does_not_wait_for_more() {
        let (tell, told) = mpsc::channel();
        let service = Service::named("acp-test", move || Gathering(tell.clone(), 0));
        (0..3).for_each(|_| service.request("/a".into(), ()));
        service.finish();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_worker_does_all_that_was_sent_in_order_before_it_ends() {
        let worker = Worker::new("acp-test");
        let (tell, done) = mpsc::channel();
        worker.send(0);
        assert!(!worker.is_running(), "nothing was started for it");
        worker
            .start(|_| {
                move |queue: Receiver<u32>| {
                    queue.iter().for_each(|number| tell.send(number).expect("the test"))
                }
            })
            .expect("a thread");
        (1..=3).for_each(|number| worker.clone().send(number));
        worker.finish();
        assert_eq!(done.iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert!(!worker.is_running());
    }

    #[test]
    fn a_worker_is_started_once() {
        let worker = Worker::new("acp-test");
        for _ in 0..2 {
            worker
                .start(|_| {
                    |queue: Receiver<Sender<u32>>| {
                        queue.iter().for_each(|tell| tell.send(1).expect("the test"))
                    }
                })
                .expect("a thread");
        }
        let (tell, told) = mpsc::channel();
        worker.send(tell);
        worker.finish();
        assert_eq!(told.iter().collect::<Vec<_>>(), [1]);
    }
}
