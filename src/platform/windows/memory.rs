//! Memory that was freed and that the allocator keeps for itself.

/// Windows' allocator keeps little by itself.
pub fn keep_little() {}

/// Windows' allocator gives freed memory back by itself.
pub fn give_back() {}
