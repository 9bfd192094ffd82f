//! All that a program has started, as a job: whatever a process in it starts is in it as well, and cannot
//! leave. The job ends all of them when its last handle is closed, which the system does when Neovim ends
//! in whatever way; so nothing needs to watch over it.

use std::io;
use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::Foundation::{
    ERROR_ACCESS_DENIED, FILETIME, HANDLE, INVALID_HANDLE_VALUE, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
    TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, IsProcessInJob, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, GetExitCodeProcess, GetProcessTimes, INFINITE, OpenProcess,
    OpenThread, PROCESS_QUERY_INFORMATION, PROCESS_SET_QUOTA, PROCESS_SYNCHRONIZE, PROCESS_TERMINATE,
    ResumeThread, THREAD_SUSPEND_RESUME, WaitForSingleObject,
};

use crate::core::message::Exit;
use crate::platform::Signal;

/// With what processes end that are killed here; nobody else is likely to choose it.
const KILLED: u32 = 0xACB0_0009;

/// Without a window there is nothing by which a process could be asked.
pub const CAN_ASK: bool = false;

/// How often processes are looked for that were started before their parent was in the job.
const SWEEPS: usize = 8;

#[derive(Clone, Debug)]
pub struct Group(Arc<Job>);

#[derive(Debug)]
struct Job {
    job: OwnedHandle,
    /// The first process, by which its number stays its own.
    leader: OwnedHandle,
    killed: AtomicBool,
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Group {
    /// The process that it began with; nobody asks for it here.
    pub fn process(&self) -> Option<u32> {
        None
    }

    /// Starts a program in a job of its own. It is made without running, put into the job, and only then
    /// let go: so all that it ever starts is in the job. The console that it would have is not shown.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut child = command.creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW).spawn()?;
        let group = Self::with(&child).and_then(|group| resume(child.id()).map(|()| group));
        if group.is_err() {
            // One that never ran has nothing to lose; it is the first error that counts.
            let _ = child.kill();
        }
        Ok((child, group?))
    }

    fn with(leader: &impl AsRawHandle) -> io::Result<Self> {
        let (job, leader) = (new_job()?, duplicate(leader)?);
        // SAFETY: both handles are open.
        let put = check(unsafe { AssignProcessToJobObject(raw(&job), raw(&leader)) });
        // One that has ended already is refused, and nothing needs to end it.
        if !has_ended(&leader) {
            put?;
        }
        Ok(Self(Arc::new(Job { job, leader, killed: AtomicBool::new(false) })))
    }

    /// Puts a program that runs already, by a moment, into a job; with what it has started in that moment,
    /// which is found by who started it.
    pub fn around(leader: &impl AsRawHandle, id: u32) -> io::Result<Self> {
        let group = Self::with(leader)?;
        let mut parents = vec![id];
        for _ in 0..SWEEPS {
            let found = group.take_children(&parents)?;
            if found.is_empty() {
                break;
            }
            parents.extend(found);
        }
        Ok(group)
    }

    /// Takes the children of these processes into the job which are not in it, and gives their numbers.
    fn take_children(&self, parents: &[u32]) -> io::Result<Vec<u32>> {
        let mut taken = Vec::new();
        let since = started(&self.0.leader)?;
        for (process, parent) in processes()? {
            if !parents.contains(&parent) || parents.contains(&process) {
                continue;
            }
            let rights = PROCESS_SET_QUOTA | PROCESS_TERMINATE | PROCESS_QUERY_INFORMATION;
            // One that is gone meanwhile needs no job.
            let Ok(child) = open(process, rights) else { continue };
            // Older than its parent: that is a stranger whose own parent had the number before.
            if started(&child).is_ok_and(|at| at < since) {
                continue;
            }
            let mut is_in = 0;
            // SAFETY: the handles are open, and the number is ours to be written to.
            let known = unsafe { IsProcessInJob(raw(&child), raw(&self.0.job), &mut is_in) };
            // SAFETY: both handles are open.
            if known != 0
                && is_in == 0
                && unsafe { AssignProcessToJobObject(raw(&self.0.job), raw(&child)) } != 0
            {
                taken.push(process);
            }
        }
        Ok(taken)
    }

    /// How its first process ended. Windows has no signals; to be killed here is told as on other systems.
    pub fn exit(&self, status: ExitStatus) -> Exit {
        self.exit_of(status.code().unwrap_or_default().cast_unsigned())
    }

