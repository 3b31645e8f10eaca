//! The system calls of a worker.
//!
//! Three filters, of which the strictest verdict counts. The first two let calls fail that the C library
//! makes by the way and copes without, such as opening a file; the last ends the process at every call that
//! is neither among these nor needed: memory that is never code, or not while it is writable, threads of this
//! process, time, randomness, the one connection, the error output.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::Code;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that compiles need, whatever their arguments.
const NEEDED: &[c_long] = &[
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getcpu,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
];

/// Calls that fail as if they were forbidden by the system.
const REFUSED: &[c_long] = &[
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_getcwd,
    libc::SYS_getrusage,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_prlimit64,
    libc::SYS_readlinkat,
    libc::SYS_statx,
    libc::SYS_sysinfo,
    libc::SYS_uname,
];

/// Those that only this processor's kernels have.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[
    libc::SYS_access,
    libc::SYS_getrlimit,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_readlink,
    libc::SYS_stat,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// `PR_SET_VMA`, by which the C library names its memory.
const PR_SET_VMA: u64 = 0x5356_4d41;

/// Whether filters can be made for this processor.
pub(super) fn is_supported() -> bool {
    architecture().is_some()
}

fn architecture() -> Option<TargetArch> {
    std::env::consts::ARCH.try_into().ok()
}

/// Filters the calls of this process from now on; `connection` is the descriptor that may be read and
/// written. With [`Code::Allowed`], memory can change from writable to executable, and threads can choose
/// their processor.
///
/// # Panics
/// The system refuses a filter.
pub(super) fn filter(connection: u64, code: Code) {
    let architecture = architecture().expect("filters are supported");
    let errno =
        |number: i32| SeccompAction::Errno(u32::try_from(number).expect("error numbers are positive"));
    let all = |calls: &[c_long]| -> Rules { calls.iter().map(|&call| (call, Vec::new())).collect() };
    let refused = [REFUSED, REFUSED_HERE].concat();
    // Its flags are in memory, where no filter sees them; the C library then calls `clone`.
    let unknown = [libc::SYS_clone3];
    let mut allowed = all(&[NEEDED, &refused, &unknown].concat());
    allowed.extend(restricted(connection));
    if code == Code::Allowed {
        allowed.extend(of_running_code());
    }
    let install = |rules: Rules, listed: SeccompAction, others: SeccompAction| {
        let filter =
            SeccompFilter::new(rules, others, listed, architecture).expect("the filter is well formed");
        let program = BpfProgram::try_from(filter).expect("the filter is short enough");
        apply_filter(&program)
            .unwrap_or_else(|error| panic!("the system refuses a filter of calls: {error}"));
    };
    install(all(&refused), errno(libc::EACCES), SeccompAction::Allow);
    install(all(&unknown), errno(libc::ENOSYS), SeccompAction::Allow);
    // The last one: it denies to install others.
    install(allowed, SeccompAction::Allow, SeccompAction::KillProcess);
}

/// Calls that compiles need with some arguments only.
fn restricted(connection: u64) -> Rules {
    let flag = |number: i32| u64::from(number.cast_unsigned());
    let without_code = |argument| masked(argument, flag(libc::PROT_EXEC), 0);
    let (anonymous, thread) = (flag(libc::MAP_ANONYMOUS), flag(libc::CLONE_THREAD | libc::CLONE_VM));
    let process = u64::from(std::process::id());
    let error_output = flag(libc::STDERR_FILENO);
    let rules: [(c_long, Vec<SeccompRule>); 9] = [
        (libc::SYS_read, vec![rule([equal(0, connection)])]),
        (libc::SYS_write, vec![rule([equal(0, connection)]), rule([equal(0, error_output)])]),
        (libc::SYS_writev, vec![rule([equal(0, error_output)])]),
        (libc::SYS_mmap, vec![rule([without_code(2), masked(3, anonymous, anonymous)])]),
        (libc::SYS_mprotect, vec![rule([without_code(2)])]),
        (libc::SYS_clone, vec![rule([masked(0, thread, thread)])]),
        (libc::SYS_kill, vec![rule([equal(0, process)])]),
        (libc::SYS_tgkill, vec![rule([equal(0, process)])]),
        (libc::SYS_prctl, vec![rule([equal(0, flag(libc::PR_SET_NAME))]), rule([equal(0, PR_SET_VMA)])]),
    ];
    rules.into_iter().collect()
}

/// Calls that running machine code needs besides, with some arguments only.
fn of_running_code() -> Rules {
    let [writable, executable] =
        [libc::PROT_WRITE, libc::PROT_EXEC].map(|flag| u64::from(flag.cast_unsigned()));
    let data = masked(2, executable, 0);
    let code = masked(2, writable | executable, executable);
    let rules: [(c_long, Vec<SeccompRule>); 2] = [
        (libc::SYS_mprotect, vec![rule([data]), rule([code])]),
        (libc::SYS_sched_setaffinity, vec![rule([equal(0, 0)])]),
    ];
    rules.into_iter().collect()
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> SeccompRule {
    SeccompRule::new(conditions.into()).expect("a rule has conditions")
}

fn equal(argument: u8, value: u64) -> SeccompCondition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> SeccompCondition {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> SeccompCondition {
    // The kernel takes the upper half of these arguments off.
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .expect("calls have six arguments")
}
