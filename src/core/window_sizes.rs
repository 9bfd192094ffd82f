//! How large the windows of a chat are: how a transcript and its prompt divide what both have, where they float,
//! and which share of the screen they keep when it has another size. All in cells; which windows there are is
//! left to others.

/// As many columns as are read with ease, and code fits into.
const WIDE: u16 = 100;

/// A chat that has more of the screen has it for want of anything else.
const NEARLY_ALL: f32 = 0.97;

/// What the user wants of floating windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub width: Option<u16>,
    pub height: Option<u16>,
    pub prompt: u16,
}

/// Two windows above each other, each with a border of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floats {
    pub width: u16,
    pub column: u16,
    pub transcript: Rows,
    pub prompt: Rows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    pub first: u16,
    pub count: u16,
}

/// Most of what both have is the transcript's.
pub fn prompt_height(wanted: u16, whole: u16) -> u16 {
    wanted.min(whole * 2 / 5).max(1)
}

/// Where the two float in an editor of so many columns and lines, those of the command line left out.
pub fn floats(columns: u16, lines: u16, wanted: Wanted) -> Floats {
    let width = wanted.width.unwrap_or(WIDE.min(columns)).min(columns.saturating_sub(2)).max(1);
    let most = u16::try_from(u32::from(lines) * 80 / 100).unwrap_or(lines).max(24);
    let whole = wanted.height.unwrap_or(most).clamp(6.min(lines), lines);
    // The two borders of each are not for text.
    let text = whole.saturating_sub(4).max(2);
    let prompt = prompt_height(wanted.prompt, text);
    let transcript = text.saturating_sub(prompt).max(1);
    let first = lines.saturating_sub(whole) / 2;
    Floats {
        width,
        column: columns.saturating_sub(width + 2) / 2,
        transcript: Rows { first, count: transcript },
        prompt: Rows { first: first + transcript + 2, count: prompt },
    }
}

/// Which share of the screen a chat at an edge keeps.
pub fn share(part: u16, whole: u16) -> Option<f32> {
    let share = f32::from(part) / f32::from(whole.max(1));
    (share < NEARLY_ALL).then_some(share)
}

/// So many cells are a share of them all.
pub fn part(whole: u16, share: f32) -> u16 {
    // A share is below one, so this fits.
    (f32::from(whole) * share).round() as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted = Wanted { width: None, height: None, prompt: 6 };

    #[test]
    fn a_prompt_has_what_it_wants_as_long_as_most_is_the_transcripts() {
        for (wanted, whole, expected) in
            [(6, 40, 6), (6, 15, 6), (6, 14, 5), (6, 10, 4), (6, 3, 1), (6, 2, 1), (6, 0, 1), (1, 40, 1)]
        {
            assert_eq!(prompt_height(wanted, whole), expected, "{wanted} of {whole}");
        }
    }

    #[test]
    fn floating_windows_are_in_the_middle_and_no_wider_than_one_reads() {
        let found = floats(120, 39, WANTED);
        let transcript = Rows { first: 4, count: 21 };
        let prompt = Rows { first: 27, count: 6 };
        assert_eq!(found, Floats { width: 100, column: 9, transcript, prompt });
    }

    #[test]
    fn floating_windows_have_the_size_that_the_user_wants() {
        let found = floats(120, 39, Wanted { width: Some(60), height: Some(20), prompt: 3 });
        let transcript = Rows { first: 9, count: 13 };
        let prompt = Rows { first: 24, count: 3 };
        assert_eq!(found, Floats { width: 60, column: 29, transcript, prompt });
    }

    #[test]
    fn floating_windows_stay_on_any_screen_that_has_room_for_them() {
        for columns in 3..200 {
            for lines in 6..80 {
                for wanted in [WANTED, Wanted { width: Some(columns), height: Some(lines), prompt: 30 }] {
                    let found = floats(columns, lines, wanted);
                    let last = found.prompt.first + found.prompt.count + 2;
                    assert!(last <= lines, "{found:?} in {columns} x {lines}");
                    assert!(found.column + found.width + 2 <= columns, "{found:?} in {columns} x {lines}");
                    assert!(found.transcript.count >= 1 && found.prompt.count >= 1);
                    assert_eq!(found.transcript.first + found.transcript.count + 2, found.prompt.first);
                }
            }
        }
    }

    #[test]
    fn the_smallest_screen_is_no_reason_to_fail() {
        for (columns, lines) in [(0, 0), (1, 1), (2, 3), (3, 5)] {
            let found = floats(columns, lines, WANTED);
            assert!(found.width >= 1 && found.transcript.count >= 1 && found.prompt.count >= 1);
        }
    }

    #[test]
    fn a_share_is_kept_over_sizes_and_back() {
        let kept = share(40, 120).expect("a third");
        assert_eq!(part(60, kept), 20);
        assert_eq!(part(120, kept), 40);
        assert_eq!(part(0, kept), 0);
    }

    #[test]
    fn a_chat_that_has_all_of_the_screen_keeps_what_it_had() {
        assert_eq!(share(120, 120), None);
        assert_eq!(share(117, 120), None);
        assert!(share(116, 120).is_some());
        assert_eq!(share(5, 0), None);
    }
}
