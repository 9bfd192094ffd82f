-- Where the library is looked for, how it is opened, and what is said when it cannot be.

package.path = vim.fs.dirname(arg[0]) .. "/?.lua;" .. package.path
local support = require("support")
local eq, holds = support.eq, support.holds

-- A copy of the loader in a plugin folder of its own.
local plugin = vim.fs.normalize(vim.uv.fs_realpath(vim.fn.tempname():match("(.*)/")) .. "/plugin")
local function write(name, text)
  local path = ("%s/%s"):format(plugin, name)
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

local loader_source = table.concat(vim.fn.readfile(support.root .. "/lua/acp/native.lua"), "\n")
write("lua/acp/native.lua", loader_source)
vim.env.XDG_DATA_HOME = plugin .. "/data"

--- The loader, as if Neovim had just been started.
local function fresh()
  return dofile(plugin .. "/lua/acp/native.lua")
end

--- Puts a stand-in where a library would be opened.
local function loading_with(loadlib)
  rawset(package, "loadlib", loadlib)
end

local opened
local library = { version = "0.2.0", fingerprint = "f1", interface = require("acp.interface") }
loading_with(function(path, symbol)
  opened = { path, symbol }
  return function()
    return library
  end
end)

local native = fresh()
eq("the plugin's folder is that of the file", native.root(), plugin)

local ok, err = pcall(native.load)
eq("without a library loading fails", ok, false)
eq("and says how to get it", err, "the plugin's library is not here yet: run :Acp build")
eq("a command may ask beforehand", native.missing(), "the plugin's library is not here yet")
eq("nothing is opened then", opened, nil)

local suffix = jit.os == "OSX" and "dylib" or "so"
local debug_build = write(("target/debug/libacp_nvim.%s"):format(suffix), "x")
native.load()
eq("a debug build will do", opened, { debug_build, "luaopen_acp_nvim" })
eq("nothing is missing then", native.missing(), nil)

local release_build = write(("target/release/libacp_nvim.%s"):format(suffix), "x")
native = fresh()
local loaded, place = native.load()
eq("a release build comes first", opened, { release_build, "luaopen_acp_nvim" })
eq("the library is what the file gives", loaded, library)
eq("no demo agent is made up", place.demo, nil)
opened = nil
native.load()
eq("it is opened once", opened, nil)

local demo = write("target/release/acp-demo-agent", "x")
_, place = fresh().load()
eq("the demo agent is beside the library", place.demo, demo)

-- Those that were installed.
local places = require("acp.install.place")
local function install(folder, name, built)
  local path = write(("%s/%s/libacp_nvim.%s"):format(folder, name, suffix), "x")
  write(("%s/%s/build.json"):format(folder, name), vim.json.encode(built))
  write(folder .. "/current", name .. "\n")
  return path
end
vim.uv.fs_utime(release_build, 1000, 1000)
local installed = install("lib", "f1", { interface = library.interface })
_, place = fresh().load()
eq("an installed library that is newer comes before a build", place.lib, installed)
vim.uv.fs_utime(release_build, os.time() + 10, os.time() + 10)
_, place = fresh().load()
eq("and an older one does not", place.lib, release_build)
vim.uv.fs_utime(release_build, 1000, 1000)
install("lib", "f2", { interface = "another" })
native = fresh()
opened = nil
eq(
  "a library that the Lua files can't call is missing",
  native.missing(),
  "the plugin's library is of another version than its Lua files, and can't be used with them"
)
ok, err = pcall(native.load)
eq("and not opened", { ok, opened }, { false, nil })
holds("it", err, { ":Acp build" })
vim.fn.delete(plugin .. "/lib", "rf")
local outside = places.outside(plugin):sub(#plugin + 2)
installed = install(outside, "f1", { interface = library.interface })
_, place = fresh().load()
eq("a plugin that can't be written has its library elsewhere", place.lib, installed)
vim.fn.delete(plugin .. "/data", "rf")
library.interface = "another"
ok, err = pcall(fresh().load)
eq("a build that the Lua files can't call is not used", ok, false)
holds("the failure", err, { release_build, ":Acp build", "restart Neovim" })
library.interface = require("acp.interface")

-- $ACP_NVIM_LIB.
local elsewhere = write("elsewhere/acp.so", "x")
vim.env.ACP_NVIM_LIB = elsewhere
_, place = fresh().load()
eq("$ACP_NVIM_LIB comes before all", place.lib, elsewhere)
vim.env.ACP_NVIM_LIB = plugin .. "/nowhere.so"
ok, err = pcall(fresh().load)
eq("where it names nothing, nothing else is tried", { ok, err }, {
  false,
  ("$ACP_NVIM_LIB names no file: %s/nowhere.so"):format(plugin),
})
vim.env.ACP_NVIM_LIB = nil

-- A file that is no library.
local real = package.loadlib
loading_with(function()
  return nil, "invalid header", "open"
end)
ok, err = pcall(fresh().load)
eq("a broken library fails", ok, false)
holds("the failure", err, { release_build, "invalid header", ":Acp build!" })
loading_with(real)

-- Coroutines.
native = fresh()
opened = nil
local inside = coroutine.create(function()
  native.load()
end)
ok, err = coroutine.resume(inside)
eq("a coroutine does not load it", { ok, opened }, { false, nil })
holds("the failure", err, { "coroutine", "vim.schedule()" })
native.load()
ok = coroutine.resume(coroutine.create(native.load))
eq("a coroutine may use what is loaded", ok, true)

-- Updates.
eq("the library of the sources is not outdated", native.outdated("f1"), nil)
eq("nor one without sources", native.outdated(nil), nil)
native = fresh()
eq("nothing is outdated before it is loaded", native.outdated("f2"), nil)
native.load()
holds("a library of other sources", native.outdated("f2"), { "still works", ":Acp build" })
eq("it was not built again", native.rebuilt(), false)
vim.uv.fs_utime(release_build, 1, 1)
eq("it was built again", native.rebuilt(), true)
holds("a library built again", native.outdated("f2"), { "restart Neovim" })
vim.env.ACP_NVIM_LIB = elsewhere
eq("nothing is said of a library that the user chose", native.outdated("f2"), nil)
vim.env.ACP_NVIM_LIB = nil

-- Windows.
local system = jit.os
jit.os = "Windows"
vim.env.XDG_CACHE_HOME = plugin .. "/cache"
local dll = write("target/release/acp_nvim.dll", "first")
native = fresh()
native.load()
local copied = opened[1]
eq("on Windows a copy is loaded", vim.fn.readfile(copied), { "first" })
holds("it", copied, { vim.fn.stdpath("cache"), ".dll" })
eq("and the build is what is told of", select(2, native.load()).lib, dll)
fresh().load()
eq("there is one copy of a build", opened[1], copied)
write("target/release/acp_nvim.dll", "the second")
native = fresh()
native.load()
eq("another build is another copy", vim.fn.readfile(opened[1]), { "the second" })
eq("in place of the first", vim.uv.fs_stat(copied), nil)
eq("nothing else is left", #vim.fn.readdir(vim.fs.dirname(opened[1])), 1)
jit.os = system

support.done()
