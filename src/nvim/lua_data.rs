//! Plain data for Lua.

use mlua::{Lua, LuaSerdeExt as _, Result};

/// Plain data for Lua: what is absent is absent, since Neovim takes no `null` of a library's.
pub fn to_lua(lua: &Lua, data: &impl serde::Serialize) -> Result<mlua::Value> {
    let options = mlua::serde::SerializeOptions::new()
        .serialize_none_to_null(false)
        .serialize_unit_to_null(false)
        .set_array_metatable(false);
    lua.to_value_with(data, options)
}