    fn exit_of(&self, code: u32) -> Exit {
        match code == KILLED && self.0.killed.load(Ordering::Acquire) {
            true => Exit { code: None, signal: Some("SIGKILL".into()) },
            false => Exit { code: Some(code), signal: None },
        }
    }

    /// To be asked is nothing to a process without a window; on a terminal it is typed CTRL-C.
    pub fn signal(&self, signal: Signal) {
        if signal == Signal::Kill {
            self.0.killed.store(true, Ordering::Release);
            // SAFETY: the handle is open. That nobody is left to be ended is fine.
            unsafe { TerminateJobObject(raw(&self.0.job), KILLED) };
        }
    }

    /// Whether anything in the job still runs.
    pub fn lives(&self) -> bool {
        // SAFETY: all of it are numbers, for which zero is a value.
        let mut facts: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = unsafe { mem::zeroed() };
        // SAFETY: the pointer and the size are those of the struct, which is what this question fills.
        let known = unsafe {
            QueryInformationJobObject(
                raw(&self.0.job),
                JobObjectBasicAccountingInformation,
                (&raw mut facts).cast(),
                size_of_val(&facts) as u32,
                ptr::null_mut(),
            )
        };
        known != 0 && facts.ActiveProcesses > 0
    }

    /// Waits until the first process has ended.
    pub fn wait(&self) {
        // SAFETY: the handle is open. It cannot fail for such a one.
        unsafe { WaitForSingleObject(raw(&self.0.leader), INFINITE) };
    }

    /// How the first process, which has ended, did so.
    pub fn status(&self) -> io::Result<Exit> {
        let mut code = 0;
        // SAFETY: the handle is open, and the number is ours to be written to.
        check(unsafe { GetExitCodeProcess(raw(&self.0.leader), &mut code) })?;
        Ok(self.exit_of(code))
    }
}

/// A job that ends with its last handle. Nobody inherits the handle, so that is ours.
fn new_job() -> io::Result<OwnedHandle> {
    // SAFETY: no name and no rights are given; a handle that comes of it is new.
    let job = unsafe { owned(CreateJobObjectW(ptr::null(), ptr::null()))? };
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { mem::zeroed() };
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    // SAFETY: the pointer and the size are those of the struct, which is what this request reads.
    check(unsafe {
        SetInformationJobObject(
            raw(&job),
            JobObjectExtendedLimitInformation,
            (&raw const limits).cast(),
            size_of_val(&limits) as u32,
        )
    })?;
    Ok(job)
}

/// Lets a process go that was made without running. The standard library keeps no handle of its one thread,
/// so that is looked for among all.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: takes numbers; a handle that comes of it is new.
    let snapshot = unsafe { owned(CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0))? };
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut entry: THREADENTRY32 = unsafe { mem::zeroed() };
    entry.dwSize = size_of_val(&entry) as u32;
    // SAFETY: the handle is open, and the struct knows its size.
    let mut more = unsafe { Thread32First(raw(&snapshot), &mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == process {
            // SAFETY: takes numbers; a handle that comes of it is new.
            let thread = unsafe { owned(OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID))? };
            // SAFETY: the handle is open.
            return match unsafe { ResumeThread(raw(&thread)) } {
                u32::MAX => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(raw(&snapshot), &mut entry) };
    }
    Err(io::Error::other("its thread was not found"))
}

/// The numbers of all processes, each with that of the process that started it.
fn processes() -> io::Result<Vec<(u32, u32)>> {
    // SAFETY: takes numbers; a handle that comes of it is new.
    let snapshot = unsafe { owned(CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0))? };
    // SAFETY: all of it are numbers, for which zero is a value.
    let mut entry: PROCESSENTRY32W = unsafe { mem::zeroed() };
    entry.dwSize = size_of_val(&entry) as u32;
    let mut processes = Vec::new();
    // SAFETY: the handle is open, and the struct knows its size.
    let mut more = unsafe { Process32FirstW(raw(&snapshot), &mut entry) };
    while more != 0 {
        processes.push((entry.th32ProcessID, entry.th32ParentProcessID));
        // SAFETY: as above.
        more = unsafe { Process32NextW(raw(&snapshot), &mut entry) };
    }
    Ok(processes)
}

