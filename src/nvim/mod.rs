//! The editor: buffers, windows, keys, and the loop that feeds the core.
