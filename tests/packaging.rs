//! How the plugin reaches its users: the workflows, the scripts of a release and the packages say the same, and the
//! scripts do what they say, on a small copy of the project and with stand-ins for what needs the network.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

// The attribute tells clippy that helpers in here are tests, too.
#[cfg(test)]
mod packaging {
    mod tree;

    mod installing;
    mod manifests;
    mod publishing;
    mod release;
    mod workflows;
}