/// Whether there is a process of this number that has not ended.
pub fn process_lives(process: u32) -> bool {
    match open(process, PROCESS_SYNCHRONIZE) {
        Ok(process) => !has_ended(&process),
        Err(error) => error.raw_os_error() == Some(ERROR_ACCESS_DENIED.cast_signed()),
    }
}

fn has_ended(process: &OwnedHandle) -> bool {
    // SAFETY: the handle is open.
    unsafe { WaitForSingleObject(raw(process), 0) != WAIT_TIMEOUT }
}

/// When a process was started, as the system counts time.
fn started(process: &OwnedHandle) -> io::Result<u64> {
    let mut times = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [at, ended, kernel, user] = &mut times;
    // SAFETY: the handle is open, and the structs are ours to be written to.
    check(unsafe { GetProcessTimes(raw(process), at, ended, kernel, user) })?;
    Ok(u64::from(at.dwHighDateTime) << 32 | u64::from(at.dwLowDateTime))
}

fn open(process: u32, rights: u32) -> io::Result<OwnedHandle> {
    // SAFETY: takes numbers; a handle that comes of it is new.
    unsafe { owned(OpenProcess(rights, 0, process)) }
}

fn duplicate(handle: &impl AsRawHandle) -> io::Result<OwnedHandle> {
    // SAFETY: whoever gives it has it open meanwhile.
    unsafe { std::os::windows::io::BorrowedHandle::borrow_raw(handle.as_raw_handle()) }.try_clone_to_owned()
}

/// # Safety
/// The handle is one of ours alone, or says that there is none.
unsafe fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: so says the caller.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

fn raw(handle: &OwnedHandle) -> HANDLE {
    handle.as_raw_handle()
}

fn check(succeeded: i32) -> io::Result<()> {
    if succeeded == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::platform::program;

    fn command(line: &str) -> Command {
        let mut command = program::shell(line);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        program::without_window(&mut command);
        command
    }

    fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_programs_code_is_that_which_it_ended_with() {
        let (mut child, group) = Group::spawn(&mut command("exit 7")).expect("it starts");
        let status = child.wait().expect("it ends");
        assert_eq!(group.exit(status), Exit { code: Some(7), signal: None });
        assert_eq!(group.status().expect("its code"), Exit { code: Some(7), signal: None });
        wait_until("it is gone", || !group.lives());
    }

    #[test]
    fn all_that_a_program_has_started_is_killed_with_it() {
        let line = "start /b ping -n 600 127.0.0.1 & ping -n 600 127.0.0.1";
        let (mut child, group) = Group::spawn(&mut command(line)).expect("it starts");
        let children = |of: u32| processes().expect("a list").iter().filter(|(_, by)| *by == of).count();
        wait_until("it starts two", || children(child.id()) == 2);
        group.signal(Signal::Terminate);
        assert!(group.lives() && process_lives(child.id()));
        group.signal(Signal::Kill);
        let status = child.wait().expect("it ends");
        assert_eq!(group.exit(status), Exit { code: None, signal: Some("SIGKILL".into()) });
        wait_until("all are gone", || !group.lives());
        assert!(!process_lives(child.id()));
    }

    #[test]
    fn what_is_left_of_a_program_that_has_ended_ends_with_its_job() {
        let (mut child, group) =
            Group::spawn(&mut command("start /b ping -n 600 127.0.0.1")).expect("it starts");
        assert!(child.wait().expect("it ends").success());
        assert!(group.lives(), "one runs on");
        let id = child.id();
        let left = || processes().expect("a list").iter().any(|(_, by)| *by == id);
        assert!(left());
        drop(group);
        wait_until("it is gone", || !left());
    }

    #[test]
    fn children_from_before_the_job_are_put_into_it() {
        let mut child =
            command("start /b ping -n 600 127.0.0.1 & ping -n 600 127.0.0.1").spawn().expect("it starts");
        let children = |of: u32| processes().expect("a list").iter().filter(|(_, by)| *by == of).count();
        wait_until("it starts two", || children(child.id()) == 2);
        let group = Group::around(&child, child.id()).expect("a job");
        group.signal(Signal::Kill);
        assert_eq!(group.exit(child.wait().expect("it ends")).signal.as_deref(), Some("SIGKILL"));
        wait_until("all are gone", || children(child.id()) == 0);
    }
}
