--- The part of `:checkhealth acp` about what is around the plugin: the clipboard, the terminal that Neovim runs in, the
--- plugin manager, and what earlier runs have left. All of it is looked at, nothing is changed.

local M = {}

local health = vim.health
local file = require("acp.install.file")

--- Whether images can be taken from the clipboard, and text put there.
function M.clipboard()
  health.start("acp: clipboard")
  local wanted = "pngpaste"
  if jit.os == "Linux" then
    wanted = vim.env.WAYLAND_DISPLAY and "wl-paste" or "xclip"
    if not vim.env.WAYLAND_DISPLAY and not vim.env.DISPLAY then
      health.info("there is no graphical session here, so no image can be pasted into a prompt")
      return
    end
  elseif jit.os == "Windows" then
    wanted = "powershell.exe"
  end
  if vim.fn.executable(wanted) == 1 then
    health.ok(("`:Acp paste` takes images from the clipboard with %s"):format(wanted))
  else
    health.warn(
      ("%s is not installed: `:Acp paste` can't take images from the clipboard"):format(wanted),
      { ("Install %s."):format(wanted) }
    )
  end
  if vim.fn.has("clipboard") == 1 then
    health.ok("Neovim can copy to the clipboard")
  else
    health.info('Neovim has no clipboard program, so `"+y` does not copy: see `:help clipboard`')
  end
end

--- What the terminal can show.
function M.terminal()
  health.start("acp: terminal")
  local ui = vim.api.nvim_list_uis()[1]
  if not ui then
    return health.info("Neovim has no screen here")
  end
  if ui.rgb then
    health.ok("it shows all colours ('termguicolors')")
  else
    health.info(
      "without 'termguicolors' agents' changes are shown in the terminal's 16 or 256 colours; if your terminal can do more: `set termguicolors`"
    )
  end
  if vim.o.columns < 100 then
    health.info(
      ('%d columns are few for a chat beside a file: `window = { layout = "bottom" }`'):format(vim.o.columns)
    )
  end
  local images = (vim.ui.img and "vim.ui.img")
    or (package.loaded["snacks"] and "snacks.nvim")
    or (package.loaded["image"] and "image.nvim")
  health.info(
    images and ("images may be drawn in place by %s"):format(images)
      or "images that an agent sends are links here: vim.ui.img, snacks.nvim and image.nvim draw them in place"
  )
  if vim.env.TMUX then
    health.info(
      "in tmux, `set -s escape-time 10` and `set -g focus-events on` make keys and file changes quicker"
    )
  end
end

--- A recipe that used to be in the README, and that lazy.nvim ends before it is done.
function M.plugin_manager()
  local config = package.loaded["lazy.core.config"]
  local plugin = type(config) == "table" and type(config.plugins) == "table" and config.plugins["acp.nvim"]
  if not plugin then
    return
  end
  health.start("acp: lazy.nvim")
  local timeout = vim.tbl_get(config, "options", "git", "timeout") or 120
  local build = plugin.build
  if type(build) == "string" and build:find("cargo", 1, true) then
    health.warn(
      ("`build = %q` is ended after %d seconds, lazy.nvim's `git.timeout`"):format(build, timeout),
      {
        "Remove `build` from the plugin's spec: lazy.nvim runs the plugin's build.lua automatically, without that limit.",
      }
    )
  elseif build == false then
    health.warn("`build = false`: after an update you have to get the library yourself", {
      "Remove it, or run `:Acp build` after updates.",
    })
  else
    health.ok("it runs build.lua after installing and updating")
  end
end

--- What agents have started and whose Neovim is gone, on Linux.
---@return string[]
local function orphans()
  local found = {}
  for pid, kind in vim.fs.dir("/proc") do
    if kind == "directory" and pid:find("^%d+$") then
      local environment = file.read(("/proc/%s/environ"):format(pid))
      local ours = environment
        and (environment:find("ACP_TERMINAL=", 1, true) or environment:find("ACP_AGENT=", 1, true))
      local stat = ours and file.read(("/proc/%s/stat"):format(pid))
      -- Whose parent is gone was given to process 1, or to the user's manager of sessions.
      local parent = stat and tonumber(stat:match("^%d+ %b() %S (%d+)"))
      if parent == 1 then
        local command = (file.read(("/proc/%s/cmdline"):format(pid)) or ""):gsub("%z", " ")
        found[#found + 1] = ("%s  %s"):format(pid, vim.trim(command))
      end
    end
  end
  return found
end

--- What earlier runs have left behind.
---@param root string the plugin's folder
function M.leftovers(root)
  health.start("acp: leftovers of earlier runs")
  local clean = true
  local places = require("acp.install.place")
  for _, folder in ipairs({ root .. "/lib", places.outside(root) }) do
    for name in vim.fs.dir(folder) do
      local pid = tonumber(name:match("^new%-(%d+)%-"))
      if pid and vim.uv.kill(pid, 0) ~= 0 then
        clean = false
        health.info(
          ("%s/%s was left by an installation that was killed; the next one removes it"):format(folder, name)
        )
      end
    end
  end
  local panics = vim.fn.stdpath("log") .. "/acp-panic.log"
  local stat = vim.uv.fs_stat(panics)
  if stat and stat.size > 0 then
    clean = false
    health.warn(
      ("the library failed on %s: %s"):format(os.date("%Y-%m-%d", stat.mtime.sec), panics),
      { "Report it with the end of that file, then delete the file." }
    )
  end
  if jit.os == "Linux" then
    local processes = orphans()
    if #processes > 0 then
      clean = false
      health.warn("agents' commands are running without their Neovim:\n" .. table.concat(processes, "\n"), {
        "End those that you don't want: `kill <number>`.",
      })
    end
  end
  if clean then
    health.ok("nothing was left behind")
  end
end

return M
