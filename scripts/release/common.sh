# shellcheck shell=sh disable=SC2034 # used by the scripts that source it
# What the scripts of a release share; each sources this after setting $doing, which says in an error's text
# what couldn't be done. Leaves the folder in the project's root, and reads each fact from the one file that has it.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
cd "$root" || exit

fail() {
    echo "couldn't ${doing:-go on}: $1" >&2
    exit 1
}

# The release that is made anew with each change of the branch main. A tag of the same name would make git refuse
# `main` as ambiguous.
rolling=edge

# Where targets are built, collected and packed.
target_dir=${CARGO_TARGET_DIR:-target}
out=${ACP_RELEASE_DIR:-$target_dir/release-files}

# The package's version in Cargo.toml.
package_version() {
    awk '/^\[/ { inside = ($0 == "[package]") }
        inside && /^version *= *"/ { split($0, part, "\""); print part[2]; exit }' Cargo.toml
}

# The same as Cargo.lock has it.
locked_version() {
    awk '$0 == "name = \"acp-nvim\"" { found = 1 }
        found && /^version = "/ { split($0, part, "\""); print part[2]; exit }' Cargo.lock
}

# owner/name on GitHub.
repository() {
    sed -n 's/^return *"\([A-Za-z0-9_.-]*\/[A-Za-z0-9_.-]*\)".*$/\1/p' lua/acp/repository.lua
}

targets() {
    sed -n 's/^ *"\([a-z0-9_-]*\)",$/\1/p' lua/acp/targets.lua
}

is_target() {
    targets | grep -qxF -- "$1"
}

library_of() { # target
    case $1 in
    *-windows-*) echo acp_nvim.dll ;;
    *-apple-*) echo libacp_nvim.dylib ;;
    *) echo libacp_nvim.so ;;
    esac
}

demo_agent_of() { # target
    case $1 in
    *-windows-*) echo acp-demo-agent.exe ;;
    *) echo acp-demo-agent ;;
    esac
}

archive_of() { # target
    echo "acp-nvim-$1.tar.gz"
}

# Runs sha256sum or its like in the current folder, with the output of sha256sum for text.
sha256() { # files..
    if command -v sha256sum >/dev/null; then
        hashes=$(sha256sum "$@")
    else
        hashes=$(shasum -a 256 "$@")
    fi || return 1
    # Git for Windows marks each file as binary, with an asterisk for the second blank.
    printf '%s\n' "$hashes" | sed 's/^\([0-9a-f]*\) [ *]/\1  /'
}
