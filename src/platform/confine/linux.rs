//! On Linux: Landlock for files, ports and signals, and a filter of system calls for what Landlock does not see, above
//! all sockets that have a name in the file system, such as Neovim's own and those of the desktop. Everything is
//! prepared before the fork; the child only makes the calls that cannot be taken back.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::{Reach, Support, Unconfined};

/// Truncating by path is not seen by older ones.
const FIRST_ABI: u32 = 3;
const FIRST_RELEASE: &str = "Linux 6.2";
const PORTS_ABI: u32 = 4;
const PORTS_RELEASE: &str = "Linux 6.7";
const SIGNALS_ABI: u32 = 6;

/// What programs take for granted. `/dev/tty` is beside them: see [`Reach::on_terminal`].
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const TERMINAL: &str = "/dev/tty";

/// Kinds of sockets that Landlock does not keep to the ports: all but streams.
const OTHER_KINDS: [u64; 15] = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// What of a socket's kind is no flag.
const KIND_MASK: u64 = 0xf;
/// `TIOCLINUX`, which pastes into consoles.
const CONSOLE_PASTE: u64 = 0x541c;
/// `TIOCSTI`, which types into a terminal; C libraries give it different types.
const TERMINAL_TYPE: u64 = 0x5412;

/// A program that was started with it cannot get rid of it, and nor can what that starts.
#[derive(Debug)]
pub struct Confinement {
    ruleset: RulesetCreated,
    abi: ABI,
    filter: Arc<[sock_filter]>,
}

pub fn support() -> Result<Support, Unconfined> {
    const VERSION: u32 = 1;
    // SAFETY: asks for a number; nothing is made.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION) };
    let abi = u32::try_from(abi).unwrap_or_default();
    match abi {
        0 => Err(Unconfined::NoLandlock),
        _ if abi < FIRST_ABI => Err(Unconfined::TooOld { abi, needed: FIRST_RELEASE }),
        _ => Ok(Support { abi, ports: abi >= PORTS_ABI, signals: abi >= SIGNALS_ABI }),
    }
}

impl Confinement {
    /// Looks at the disk for all that is named.
    pub fn new(reach: &Reach) -> Result<Self, Unconfined> {
        let support = support()?;
        if reach.ports.is_some() && !support.ports {
            return Err(Unconfined::TooOld { abi: support.abi, needed: PORTS_RELEASE });
        }
        let abi = abi(support.abi);
        let ruleset = ruleset(abi, reach).map_err(|error| Unconfined::Failed(io::Error::other(error)))?;
        let filter = filter(reach).map_err(|error| Unconfined::Failed(io::Error::other(error)))?;
        Ok(Self { ruleset, abi, filter: filter.into() })
    }

    /// From now on programs may open this terminal by its name.
    pub fn allow_terminal(&self, terminal: impl AsFd) -> io::Result<()> {
        let rule = PathBeneath::new(terminal, device(self.abi));
        // It is the same set of rules that both descriptors stand for.
        self.ruleset.try_clone()?.add_rule(rule).map_err(io::Error::other)?;
        Ok(())
    }

    /// The program is started confined, or not at all.
    pub fn put_on(&self, command: &mut Command) -> io::Result<()> {
        let ruleset = Option::<OwnedFd>::from(self.ruleset.try_clone()?);
        let ruleset = ruleset.ok_or_else(|| io::Error::other("the kernel has no Landlock"))?;
        let filter = self.filter.clone();
        // SAFETY: between fork and exec only system calls are made, with memory that was there before.
        unsafe {
            command.pre_exec(move || restrict(&ruleset, &filter));
        }
        Ok(())
    }
}

/// What cannot be taken back. Descriptors that were left open by mistake are closed when the program begins.
fn restrict(ruleset: &OwnedFd, filter: &[sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).unwrap_or(u16::MAX),
        filter: filter.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // SAFETY: numbers, and a program that outlives the call. Both crates' filters have the layout of the kernel's.
    unsafe {
        check(libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC))?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0).into())?;
        check(libc::syscall(libc::SYS_landlock_restrict_self, ruleset.as_raw_fd(), 0))?;
        check(libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program))
    }
}

fn check(returned: libc::c_long) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn abi(number: u32) -> ABI {
    match number {
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        // What came later is only about what is logged.
        _ => ABI::V6,
    }
}

fn ruleset(abi: ABI, reach: &Reach) -> Result<RulesetCreated, landlock::RulesetError> {
    // What the kernel is known to have must hold, or nothing is started.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if reach.ports.is_some() {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if !Scope::from_all(abi).is_empty() {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut created = ruleset.create()?;
    for port in reach.ports.iter().flatten() {
        created = created.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    let reading = AccessFs::from_read(abi);
    // Who may make devices as root could open the disk by one.
    let writing = AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock | ioctl(abi));
    created = add(created, reach.read.iter(), reading)?;
    created = add(created, reach.write.iter(), writing)?;
    created = add(created, DEVICES, device(abi))?;
    if reach.on_terminal {
        created = add(created, [TERMINAL], device(abi))?;
    }
    // Their names, and no more.
    add(created, ["/dev"], AccessFs::ReadDir.into())
}

