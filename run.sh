cd /tmp/dbg; export PATH=/work/main/target/debug:$PATH XDG_STATE_HOME=/tmp/dbg/state ACP_NVIM_LIB=/work/main/target/debug/libacp_nvim.so
exec $(cd /work/main; scripts/fetch-nvim) --clean -u init.lua --listen /tmp/dbg/sock
