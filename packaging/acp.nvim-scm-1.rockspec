-- For rocks.nvim and LuaRocks: the head of main, built by cargo. `scripts/release/rockspec` makes a version's of it.
-- In the project's root lazy.nvim would find it, and run LuaRocks in place of build.lua.
rockspec_format = "3.0"
package = "acp.nvim"
version = "scm-1"

source = {
  url = "git+https://github.com/owner/acp.nvim",
}

description = {
  summary = "Work with any coding agent that speaks the Agent Client Protocol, inside Neovim",
  detailed = "The library is built by cargo: install Rust first.",
  homepage = "https://github.com/owner/acp.nvim",
  license = "MIT",
  labels = { "neovim" },
}

dependencies = {
  "lua == 5.1",
}

build = {
  type = "command",
  -- LuaRocks installs a file under the name it has, and `acp_nvim` is looked for without the prefix.
  build_command = "cargo build --locked --lib --bins --profile dist --target-dir target"
    .. " && cp target/dist/libacp_nvim.so target/dist/acp_nvim.so",
  install = {
    lua = {
      ["acp.blink"] = "lua/acp/blink.lua",
      ["acp.click"] = "lua/acp/click.lua",
      ["acp.cmp"] = "lua/acp/cmp.lua",
      ["acp.commands"] = "lua/acp/commands.lua",
      ["acp.bridge"] = "lua/acp/bridge.lua",
      ["acp.complete"] = "lua/acp/complete.lua",
      ["acp.health"] = "lua/acp/health.lua",
      ["acp.health.neighbours"] = "lua/acp/health/neighbours.lua",
      ["acp.health.system"] = "lua/acp/health/system.lua",
      ["acp.helptags"] = "lua/acp/helptags.lua",
      ["acp.highlight"] = "lua/acp/highlight.lua",
      ["acp.highlight.ahead"] = "lua/acp/highlight/ahead.lua",
      ["acp.highlight.budget"] = "lua/acp/highlight/budget.lua",
      ["acp.highlight.code"] = "lua/acp/highlight/code.lua",
      ["acp.highlight.cut"] = "lua/acp/highlight/cut.lua",
      ["acp.highlight.fence"] = "lua/acp/highlight/fence.lua",
      ["acp.highlight.languages"] = "lua/acp/highlight/languages.lua",
      ["acp.highlight.limits"] = "lua/acp/highlight/limits.lua",
      ["acp.highlight.look"] = "lua/acp/highlight/look.lua",
      ["acp.highlight.marks"] = "lua/acp/highlight/marks.lua",
      ["acp.highlight.part"] = "lua/acp/highlight/part.lua",
      ["acp.highlight.pieces"] = "lua/acp/highlight/pieces.lua",
      ["acp.highlight.plain"] = "lua/acp/highlight/plain.lua",
      ["acp.highlight.seams"] = "lua/acp/highlight/seams.lua",
      ["acp.highlight.spans"] = "lua/acp/highlight/spans.lua",
      ["acp.highlight.tables"] = "lua/acp/highlight/tables.lua",
      ["acp.images"] = "lua/acp/images.lua",
      ["acp.init"] = "lua/acp/init.lua",
      ["acp.install.agents"] = "lua/acp/install/agents.lua",
      ["acp.install.archive"] = "lua/acp/install/archive.lua",
      ["acp.install.cargo"] = "lua/acp/install/cargo.lua",
      ["acp.install.check"] = "lua/acp/install/check.lua",
      ["acp.install.download"] = "lua/acp/install/download.lua",
      ["acp.install.file"] = "lua/acp/install/file.lua",
      ["acp.install.fingerprint"] = "lua/acp/install/fingerprint.lua",
      ["acp.install.init"] = "lua/acp/install/init.lua",
      ["acp.install.place"] = "lua/acp/install/place.lua",
      ["acp.install.process"] = "lua/acp/install/process.lua",
      ["acp.install.release"] = "lua/acp/install/release.lua",
      ["acp.install.running"] = "lua/acp/install/running.lua",
      ["acp.install.target"] = "lua/acp/install/target.lua",
      ["acp.install.task"] = "lua/acp/install/task.lua",
      ["acp.install.view"] = "lua/acp/install/view.lua",
      ["acp.interface"] = "lua/acp/interface.lua",
      ["acp.menu"] = "lua/acp/menu.lua",
      ["acp.nearest"] = "lua/acp/nearest.lua",
      ["acp.mksession"] = "lua/acp/mksession.lua",
      ["acp.select"] = "lua/acp/select.lua",
      ["acp.native"] = "lua/acp/native.lua",
      ["acp.notify"] = "lua/acp/notify.lua",
      ["acp.repository"] = "lua/acp/repository.lua",
      ["acp.pick"] = "lua/acp/pick.lua",
      ["acp.subcommands"] = "lua/acp/subcommands.lua",
      ["acp.symbols"] = "lua/acp/symbols.lua",
      ["acp.targets"] = "lua/acp/targets.lua",
      ["acp.tools"] = "lua/acp/tools.lua",
      ["acp.tools.actions"] = "lua/acp/tools/actions.lua",
      ["acp.tools.change"] = "lua/acp/tools/change.lua",
      ["acp.tools.diagnostics"] = "lua/acp/tools/diagnostics.lua",
      ["acp.tools.editor"] = "lua/acp/tools/editor.lua",
      ["acp.tools.file"] = "lua/acp/tools/file.lua",
      ["acp.tools.lsp"] = "lua/acp/tools/lsp.lua",
      ["acp.tools.quiet"] = "lua/acp/tools/quiet.lua",
      ["acp.tools.show"] = "lua/acp/tools/show.lua",
      ["acp.tools.syntax"] = "lua/acp/tools/syntax.lua",
      ["acp.tools.task"] = "lua/acp/tools/task.lua",
      ["acp.tools.watched"] = "lua/acp/tools/watched.lua",
      ["acp.tools.workspace_edit"] = "lua/acp/tools/workspace_edit.lua",
      ["acp.types"] = "lua/acp/types.lua",
      ["acp.undecided"] = "lua/acp/undecided.lua",
    },
    lib = {
      acp_nvim = "target/dist/acp_nvim.so",
      -- Beside the library, where it is looked for.
      "target/dist/acp-demo-agent",
    },
  },
  platforms = {
    macosx = {
      -- LuaJIT looks for this extension everywhere but on Windows.
      build_command = "cargo build --locked --lib --bins --profile dist --target-dir target"
        .. " && cp target/dist/libacp_nvim.dylib target/dist/acp_nvim.so",
    },
    windows = {
      build_command = "cargo build --locked --lib --bins --profile dist --target-dir target",
      install = {
        lib = {
          acp_nvim = "target/dist/acp_nvim.dll",
          "target/dist/acp-demo-agent.exe",
        },
      },
    },
  },
  copy_directories = { "doc", "plugin" },
}
