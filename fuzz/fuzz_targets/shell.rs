//! Feeds `fuzzing::shell`; what has to hold is said there.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_nvim::fuzzing::shell(data));
