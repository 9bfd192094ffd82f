--- `:checkhealth acp`: what is there, what is missing and what to do about it.

local M = {}

local health = vim.health

---@param program string
---@return string? version what `program --version` says first
local function version_of(program)
  local ok, result = pcall(function()
    -- By its full path: on Windows `npx` is `npx.cmd`, which is not found otherwise.
    return vim.system({ vim.fn.exepath(program), "--version" }, { text = true }):wait(5000)
  end)
  if ok and result.code == 0 then
    return vim.trim(vim.split(result.stdout or "", "\n")[1])
  end
end

local function check_neovim()
  health.start("acp: Neovim")
  if vim.fn.has("nvim-0.10") == 0 then
    health.error("Neovim is too old", { "Install Neovim 0.10 or newer." })
  else
    local version = vim.version()
    health.ok(("Neovim %d.%d.%d"):format(version.major, version.minor, version.patch))
  end
  if not package.loaded.jit then
    health.error("this Neovim has no LuaJIT", { "Install a Neovim that is built with LuaJIT." })
  end
end

---@return acp.Native? library
---@return string? problem what keeps it from working with these options
local function check_library()
  health.start("acp: library")
  local loader = require("acp.native")
  local library, problem = require("acp").probe()
  if not library then
    local advice = { ("Run `cargo build --release` in %s."):format(loader.root()) }
    advice[#advice + 1] = 'With lazy.nvim: `build = "cargo build --release"`, then `:Lazy build`.'
    health.error(problem or "the library does not load", advice)
    health.info("looked for:\n" .. table.concat(loader.candidates(), "\n"))
    return nil, nil
  end
  local _, place = loader.load()
  health.ok(("%s, %s build\n%s"):format(library.version, library.profile, place.lib))
  if library.profile == "debug" then
    health.warn("this is a debug build: it is several times slower", { "Run `cargo build --release`." })
  end
  local outdated = loader.outdated()
  if outdated then
    health.warn(outdated)
  elseif loader.rebuilt() then
    health.warn("the library was built again since it was loaded", { "Restart Neovim." })
  end
  if place.demo then
    health.ok("demo agent: " .. place.demo)
  else
    health.info("the demo agent is not beside the library; `cargo build --release` builds it")
  end
  return library, problem
end

---@param problem? string
local function check_options(problem)
  health.start("acp: options")
  if not problem then
    return health.ok("no mistakes in what setup() was given")
  end
  for _, line in ipairs(vim.split(problem, "\n", { trimempty = true })) do
    health.error(line)
  end
  health.info("`:help acp-config` describes all options")
end

---@param choice acp.AgentChoice
local function check_agent(choice)
  local name = ("%s (%s)"):format(choice.title, choice.name)
  local login = choice.login and "\nlogin: " .. choice.login or ""
  if choice.found then
    health.ok(("%s: %s%s"):format(name, choice.detail, login))
  elseif choice.configured then
    health.error(("%s: %s"):format(name, choice.detail))
  elseif choice.install then
    health.info(("%s: %s; `%s`"):format(name, choice.status, choice.install))
  end
  return choice.found
end

-- What the disk has to be asked for is there after this long, or never.
local PATIENCE = 2000

local function check_agents()
  health.start("acp: agents")
  local certain
  local choices, problem = require("acp").agents(function(list)
    certain = list
  end)
  if problem then
    return health.error("couldn't list the agents: " .. problem)
  end
  vim.wait(PATIENCE, function()
    return certain ~= nil
  end, 10)
  local found, others = 0, 0
  for _, choice in ipairs(certain or choices or {}) do
    found = found + (check_agent(choice) and 1 or 0)
    others = others + ((choice.found or choice.configured or choice.install) and 0 or 1)
  end
  if others > 0 then
    health.info(("%d more of the registry are known: `:Acp agents` lists them"):format(others))
  end
  if found == 0 then
    health.warn("no agent is found", { "`:Acp agents` says for each how it is run here." })
  end
end

local function check_programs()
  health.start("acp: other programs")
  for program, need in
    vim.spairs({
      node = "agents that are npm packages need Node.js",
      npx = "agents that are npm packages need Node.js",
      uvx = "agents that are Python packages need uv",
    })
  do
    local version = vim.fn.executable(program) == 1 and version_of(program)
    if version then
      health.ok(("%s %s"):format(program, version))
    else
      health.info(("%s is not found: %s"):format(program, need))
    end
  end
end

local function check_parsers()
  health.start("acp: Markdown")
  local missing = {}
  for _, language in ipairs({ "markdown", "markdown_inline" }) do
    if #vim.api.nvim_get_runtime_file(("parser/%s.*"):format(language), false) == 0 then
      missing[#missing + 1] = language
    end
  end
  if #missing == 0 then
    return health.ok("the treesitter parsers are there")
  end
  health.warn(
    ("no treesitter parser for %s: answers are shown without colours"):format(table.concat(missing, ", ")),
    {
      "Neovim comes with both; if your package does not, install them, with nvim-treesitter for example.",
    }
  )
end

local function check_processes()
  health.start("acp: processes")
  local status = require("acp").status()
  health.info("log: " .. (status.log or vim.fn.stdpath("log") .. "/acp.log"))
  local running = vim.tbl_filter(function(agent)
    return agent.state == "running"
  end, status.agents)
  for _, agent in ipairs(running) do
    health.info(
      ("%s runs as process %s; it ends with Neovim, or with `:Acp stop`"):format(agent.agent, agent.pid)
    )
  end
  if #running == 0 then
    health.ok("no agent runs")
  end
end

function M.check()
  check_neovim()
  local library, problem = check_library()
  if library then
    check_options(problem)
  end
  -- With wrong options nothing can be asked of it.
  local usable = library ~= nil and problem == nil
  if usable then
    check_agents()
  end
  check_programs()
  check_parsers()
  if usable then
    check_processes()
  end
end

return M
