//! Pseudo consoles of Windows (ConPTY), which the crate `portable-pty` opens. Their pipes can only be read
//! and written by waiting, so two threads do that for each; the terminal's own thread takes what they
//! have, and sleeps until they or somebody else ring.

use std::collections::VecDeque;
use std::env;
use std::io::{self, ErrorKind, Read, Result, Write};
use std::os::windows::io::BorrowedHandle;
use std::process::Command;
use std::ptr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::task::Wake;
use std::thread;
use std::time::Duration;

use portable_pty::{CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use windows_sys::Win32::System::LibraryLoader::{
    GetDllDirectoryW, GetModuleHandleW, GetProcAddress, SetDllDirectoryW,
};
use windows_sys::{s, w};

use super::conpty_handshake::Greeting;
use super::ready::Ready;
use crate::core::message::Exit;
use crate::platform::Signal;
use crate::platform::confine::Confinement;
use crate::platform::group::Group;

/// As much is read ahead of the terminal's thread, and typed ahead of the console.
const AHEAD: usize = 64 << 10;
const STACK: usize = 256 << 10;

/// Both sides of a terminal.
pub struct Pty {
    pub ours: Ours,
    pub theirs: Theirs,
}

/// Our side of a terminal.
pub struct Ours {
    pipes: Arc<Pipes>,
    console: Mutex<Option<Box<dyn MasterPty + Send>>>,
}

/// The program's side.
pub struct Theirs(Box<dyn SlavePty + Send>);

/// A program that was started on a terminal; its group has all that is known of it.
pub struct Program;

/// Opens a pseudo console.
pub fn open(rows: u16, columns: u16, notifier: &Arc<Notifier>) -> Result<Pty> {
    if !has_consoles() {
        return Err(io::Error::new(
            ErrorKind::Unsupported,
            "this Windows has no pseudo consoles, which came with Windows 10, version 1809",
        ));
    }
    let pair = loading_safely(|| native_pty_system().openpty(size(rows, columns))).map_err(reason)?;
    let reader = pair.master.try_clone_reader().map_err(reason)?;
    let writer = pair.master.take_writer().map_err(reason)?;
    let pipes = Arc::new(Pipes { flow: Mutex::default(), moved: Condvar::new(), notifier: notifier.clone() });
    let ours = Ours { pipes: pipes.clone(), console: Mutex::new(Some(pair.master)) };
    let of_reader = pipes.clone();
    spawn_thread("acp-pty-out", move || of_reader.read_all(reader))?;
    spawn_thread("acp-pty-in", move || pipes.write_all(writer))?;
    Ok(Pty { ours, theirs: Theirs(pair.slave) })
}

/// Nothing confines here.
pub fn allow(_theirs: &Theirs, _confinement: &Confinement) -> Result<()> {
    Ok(())
}

/// Starts the program in a job of its own. It runs already when it is put there; what it has started in
/// that moment is put there, too.
pub fn spawn(theirs: Theirs, command: Command) -> Result<(Program, Group)> {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    // What the crate begins with is not Neovim's environment but what the registry says.
    builder.env_clear();
    for (name, value) in env::vars_os() {
        builder.env(name, value);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => builder.env(name, value),
            None => builder.env_remove(name),
        }
    }
    if let Some(cwd) = command.get_current_dir() {
        builder.cwd(cwd);
    }
    let mut child = theirs.0.spawn_command(builder).map_err(reason)?;
    let (Some(handle), Some(id)) = (child.as_raw_handle(), child.process_id()) else {
        return Err(io::Error::other("it ended at once"));
    };
    // SAFETY: the handle is open as long as `child` is there.
    let group = Group::around(&unsafe { BorrowedHandle::borrow_raw(handle) }, id).inspect_err(|_| {
        // What cannot be ended with all that it starts must not run.
        let _ = child.kill();
    })?;
    Ok((Program, group))
}

/// The program is told as an event of its console.
pub fn resize(ours: &Ours, rows: u16, columns: u16) -> Result<()> {
    match &*lock(&ours.console) {
        Some(console) => console.resize(size(rows, columns)).map_err(reason),
        None => Ok(()),
    }
}

/// Asks by the key that asks programs to end in a console, or ends all of the job.
pub fn signal(group: &Group, signal: Signal, ours: Option<&Ours>) {
    group.signal(signal);
    if let (Signal::Terminate, Some(ours)) = (signal, ours) {
        ours.pipes.type_first(b"\x03");
    }
}

/// Nobody is left to write to the terminal. The console itself does not end before it is closed; it writes
/// what it still has, and then all is read.
pub fn all_gone(ours: &Arc<Ours>) {
    ours.close();
}

/// Whether any process of the job is left.
pub fn is_left(group: &Group) -> bool {
    group.lives()
}

/// Shells give what they run no group of its own.
pub fn foreground_group(_: &Ours) -> Option<Group> {
    None
}

