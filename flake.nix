# Builds the library and the demo agent, and the plugin with both in its lib/, for `nix build` and for users'
# flakes. Versions come from Cargo.toml. There is no flake.lock yet: `nix flake lock` makes it.
{
  description = "Work with any coding agent that speaks the Agent Client Protocol, inside Neovim";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      inherit (nixpkgs) lib;
      package = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
      systems = [
        "aarch64-darwin"
        "aarch64-linux"
        "x86_64-darwin"
        "x86_64-linux"
      ];
      forEachSystem = build: lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEachSystem (pkgs: rec {
        # What Rust builds, and nothing that a change of the documentation would have it build again.
        library = pkgs.rustPlatform.buildRustPackage {
          pname = "acp-nvim";
          inherit (package) version;
          src = lib.fileset.toSource {
            root = ./.;
            fileset = lib.fileset.unions [
              ./.cargo
              ./Cargo.lock
              ./Cargo.toml
              ./benches
              ./demo
              ./src
              (lib.fileset.maybeMissing ./build.rs)
              (lib.fileset.maybeMissing ./lua/acp/interface.lua)
            ];
          };
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [
            "--lib"
            "--bins"
          ];
          # They need an editor and a home; `make test` runs them.
          doCheck = false;
          meta = {
            inherit (package) description;
            license = lib.licenses.mit;
            mainProgram = "acp-demo-agent";
          };
        };

        default = pkgs.vimUtils.buildVimPlugin {
          pname = "acp.nvim";
          inherit (package) version;
          src = lib.fileset.toSource {
            root = ./.;
            fileset = lib.fileset.unions [
              ./Cargo.toml
              ./LICENSE
              ./demo
              ./doc
              ./lua
              ./plugin
            ];
          };
          # The demo agent is looked for beside the library.
          postInstall = ''
            mkdir -p $out/lib
            cp ${library}/lib/libacp_nvim${pkgs.stdenv.hostPlatform.extensions.sharedLibrary} $out/lib/
            cp ${library}/bin/acp-demo-agent $out/lib/
          '';
          meta = {
            inherit (package) description;
            license = lib.licenses.mit;
          };
        };
      });

      overlays.default = final: prev: {
        vimPlugins = prev.vimPlugins // {
          acp-nvim = self.packages.${final.stdenv.hostPlatform.system}.default;
        };
      };
    };
}
