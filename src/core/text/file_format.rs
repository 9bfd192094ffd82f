//! Line ends, by the names of 'fileformat': texts have `\n`, files may have others.

use crate::core::text::Text;

/// What an agent gets of a text: 'fileformat' decides about its line ends.
pub fn as_file(text: &Text, fileformat: &str) -> Text {
    match fileformat {
        "dos" => text.replace('\n', "\r\n").into(),
        "mac" => text.replace('\n', "\r").into(),
        _ => text.clone(),
    }
}

/// The other way round.
pub fn as_lines(text: &Text, fileformat: &str) -> Text {
    match fileformat {
        "dos" => text.replace("\r\n", "\n").into(),
        "mac" => text.replace('\r', "\n").into(),
        _ => text.clone(),
    }
}

/// Whether Neovim would read the file with 'fileformat' "dos".
pub fn is_dos(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_come_back_as_they_were() {
        for (format, file) in [("unix", "a\nb\n"), ("dos", "a\r\nb\r\n"), ("mac", "a\rb\r")] {
            let lines = as_lines(&file.into(), format);
            assert_eq!(&*lines, "a\nb\n", "{format}");
            assert_eq!(&*as_file(&lines, format), file, "{format}");
        }
    }

    #[test]
    fn a_file_is_dos_when_every_line_ends_so() {
        assert!(is_dos("a\r\nb\r\n"));
        assert!(is_dos("a\r\nb"), "the last line may have no end");
        assert!(!is_dos("a\r\nb\n"));
        assert!(!is_dos("a"));
    }
}
