-- What the library and the Lua beside it call of each other, as one text: a library with another one can't be
-- used. Written by `ACP_WRITE_INTERFACE=1 cargo test --test tidy interface`, when a test asks for it.
return "c199304ccc83d099"
