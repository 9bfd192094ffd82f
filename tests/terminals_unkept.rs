//! All tests of the terminals once more, with commands that are started directly: as on systems other than Linux, or
//! where the program that would be their keeper is missing.

mod terminals;
