//! From nothing to the first answer, as a user installs the plugin: from a git address into an empty home, by stand-ins
//! for plugin managers, with libraries from a server on this machine that may be broken, and with and without cargo.
//! What `make demo` and a developer's build do is not in here.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;
#[path = "install/world.rs"]
mod world;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use support::Nvim;
use support::http::Answer;
use support::process::wait_for;
use world::{World, archive_name, ask_the_demo_agent, block, run, tag, wait_for_first_answer};

/// Installs as lazy.nvim does, by the configuration that the help gives, and waits for the end. Says what was said.
#[track_caller]
fn lazy_installs(nvim: &mut Nvim) -> Result<String, String> {
    let spec = block("README.md", "{ \"owner/acp.nvim\", lazy");
    nvim.exec_lua(&format!("require('lazy').setup({spec})"), []);
    nvim.wait_until(
        |nvim| nvim.exec_lua("return require('lazy').installing == 0", []) == true.into(),
        "the build to end",
    );
    let text = |nvim: &mut Nvim, code: &str| nvim.exec_lua(code, []).as_str().map(str::to_owned);
    match text(nvim, "return require('lazy').failed['acp.nvim']") {
        Some(failed) => Err(failed),
        None => {
            Ok(text(nvim, "return table.concat(require('lazy').progress['acp.nvim'], '\\n')")
                .expect("a text"))
        }
    }
}

/// What is left of an installation that failed.
#[track_caller]
fn assert_nothing_is_installed(world: &World) {
    assert!(world.installed("lazy/acp.nvim").contains(&"build.lua".to_owned()), "the plugin itself is there");
    assert_eq!(world.installed("lazy/acp.nvim/lib"), [""; 0]);
}

