//! The user's options as one typed struct; an error names the key.
