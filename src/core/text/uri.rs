//! File paths as `file:` URIs (RFC 8089) and back, for Unix and Windows paths alike: the form of the path
//! decides, not the system that this runs on.

/// Whether this is an absolute path, and no URI.
pub fn is_path(text: &str) -> bool {
    text.starts_with('/') || text_of_windows(text)
}

/// The URI of an absolute path: what may not stand in one is escaped byte by byte.
pub fn from_path(path: &str) -> String {
    let is_windows = text_of_windows(path);
    let (start, path) = match path.strip_prefix(r"\\").filter(|_| is_windows) {
        // `\\host\share\a`: the host stands where others have nothing.
        Some(share) => ("file://", share),
        None if is_windows => ("file:///", path),
        None => ("file://", path),
    };
    let mut uri = String::from(start);
    for (at, byte) in path.bytes().enumerate() {
        match byte {
            b'\\' if is_windows => uri.push('/'),
            b':' if is_windows && at == 1 => uri.push(':'),
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// The path that a `file:` URI names, as it stands there; `None` for other URIs. A host is left out, since
/// nobody means another machine.
pub fn to_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix("file://")?;
    let path = decoded(&rest[rest.find('/').unwrap_or(0)..]);
    // The slash before a drive belongs to the URI.
    Some(match path.strip_prefix('/') {
        Some(plain) if has_drive(plain) => plain.to_owned(),
        _ => path,
    })
}

/// `%20` and the like as what they stand for.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn text_of_windows(path: &str) -> bool {
    path.starts_with(r"\\") || has_drive(path)
}

/// Whether a path begins with a drive: `C:\` or `C:/`.
pub fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_same_after_it_was_a_uri() {
        for (path, uri) in [
            ("/p/a b.rs", "file:///p/a%20b.rs"),
            ("/p/ä#1.rs", "file:///p/%C3%A4%231.rs"),
            (r"C:\p\a b.rs", "file:///C:/p/a%20b.rs"),
            ("c:/p/a.rs", "file:///c:/p/a.rs"),
            (r"/p/a\b", "file:///p/a%5Cb"),
            ("/C:x", "file:///C%3Ax"),
        ] {
            assert_eq!(from_path(path), uri);
            let back = to_path(uri).expect("a file");
            assert_eq!(back, if text_of_windows(path) { path.replace('\\', "/") } else { path.to_owned() });
        }
    }

    #[test]
    fn a_share_has_its_host() {
        assert_eq!(from_path(r"\\host\share\a.rs"), "file://host/share/a.rs");
    }

    #[test]
    fn what_agents_write_is_read() {
        assert_eq!(to_path("file://localhost/p/a.rs").as_deref(), Some("/p/a.rs"));
        assert_eq!(to_path("file:///C%3A/p/a.rs").as_deref(), Some("C:/p/a.rs"));
        assert_eq!(to_path("file:///p/100%").as_deref(), Some("/p/100%"));
        assert_eq!(to_path("https://a/b"), None);
        assert!(
            is_path(r"C:\a") && is_path("/a") && is_path(r"\\h\s") && !is_path("file:///a") && !is_path("a")
        );
    }
}