fn ioctl(abi: ABI) -> BitFlags<AccessFs> {
    AccessFs::from_all(abi) & AccessFs::IoctlDev
}

fn device(abi: ABI) -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | ioctl(abi)
}

fn add<P: AsRef<Path>>(
    mut created: RulesetCreated,
    paths: impl IntoIterator<Item = P>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    for path in paths {
        let path = path.as_ref();
        let Ok(metadata) = fs::metadata(path) else { continue };
        // One that went away since then counts as one that was never there.
        let Ok(file) = PathFd::new(path) else { continue };
        let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(ABI::V6) };
        if !access.is_empty() {
            created = created.add_rule(PathBeneath::new(file, access))?;
        }
    }
    Ok(created)
}

/// Refuses what Landlock would not see. Of programs for other processors (32-bit ones) nothing is known, so they end.
fn filter(reach: &Reach) -> Result<BpfProgram, BackendError> {
    let mut rules = Rules::default();
    // A socket that has a name as a file: Neovim's, the desktop's, those of other daemons, which would do anything.
    rules.refuse(
        libc::SYS_socket,
        [is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6), is_not(0, libc::AF_NETLINK)],
    )?;
    // A pair of streams stays a pair; others could be connected to a name.
    for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
        rules.refuse(libc::SYS_socketpair, [kind_is(1, number(kind))])?;
    }
    // It makes sockets, connects them and opens files without any call that is seen here.
    for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register] {
        rules.refuse_always(call);
    }
    // The kernel's own keeping place of secrets.
    for call in [libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key] {
        rules.refuse_always(call);
    }
    // Typing into a terminal that others read.
    for request in [TERMINAL_TYPE, CONSOLE_PASTE] {
        rules.refuse(libc::SYS_ioctl, [is(1, request)])?;
    }
    if reach.ports.is_some() {
        rules.streams_only()?;
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let program: BpfProgram = SeccompFilter::new(rules.0, SeccompAction::Allow, refused, arch)?.try_into()?;
    Ok(refuse_x32().into_iter().chain(program).collect())
}

#[derive(Default)]
struct Rules(BTreeMap<i64, Vec<SeccompRule>>);

impl Rules {
    /// The call is refused where all of this holds.
    fn refuse<const N: usize>(
        &mut self,
        call: libc::c_long,
        conditions: [Result<SeccompCondition, BackendError>; N],
    ) -> Result<(), BackendError> {
        let conditions: Result<Vec<_>, _> = conditions.into_iter().collect();
        self.0.entry(call).or_default().push(SeccompRule::new(conditions?)?);
        Ok(())
    }

    fn refuse_always(&mut self, call: libc::c_long) {
        self.0.insert(call, Vec::new());
    }

    /// Leaves TCP, which Landlock keeps to the ports, and what asks the kernel about the network.
    fn streams_only(&mut self) -> Result<(), BackendError> {
        let asks_not = || is_not(0, libc::AF_NETLINK);
        for kind in OTHER_KINDS {
            self.refuse(libc::SYS_socket, [asks_not(), kind_is(1, kind)])?;
        }
        // Other protocols of streams become TCP where the other side does not know them, and are not seen.
        self.refuse(libc::SYS_socket, [asks_not(), is_not(2, 0), is_not(2, libc::IPPROTO_TCP)])?;
        // Connects by sending.
        let flag = number(libc::MSG_FASTOPEN);
        for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            let masked = SeccompCmpOp::MaskedEq(flag);
            self.refuse(call, [SeccompCondition::new(flags, SeccompCmpArgLen::Dword, masked, flag)])?;
        }
        // A port is taken by that without a call that Landlock sees.
        self.refuse_always(libc::SYS_listen);
        Ok(())
    }
}

fn number(constant: libc::c_int) -> u64 {
    constant.unsigned_abs().into()
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: libc::c_int) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, number(value))
}

fn kind_is(argument: u8, kind: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(KIND_MASK), kind)
}

/// The calls of x86-64 have second numbers, for programs with short pointers, which hardly any kernel serves.
fn refuse_x32() -> Vec<sock_filter> {
    const X32: u32 = 0x4000_0000;
    let step =
        |code: u32, jt, jf, k| sock_filter { code: u16::try_from(code).unwrap_or_default(), jt, jf, k };
    if cfg!(target_arch = "x86_64") {
        vec![
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32),
            step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        ]
    } else {
        Vec::new()
    }
}