#[test]
fn lazy_nvim_installs_a_library_without_rust_and_the_demo_agent_answers() {
    let world = World::new();
    let mut nvim = world.editor();
    let said = lazy_installs(&mut nvim).expect("a library");
    for part in [&format!("release {}", tag()), "100%", "checking", "trying", "library from release v"] {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
    // The plugin itself is not loaded yet.
    nvim.command("set runtimepath+=$XDG_DATA_HOME/nvim/site");
    nvim.command("help acp-library");
    nvim.wait_for_screen("acp-library");
    nvim.command("helpclose");
    ask_the_demo_agent(&mut nvim);
    let lib = world.installed("lazy/acp.nvim/lib");
    assert_eq!(lib.len(), 2, "one library and the file that names it: {lib:?}");
    assert!(lib.contains(&"current".to_owned()), "{lib:?}");
}

#[test]
fn a_release_that_cannot_be_used_is_explained_and_leaves_nothing() {
    let wrong = "1".repeat(64);
    // What is broken, how the server answers for which path, and what is said of it.
    type Case = (&'static str, Option<(String, Answer)>, &'static [&'static str]);
    let cases: [Case; 7] = [
        (
            "another archive",
            Some(("ARCHIVE".into(), Answer::Text("x".repeat(9000)))),
            &["SHA-256", "damaged"],
        ),
        ("half an archive", Some(("ARCHIVE".into(), Answer::Cut(100_000))), &["the connection ended early"]),
        ("an archive that stops", Some(("ARCHIVE".into(), Answer::Stalled(100_000))), &["too slow"]),
        ("no archive", Some(("ARCHIVE".into(), Answer::Missing)), &["doesn't have it"]),
        ("no release", Some(("/TAG/SHA256SUMS".into(), Answer::Missing)), &["no release has a library"]),
        (
            "sums without this system",
            Some(("/TAG/SHA256SUMS".into(), Answer::Text(format!("{wrong}  other.tar.gz\n")))),
            &["build.json isn't what SHA256SUMS says"],
        ),
        ("no server", None, &["refused"]),
    ];
    for (what, broken, parts) in cases {
        let world = World::new();
        match broken {
            Some((path, answer)) => {
                world
                    .server
                    .answer(&path.replace("ARCHIVE", &world.archive()).replace("TAG", &tag()), answer);
            }
            None => world.end_server(),
        }
        let mut nvim = world.editor();
        let failed = lazy_installs(&mut nvim).expect_err(what);
        assert!(failed.starts_with("couldn't get the library: "), "{what}: {failed}");
        assert!(!failed.contains('\n'), "{what}: {failed}");
        for part in parts.iter().copied().chain(["install Rust", ":Acp build"]) {
            assert!(failed.contains(part), "{what}: no {part:?} in {failed}");
        }
        assert_nothing_is_installed(&world);
    }
}

#[test]
fn cargo_builds_what_no_release_has_and_says_how_far_it_is() {
    let world = World::without_release();
    world.install_cargo();
    let mut nvim = world.editor();
    let said = lazy_installs(&mut nvim).expect("a library");
    for part in ["starting cargo", "1 of 2, serde", "2 of 2, acp-nvim", "library from cargo build --release"]
    {
        assert!(said.contains(part), "no {part:?} in:\n{said}");
    }
    let asked = world.home.read("cargo-was-asked");
    assert!(asked.contains("--release") && asked.contains("--locked"), "{asked}");
    ask_the_demo_agent(&mut nvim);
}

#[test]
fn a_library_of_other_sources_is_taken_where_nothing_else_can_be_had() {
    let world = World::without_release();
    world.publish_similar();
    let mut nvim = world.editor();
    let said = lazy_installs(&mut nvim).expect("a library");
    assert!(said.contains("other sources, and understands the same calls"), "{said}");
    // And cargo is preferred, if it is there.
    let world = World::without_release();
    world.publish_similar();
    world.install_cargo();
    let said = lazy_installs(&mut world.editor()).expect("a library");
    assert!(said.contains("library from cargo"), "{said}");
    // Unless it fails.
    let world = World::without_release();
    world.publish_similar();
    world.install_program("cargo", "echo 'error: rustc 1.70 is too old' >&2; exit 101");
    let said = lazy_installs(&mut world.editor()).expect("a library");
    assert!(said.contains("library from release v"), "{said}");
}

#[test]
fn what_cargo_fails_at_is_told_in_its_own_words() {
    let world = World::without_release();
    world
        .install_program("cargo", "echo 'warning: x' >&2; echo 'error: linker `cc` not found' >&2; exit 101");
    let failed = lazy_installs(&mut world.editor()).expect_err("no linker");
    assert!(failed.contains("error: linker `cc` not found"), "{failed}");
    assert_nothing_is_installed(&world);
}

#[test]
fn a_library_that_this_system_cannot_load_is_found_out_before_it_counts() {
    let world = World::without_release();
    world.install_cargo();
    // Cargo "builds" something that is no library.
    let cargo = world.home.read("bin/cargo").replace(&support::library().display().to_string(), "LIBRARY");
    let broken = world.home.file("libacp_nvim.so");
    fs::write(&broken, "no library").expect("a file");
    world.home.write("bin/cargo", &cargo.replace("LIBRARY", &broken.display().to_string()));
    let failed = lazy_installs(&mut world.editor()).expect_err("no library");
    assert!(failed.contains("couldn't load the library on this system"), "{failed}");
    assert_nothing_is_installed(&world);
}

#[test]
fn a_plugin_manager_that_gives_up_ends_what_the_build_has_started() {
    let world = World::without_release();
    let mut nvim = world.editor();
    begin_to_build_without_end(&world, &mut nvim);
    nvim.exec_lua("require('lazy').aborted = true", []);
    nvim.wait_until(
        |nvim| nvim.exec_lua("return require('lazy').installing == 0", []) == true.into(),
        "the build to end",
    );
    let left = nvim.exec_lua("return #require('lazy').libraries['acp.nvim']", []);
    assert_eq!(left, 0.into(), "when the build says that it has ended it has cleaned up");
    nvim.wait_until(|nvim| !sleeps(nvim), "cargo's children to end");
    assert_nothing_is_installed(&world);
}

#[test]
fn neovim_killed_while_it_builds_leaves_no_compiler_behind() {
    let world = World::without_release();
    let mut nvim = world.editor();
    begin_to_build_without_end(&world, &mut nvim);
    assert!(sleeps(&nvim));
    nvim.kill9();
    wait_for(|| !sleeps(&nvim), "cargo's children to end");
}

/// Has lazy.nvim run a cargo that has started others and comes to no end.
#[track_caller]
fn begin_to_build_without_end(world: &World, nvim: &mut Nvim) {
    world.install_program(
        "cargo",
        &format!("sleep 1000 & sleep 1000 & > {}; wait", path_of(world, "started")),
    );
    let spec = block("README.md", "{ \"owner/acp.nvim\", lazy");
    nvim.exec_lua(&format!("require('lazy').setup({spec})"), []);
    wait_for(|| world.home.file("started").exists(), "cargo to start");
}

fn path_of(world: &World, name: &str) -> String {
    world.home.file(name).display().to_string()
}

/// Whether a `sleep` of the stand-in cargo's is running.
fn sleeps(nvim: &Nvim) -> bool {
    nvim.processes().iter().any(|process| process.command.contains("sleep 1000"))
}

#[test]
fn an_update_under_a_running_neovim_goes_on_with_the_old_library_and_says_so() {
    let world = World::new();
    let mut nvim = world.editor();
    lazy_installs(&mut nvim).expect("a library");
    ask_the_demo_agent(&mut nvim);
    nvim.listen();

    // `git pull` without a build.
    let clone = world.home.file("data/nvim/lazy/acp.nvim");
    let source = world.sources().join("src/lib.rs");
    let text = fs::read_to_string(&source).expect("a source");
    fs::write(&source, format!("{text}\n// Another line.\n")).expect("a source");
    world.push("another source");
    run(Command::new("git").arg("-C").arg(&clone).args(["pull", "-q"]).envs(world.environment()));
    nvim.command("AcpChat");
    nvim.wait_until(
        |nvim| said(nvim).contains("was updated without its library, which still works"),
        "the advice",
    );
    nvim.command("AcpChat");
    nvim.exec_lua("require('acp').send('still there?')", []);
    nvim.wait_until(
        |nvim| nvim.exec_lua("return require('acp').status().sessions[1].state == 'idle'", []) == true.into(),
        "the old library to go on working",
    );
    let times = |nvim: &mut Nvim| said(nvim).matches("which still works").count();
    assert_eq!(times(&mut nvim), 1, "it is said once");

    // The build.
    world.publish_sources(&tag(), &world.sources());
    nvim.command("Acp build");
    nvim.wait_until(|nvim| said(nvim).contains("restart Neovim to use the new library"), "the new library");
    assert_eq!(world.installed("lazy/acp.nvim/lib").len(), 3, "the old one is kept");
    world.server.asked();

    // And back again: without a download.
    run(Command::new("git").arg("-C").arg(&clone).args(["checkout", "-q", "HEAD~1"]));
    let out = run(world.headless(&["-l"]).arg(clone.join("build.lua")));
    let printed = String::from_utf8_lossy(&out.stderr);
    assert!(printed.contains("nothing had to be done"), "{printed}");
    assert_eq!(world.server.asked(), [""; 0]);
}

/// What was told by notifications, since `listen()`.
fn said(nvim: &mut Nvim) -> String {
    let text = nvim.exec_lua("return table.concat(_G.said, '\\n')", []);
    text.as_str().expect("a text").to_owned()
}

#[test]
fn two_neovims_that_install_at_once_both_have_the_library() {
    let world = World::new();
    let clone = world.clone("plugin");
    let build = clone.join("build.lua");
    let start = || {
        let mut command = world.headless(&["-l"]);
        command.arg(&build).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("Neovim")
    };
    let (one, other) = (start(), start());
    for neovim in [one, other] {
        let output = neovim.wait_with_output().expect("an end");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(world.installed("plugin/lib").len(), 2, "{:?}", world.installed("plugin/lib"));
}

#[test]
fn a_folder_that_another_neovim_has_made_a_moment_before_is_no_failure() {
    let world = World::new();
    let clone = world.clone("plugin");
    let script = format!(
        "local mkdir, faster = vim.uv.fs_mkdir, 0
         vim.uv.fs_mkdir = function(path, mode)
           if vim.startswith(path, '{clone}') then
             faster = faster + (mkdir(path, mode) and 1 or 0)
           end
           return mkdir(path, mode)
         end
         dofile('{clone}/build.lua')
         assert(faster > 0, 'nobody was faster')",
        clone = clone.display()
    );
    world.home.write("install.lua", &script);
    run(world.headless(&["-l"]).arg(world.home.file("install.lua")));
    assert_eq!(world.installed("plugin/lib").len(), 2, "{:?}", world.installed("plugin/lib"));
}

#[test]
fn a_plugin_that_cannot_be_written_has_its_library_in_the_users_folder() {
    let world = World::new();
    let clone = world.clone("plugin");
    // For root every folder can be written, so Neovim is told that this one cannot.
    let script = format!(
        "local access = vim.uv.fs_access
         vim.uv.fs_access = function(path, mode)
           return not (mode == 'W' and vim.startswith(path, '{clone}')) and access(path, mode)
         end
         dofile('{clone}/build.lua')",
        clone = clone.display()
    );
    world.home.write("install.lua", &script);
    run(world.headless(&["-l"]).arg(world.home.file("install.lua")));
    assert_eq!(world::names(&clone.join("lib")), [""; 0]);
    let mut nvim = world.editor();
    nvim.command(&format!("set runtimepath^={}", clone.display()));
    nvim.command("runtime plugin/acp.lua");
    ask_the_demo_agent(&mut nvim);
}

/// Clones the plugin into a folder of Neovim's packages, as one does by hand, and has this Neovim load it.
fn put_into_packages(world: &World, nvim: &mut Nvim) -> PathBuf {
    let clone = world.clone("site/pack/any/start/acp.nvim");
    nvim.command(&format!("set runtimepath^={}", clone.display()));
    nvim.command("runtime plugin/acp.lua");
    clone
}

#[test]
fn the_first_chat_offers_the_library_and_goes_on_with_what_was_asked() {
    for (columns, rows) in [(80, 24), (140, 40)] {
        let world = World::new();
        world.install_cargo();
        let mut nvim = world.editor_of_size(columns, rows);
        put_into_packages(&world, &mut nvim);
        nvim.command("AcpChat demo");
        nvim.wait_for_screen("The plugin's library is not here yet.");
        nvim.assert_screen(&format!("install/offer-{columns}x{rows}"));
        nvim.input("<CR>");
        wait_for_first_answer(&mut nvim);
        assert!(!nvim.screen().contains("acp.nvim ─"), "the window is gone:\n{}", nvim.screen());
    }
}

#[test]
fn what_is_offered_may_be_declined_stopped_and_tried_again() {
    let world = World::new();
    world.server.answer(&world.archive(), Answer::Stalled(10));
    let mut nvim = world.editor();
    put_into_packages(&world, &mut nvim);
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("<CR> get it   q not now");
    nvim.input("q");
    nvim.wait_until(|nvim| !nvim.screen().contains("not now"), "the offer to go");
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("not now");
    nvim.input("<CR>");
    nvim.wait_for_screen("Couldn't get the library");
    nvim.wait_for_screen("too slow");
    nvim.wait_for_screen("r try again");
    world.server.answer(&world.archive(), Answer::Whole);
    nvim.input("r");
    wait_for_first_answer(&mut nvim);
}

#[test]
fn a_download_that_is_stopped_leaves_nothing() {
    let world = World::new();
    world.server.answer(&world.archive(), Answer::Stalled(10));
    let clone = world.clone("site/pack/any/start/acp.nvim");
    let mut nvim = world.editor();
    nvim.exec_lua("vim.env.ACP_NVIM_SLOW = '1000'", []);
    nvim.command(&format!("set runtimepath^={}", clone.display()));
    nvim.command("runtime plugin/acp.lua");
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("not now");
    nvim.input("<CR>");
    wait_for(|| world.server.asked().contains(&world.archive()), "the download");
    nvim.input("<C-c>");
    nvim.wait_for_screen("stopped");
    nvim.wait_until(
        |nvim| !nvim.processes().iter().any(|process| process.command.contains("curl")),
        "curl's end",
    );
    assert_eq!(world::names(&clone.join("lib")), [""; 0]);
}

#[test]
fn an_installation_that_was_hidden_opens_nothing_when_it_is_done() {
    let world = World::new();
    world.install_cargo();
    let cargo = world.home.read("bin/cargo");
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done\n", path_of(&world, "go"));
    world.home.write("bin/cargo", &cargo.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n{wait}"), 1));
    let mut nvim = world.editor();
    put_into_packages(&world, &mut nvim);
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("c build it with cargo");
    nvim.input("c");
    nvim.wait_for_screen("Building the library");
    nvim.input("q");
    nvim.wait_for_screen("goes on in the background");
    nvim.input("itext");
    world.home.write("go", "");
    nvim.wait_for_screen("the library is there");
    nvim.input(" and more<Esc>");
    nvim.wait_for_screen("text and more");
    assert_eq!(
        nvim.exec_lua(
            "return #vim.api.nvim_tabpage_list_wins(0) == #vim.tbl_filter(function(win)
        return vim.bo[vim.api.nvim_win_get_buf(win)].filetype ~= 'acp'
      end, vim.api.nvim_tabpage_list_wins(0))",
            []
        ),
        true.into()
    );
}

#[test]
fn quitting_in_the_middle_of_a_download_leaves_nothing() {
    let world = World::new();
    world.server.answer(&world.archive(), Answer::Stalled(10));
    let mut nvim = world.editor();
    nvim.exec_lua("vim.env.ACP_NVIM_SLOW = '1000'", []);
    let clone = put_into_packages(&world, &mut nvim);
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("not now");
    nvim.input("<CR>");
    wait_for(|| world.server.asked().contains(&world.archive()), "the download");
    nvim.quit();
    assert_eq!(world::names(&clone.join("lib")), [""; 0]);
}

#[test]
fn an_installation_that_runs_is_joined_and_not_begun_twice() {
    let world = World::new();
    world.install_program(
        "cargo",
        &format!("while [ ! -e {} ]; do sleep 0.05; done; exit 1", path_of(&world, "go")),
    );
    let mut nvim = world.editor();
    put_into_packages(&world, &mut nvim);
    nvim.command("Acp build cargo");
    nvim.wait_for_screen("Building the library");
    nvim.input("q");
    nvim.wait_for_screen("goes on in the background");
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("Building the library");
    world.home.write("go", "");
    nvim.wait_for_screen("r try again");
}

#[test]
fn the_help_is_found_however_the_plugin_was_installed() {
    // Put into a folder of packages by hand, and nothing else.
    let world = World::new();
    let mut nvim = world.editor();
    let clone = put_into_packages(&world, &mut nvim);
    nvim.wait_until(|nvim| nvim.try_lua("vim.cmd('help acp-library')", []).is_ok(), "the help");
    assert!(clone.join("doc/tags").exists());

    // Where the folder can't be written. For root every folder can be, so Neovim is told that this one can't.
    let clone = world.clone("read-only");
    let mut nvim = world.editor();
    nvim.exec_lua(
        "local access, clone = vim.uv.fs_access, ...
         vim.uv.fs_access = function(path, mode)
           return not (mode == 'W' and vim.startswith(path, clone)) and access(path, mode)
         end",
        [clone.display().to_string().into()],
    );
    nvim.command(&format!("set runtimepath^={}", clone.display()));
    nvim.command("runtime plugin/acp.lua");
    nvim.wait_until(|nvim| nvim.try_lua("vim.cmd('help acp-library')", []).is_ok(), "the help");
    assert!(!clone.join("doc/tags").exists());
}

#[test]
fn the_recipes_of_readme_and_help_are_the_same_and_their_options_are_right() {
    let trimmed = |file: &str| block(file, "{ \"owner/acp.nvim\", lazy").trim().to_owned();
    assert_eq!(trimmed("README.md"), trimmed("doc/acp.txt"));
    let mut nvim = Nvim::start(support::Options::default());
    nvim.listen();
    nvim.exec_lua(
        &format!("local {} require('acp').setup(opts)", block("README.md", "opts = {\n").trim()),
        [],
    );
    nvim.command("AcpChat demo");
    nvim.wait_for_screen("Ask for a change, or about the code");
    assert_eq!(said(&mut nvim), "");
}

#[test]
fn the_recipe_for_mini_deps_installs_the_plugin() {
    let world = World::new();
    let mut nvim = world.editor();
    nvim.listen();
    nvim.exec_lua(&block("doc/acp.txt", "MiniDeps.add"), []);
    nvim.wait_until(|nvim| said(nvim).contains("library from release"), "the library");
    ask_the_demo_agent(&mut nvim);
}

#[test]
fn the_recipe_for_vim_pack_installs_the_plugin() {
    let world = World::new();
    let mut nvim = world.editor();
    if nvim.exec_lua("return vim.pack == nil", []) == true.into() {
        // Before Neovim 0.12 there is none; `make test` runs this file on that version, too.
        return;
    }
    nvim.listen();
    // Tests run with --clean, which takes the user's folders away.
    nvim.exec_lua("vim.opt.packpath:prepend(vim.fn.stdpath('data') .. '/site')", []);
    let recipe = block("doc/acp.txt", "vim.pack.add");
    // It asks whether it may.
    nvim.exec_lua(
        "local code = ... vim.schedule(function() assert(loadstring(code))() end)",
        [recipe.into()],
    );
    nvim.wait_for_screen("acp.nvim");
    nvim.input("y");
    nvim.wait_within(
        Duration::from_secs(30),
        |nvim| {
            !nvim.mode().blocking
                && said(nvim).contains("library from release")
                && nvim.exec_lua("return vim.fn.exists(':AcpChat')", []) == 2.into()
        },
        "the library and the plugin",
    );
    ask_the_demo_agent(&mut nvim);
}

#[test]
fn the_recipe_without_a_plugin_manager_installs_the_plugin() {
    let world = World::new();
    for holds in ["git clone https://github.com/owner/acp.nvim", "nvim --headless -l"] {
        let script = block("doc/acp.txt", holds);
        let mut command = Command::new("sh");
        command.arg("-ec").arg(script).envs(world.environment()).env("HOME", world.home.path());
        // The one that is tested, by its usual name.
        let starter = format!("exec {} \"$@\"", support::neovim().display());
        world.install_program("nvim", &starter);
        run(&mut command);
    }
    let plugin = world.home.file(".local/share/nvim/site/pack/acp/start/acp.nvim");
    assert!(plugin.join("lib/current").exists(), "{:?}", world::names(&plugin));
    assert!(plugin.join("doc/tags").exists());
}

#[test]
fn library_installer_and_release_scripts_tell_the_same_sources() {
    let root = env!("CARGO_MANIFEST_DIR");
    let printed = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let wanted = world::fingerprint_here();
    assert_eq!(printed(run(&mut Command::new(format!("{root}/scripts/fingerprint")))), wanted);
    let world = World::without_release();
    world.home.write("f.lua", &format!("io.write(require('acp.install.fingerprint').of('{root}'))"));
    let mut command = world.headless(&["--cmd", &format!("set rtp^={root}"), "-l"]);
    assert_eq!(printed(run(command.arg(world.home.file("f.lua")))), wanted);
}

#[test]
fn the_archive_for_this_system_is_called_as_the_scripts_for_releases_call_it() {
    let world = World::new();
    let mut command = world.headless(&["--cmd", &format!("set rtp^={}", env!("CARGO_MANIFEST_DIR")), "-l"]);
    world.home.write("target.lua", "io.write(require('acp.install.target').here())");
    let output = run(command.arg(world.home.file("target.lua")));
    let target = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(archive_name(), format!("acp-nvim-{target}.tar.gz"));
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("build.lua").exists());
}
