//! How a process ended, in the protocol's words: a code, or the name of a signal.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::core::message::Exit;

pub fn exit(status: ExitStatus) -> Exit {
    // Codes are 0 to 255; the system reports them as an int.
    let code = status.code().and_then(|code| u32::try_from(code).ok());
    Exit { code, signal: status.signal().map(signal_name) }
}

/// The name as in `<signal.h>`, since the texts that the system has for signals change with the
/// user's language.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGALRM => "SIGALRM",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGIO => "SIGIO",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGPROF => "SIGPROF",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGSYS => "SIGSYS",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGVTALRM => "SIGVTALRM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        other => return format!("SIG{other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_no_signal_and_a_signal_no_code() {
        assert_eq!(exit(ExitStatus::from_raw(3 << 8)), Exit { code: Some(3), signal: None });
        assert_eq!(exit(ExitStatus::from_raw(9)), Exit { code: None, signal: Some("SIGKILL".into()) });
    }

    #[test]
    fn signals_have_the_names_that_c_gives_them() {
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(2), "SIGINT");
        assert_eq!(signal_name(40), "SIG40");
    }
}