pub fn is_job_of(_: &Group, _: &Group) -> bool {
    false
}

pub fn wait_for_end(group: &Group) {
    group.wait();
}

/// How a program that has ended did so.
pub fn take_status(_: &mut Program, group: &Group) -> Result<Exit> {
    group.status()
}

/// Waits until the notifier has rung or `ours` can be read (and written, if `write`), at most for `time`.
pub fn poll(notifier: &Listener, ours: Option<&Ours>, write: bool, time: Option<Duration>) -> Ready {
    let look = |rung: bool| {
        let flow = ours.map(|ours| lock(&ours.pipes.flow));
        Ready {
            woken: rung,
            readable: flow.as_ref().is_some_and(|flow| flow.ended || !flow.read.is_empty()),
            writable: write && flow.as_ref().is_some_and(|flow| flow.typed.len() < AHEAD),
        }
    };
    let rung = lock(&notifier.0.rung);
    // The threads of the pipes take this lock after they have changed something, so nothing is missed.
    let nothing = |rung: &mut bool| look(*rung) == Ready::default();
    let rung = match time {
        Some(time) => {
            notifier
                .0
                .changed
                .wait_timeout_while(rung, time, nothing)
                .unwrap_or_else(PoisonError::into_inner)
                .0
        }
        None => notifier.0.changed.wait_while(rung, nothing).unwrap_or_else(PoisonError::into_inner),
    };
    look(*rung)
}

/// Wakes a terminal's thread out of its `poll`.
pub struct Notifier {
    rung: Mutex<bool>,
    changed: Condvar,
}

/// The other end of a notifier.
pub struct Listener(Arc<Notifier>);

impl Notifier {
    pub fn with_listener() -> Result<(Arc<Self>, Listener)> {
        let notifier = Arc::new(Self { rung: Mutex::default(), changed: Condvar::new() });
        Ok((notifier.clone(), Listener(notifier)))
    }

    pub fn notify(&self) {
        *lock(&self.rung) = true;
        self.changed.notify_all();
    }

    /// Something is to be seen without the notifier.
    fn stir(&self) {
        let _rung = lock(&self.rung);
        self.changed.notify_all();
    }
}

impl Wake for Notifier {
    fn wake(self: Arc<Self>) {
        self.notify();
    }
}

impl Listener {
    pub fn drain(&self) {
        *lock(&self.0.rung) = false;
    }
}

impl Ours {
    /// Older Windows do not come back from this before the console's output is read to its end.
    fn close(&self) {
        if let Some(console) = lock(&self.console).take() {
            // Without a thread the console stays until Neovim ends.
            let _ = spawn_thread("acp-pty-end", move || drop(console));
        }
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        lock(&self.pipes.flow).unwanted = true;
        self.pipes.moved.notify_all();
        self.close();
    }
}

impl Read for &Ours {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut flow = lock(&self.pipes.flow);
        let read = flow.read.read(buffer)?;
        if read == 0 && !flow.ended && !buffer.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.pipes.moved.notify_all();
        Ok(read)
    }
}

impl Write for &Ours {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let mut flow = lock(&self.pipes.flow);
        let room = AHEAD.saturating_sub(flow.typed.len()).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        flow.typed.extend(&bytes[..room]);
        self.pipes.moved.notify_all();
        Ok(room)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// What the threads of a terminal's two pipes share with who uses it.
struct Pipes {
    flow: Mutex<Flow>,
    moved: Condvar,
    notifier: Arc<Notifier>,
}

#[derive(Default)]
struct Flow {
    read: VecDeque<u8>,
    /// The console is gone, and all that it wrote is read.
    ended: bool,
    typed: VecDeque<u8>,
    /// Nobody reads any more; the console must still be read to its end.
    unwanted: bool,
}

impl Pipes {
    fn read_all(&self, mut pipe: Box<dyn Read + Send>) {
        let mut greeting = Greeting::default();
        let mut buffer = vec![0; 16 << 10];
        loop {
            let count = match pipe.read(&mut buffer) {
                Ok(count) if count > 0 => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A pipe that broke is the end.
                _ => break,
            };
            let (shown, answers) = greeting.read(&buffer[..count]);
            let full = |flow: &mut Flow| flow.read.len() >= AHEAD && !flow.unwanted;
            let mut flow =
                self.moved.wait_while(lock(&self.flow), full).unwrap_or_else(PoisonError::into_inner);
            if !flow.unwanted {
                flow.read.extend(shown);
            }
            flow.typed.extend(answers);
            drop(flow);
            self.moved.notify_all();
            self.notifier.stir();
        }
        lock(&self.flow).ended = true;
        self.moved.notify_all();
        self.notifier.stir();
    }

    fn write_all(&self, mut pipe: Box<dyn Write + Send>) {
        loop {
            let idle = |flow: &mut Flow| flow.typed.is_empty() && !flow.ended && !flow.unwanted;
            let mut flow =
                self.moved.wait_while(lock(&self.flow), idle).unwrap_or_else(PoisonError::into_inner);
            let typed: Vec<u8> = flow.typed.drain(..).collect();
            drop(flow);
            if typed.is_empty() || pipe.write_all(&typed).is_err() {
                return;
            }
            self.notifier.stir();
        }
    }

    /// What is typed here is no more than a key, and waits for nothing.
    fn type_first(&self, keys: &[u8]) {
        lock(&self.flow).typed.extend(keys);
        self.moved.notify_all();
    }
}

fn size(rows: u16, columns: u16) -> PtySize {
    // The system takes these for signed numbers.
    let limit = |cells: u16| cells.clamp(1, i16::MAX as u16);
    PtySize { rows: limit(rows), cols: limit(columns), pixel_width: 0, pixel_height: 0 }
}

/// Whether the system has pseudo consoles; the crate ends in a panic where it has none.
fn has_consoles() -> bool {
    // SAFETY: both texts end with a NUL, and this library is always loaded.
    unsafe {
        let kernel = GetModuleHandleW(w!("kernel32.dll"));
        !kernel.is_null() && GetProcAddress(kernel, s!("CreatePseudoConsole")).is_some()
    }
}

/// The crate looks for a `conpty.dll` once, as the system looks for libraries: in the folder that Neovim
/// is in as well, which may be anybody's project. So that folder is left out meanwhile.
fn loading_safely<T>(open: impl FnOnce() -> T) -> T {
    static FIRST: Once = Once::new();
    let mut open = Some(open);
    let mut opened = None;
    FIRST.call_once(|| {
        let mut before = vec![0_u16; 32 << 10];
        // SAFETY: the pointer and the length are those of the array.
        let length = unsafe { GetDllDirectoryW(before.len() as u32, before.as_mut_ptr()) };
        // SAFETY: the text ends with a NUL.
        unsafe { SetDllDirectoryW(w!("")) };
        opened = open.take().map(|open| open());
        let before = if length == 0 { ptr::null() } else { before.as_ptr() };
        // SAFETY: the text ends with a NUL, or there is none.
        unsafe { SetDllDirectoryW(before) };
    });
    opened.unwrap_or_else(|| open.take().expect("it was not taken if nothing was opened")())
}

/// The crate's errors say what was called, with what, and at their end why it failed.
fn reason(error: impl std::fmt::Display) -> io::Error {
    let text = error.to_string();
    io::Error::other(text.rsplit_once("failed: ").map_or(text.as_str(), |(_, why)| why).to_owned())
}

fn spawn_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
    thread::Builder::new().name(name.into()).stack_size(STACK).spawn(run).map(drop)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks can panic halfway.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::program;

    /// What a line of shell code prints on a terminal, and how it ends. Wine gives programs no standard output
    /// in a pseudo console, so the line has to open it by its name.
    fn run(line: &str) -> (String, Exit) {
        let (notifier, listener) = Notifier::with_listener().expect("a notifier");
        let Pty { ours, theirs } = open(24, 80, &notifier).expect("a terminal");
        let ours = Arc::new(ours);
        let (mut program, group) = spawn(theirs, program::shell(line)).expect("it starts");
        wait_for_end(&group);
        let exit = take_status(&mut program, &group).expect("a status");
        all_gone(&ours);
        let mut output = crate::core::terminal::output::Output::new(1 << 20);
        loop {
            let ready = poll(&listener, Some(&ours), false, Some(Duration::from_secs(20)));
            assert!(ready.readable, "the terminal ends");
            let mut bytes = [0; 1000];
            match (&*ours).read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => output.feed(&bytes[..read]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        (output.text().trim_end().to_owned(), exit)
    }

    #[test]
    fn what_a_command_prints_is_read_to_its_end() {
        let (text, exit) = run(r#"(echo "a  b" & echo c)>CON & exit 3"#);
        assert_eq!(text.replace(" \n", "\n"), "\"a  b\"\nc");
        assert_eq!(exit, Exit { code: Some(3), signal: None });
    }

    #[test]
    fn a_bell_is_heard_once() {
        let (notifier, listener) = Notifier::with_listener().expect("a notifier");
        notifier.notify();
        assert!(poll(&listener, None, false, None).woken);
        listener.drain();
        assert_eq!(poll(&listener, None, true, Some(Duration::ZERO)), Ready::default());
    }

    #[test]
    fn a_program_that_cannot_be_started_is_an_error_with_the_reason() {
        let (notifier, _listener) = Notifier::with_listener().expect("a notifier");
        let Pty { ours: _ours, theirs } = open(24, 80, &notifier).expect("a terminal");
        let error = spawn(theirs, Command::new(r"C:\no\such.exe")).err().expect("there is none");
        let text = error.to_string();
        assert!(!text.is_empty() && !text.contains("CreateProcessW"), "{text}");
    }
}
