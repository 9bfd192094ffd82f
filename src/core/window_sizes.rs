//! How large the windows of a chat are: how a transcript and its prompt divide what both have, where they float,
//! which share of the screen they keep, and whether a change was the user's own or came with other windows. All in
//! cells; which windows there are is left to others.

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

/// Cells of the screen that a window takes, its border left out. Rows and columns are 0-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub row: u16,
    pub column: u16,
    pub width: u16,
    pub height: u16,
}

impl Area {
    fn cells(self) -> u32 {
        u32::from(self.width) * u32::from(self.height)
    }

    fn shared_with(self, other: Self) -> u32 {
        let shared = |at: u16, count: u16, other_at: u16, other_count: u16| {
            (at + count).min(other_at + other_count).saturating_sub(at.max(other_at))
        };
        let width = shared(self.column, self.width, other.column, other.width);
        let height = shared(self.row, self.height, other.row, other.height);
        u32::from(width) * u32::from(height)
    }
}

/// Whether more of a window is behind others, which stand beside each other, than can be seen.
pub fn is_mostly_hidden(window: Area, others: &[Area]) -> bool {
    others.iter().map(|other| window.shared_with(*other)).sum::<u32>() * 2 > window.cells()
}

/// What of a chat's size is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In a column of its own: the width.
    Column,
    /// Above or below everything else: the height of both together.
    Row,
    /// Where another window was: only the prompt's height.
    Inside,
}

/// What could be seen of a chat's windows at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Columns and lines of the editor.
    pub screen: (u16, u16),
    /// The lines of it that are for windows.
    pub free: u16,
    /// Which windows there are, and how they are arranged.
    pub arrangement: String,
    /// How often a window has come or gone so far: all of it may be over before anybody looks.
    pub events: u64,
    /// The user is in a window that has just what 'winwidth' or 'winheight' asks for: entering it resized others.
    pub is_entered: bool,
    pub width: u16,
    pub transcript: u16,
    pub prompt: u16,
    /// What the two have together, with the line between them, and with any window that stands there.
    pub whole: u16,
}

/// Who has changed what is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    Nobody,
    /// Moved the border of a window.
    User,
    /// Windows that came or went, the size of the screen, or a command that makes all windows equal.
    Others,
}

/// What a chat keeps while windows come and go around it: what the user made of it last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Of all columns or lines, depending on where the chat is.
    pub share: Option<f32>,
    pub prompt: u16,
}

/// The sizes to restore; none for what is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    pub width: Option<u16>,
    pub whole: Option<u16>,
    pub prompt: u16,
}

impl Seen {
    /// Who has made `now` of what was seen before.
    pub fn changed_by(&self, now: &Self, placement: Placement) -> ChangedBy {
        if self == now {
            return ChangedBy::Nobody;
        }
        let around = |seen: &Self| (seen.screen, seen.free, seen.events);
        if around(self) != around(now) || self.arrangement != now.arrangement {
            return ChangedBy::Others;
        }
        if now.is_entered && (now.width < self.width || now.whole < self.whole) {
            return ChangedBy::Others;
        }
        // A window elsewhere was resized and took lines from this column, or gave it some.
        if placement != Placement::Row && self.whole != now.whole {
            return ChangedBy::Others;
        }
        // `CTRL-W =` does that where 'winfixheight' cannot be set. Nobody wants a prompt of that height.
        let is_equal = now.transcript.abs_diff(now.prompt) <= 1;
        if is_equal && self.prompt != now.prompt { ChangedBy::Others } else { ChangedBy::User }
    }
}

impl Kept {
    /// The user has resized windows.
    pub fn learn(&mut self, before: &Seen, now: &Seen, placement: Placement) {
        let found = match placement {
            Placement::Column if now.width != before.width => share(now.width, now.screen.0),
            Placement::Row if now.whole != before.whole => share(now.whole, now.screen.1),
            _ => None,
        };
        self.share = found.or(self.share);
        if now.prompt != before.prompt && now.transcript > now.prompt {
            self.prompt = now.prompt;
        }
    }

    /// What the windows are to have, when the text in the prompt takes so many rows.
    pub fn sizes(&self, now: &Seen, placement: Placement, typed: u16) -> Sizes {
        let (columns, lines) = now.screen;
        let of = |all: u16| self.share.map(|share| part(all, share).max(1));
        // A chat that has nothing beside it cannot have another size.
        let width = of(columns).filter(|_| placement == Placement::Column && now.width < columns);
        let whole = of(lines).filter(|_| placement == Placement::Row && now.whole + 1 < now.free);
        Sizes { width, whole, prompt: self.prompt_height(whole.unwrap_or(now.whole), typed) }
    }

    /// The prompt grows with its text.
    pub fn prompt_height(&self, whole: u16, typed: u16) -> u16 {
        prompt_height(self.prompt.max(typed), whole)
    }
}

/// Most of what both have is the transcript's.
pub fn prompt_height(wanted: u16, whole: u16) -> u16 {
    wanted.min(whole * 2 / 5).max(1)
}

/// As many columns as the output of most commands is made for.
const OUTPUT: u16 = 80;

/// Which of these windows a terminal is split off from, by their widths, the best one first: it has room enough, or is
/// the widest.
pub fn beside_terminal(widths: &[u16]) -> Option<usize> {
    let widest = (0..widths.len()).rev().max_by_key(|at| widths[*at])?;
    Some(if widths[0] >= OUTPUT { 0 } else { widest })
}

/// What a terminal's window has of the screen, of lines or of columns, while the screen's size changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfScreen {
    screen: u16,
    size: u16,
    share: Option<f32>,
}

impl OfScreen {
    pub fn new(size: u16, screen: u16) -> Self {
        Self { screen, size, share: share(size, screen) }
    }

    /// The size that the window is to have, where the screen has another one than before.
    pub fn to_have(&self, size: u16, screen: u16) -> Option<u16> {
        let share = self.share.filter(|_| self.screen != screen)?;
        Some(part(screen, share).max(1)).filter(|wanted| *wanted != size)
    }

    /// What is seen now. On a screen as before, somebody has resized the window.
    pub fn seen(&mut self, size: u16, screen: u16) {
        if self.screen == screen && self.size != size {
            self.share = share(size, screen);
        }
        (self.screen, self.size) = (screen, size);
    }
}

/// How many lines the pinned plan has when it needs so many, of those that it and the transcript have together: the
/// transcript is read, so most is left to it.
pub fn plan_height(needed: u16, whole: u16) -> u16 {
    needed.min(LONGEST_PLAN).min((whole / 3).max(SHORTEST_PLAN)).max(1)
}

/// Longer plans are scrolled.
const LONGEST_PLAN: u16 = 12;

/// The title, the step at hand, and the next one.
const SHORTEST_PLAN: u16 = 3;

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
    fn a_terminal_stands_where_most_of_a_line_can_be_read() {
        for (widths, expected) in [
            (&[][..], None),
            (&[1, 32, 40], Some(2)),
            (&[80, 120], Some(0)),
            (&[32, 32], Some(0)),
            (&[9], Some(0)),
        ] {
            assert_eq!(beside_terminal(widths), expected, "{widths:?}");
        }
    }

    #[test]
    fn a_terminal_has_the_same_part_of_every_screen() {
        let mut kept = OfScreen::new(12, 24);
        // It was left with most of a small screen.
        assert_eq!(kept.to_have(10, 14), Some(7));
        kept.seen(7, 14);
        assert_eq!(kept.to_have(7, 14), None);
        assert_eq!(kept.to_have(9, 24), Some(12));
        kept.seen(12, 24);
        // The user's own size counts from then on.
        kept.seen(6, 24);
        assert_eq!(kept.to_have(6, 48), Some(12));
        // What has all of the screen is left as it is.
        assert_eq!(OfScreen::new(24, 24).to_have(20, 14), None);
    }

    #[test]
    fn a_pinned_plan_leaves_most_of_its_column_to_the_transcript() {
        for (needed, whole, expected) in
            [(5, 16, 5), (13, 16, 5), (13, 30, 10), (13, 60, 12), (2, 60, 2), (8, 7, 3), (0, 16, 1)]
        {
            assert_eq!(plan_height(needed, whole), expected, "{needed} of {whole}");
        }
    }

    #[test]
    fn a_window_is_hidden_when_more_of_it_is_behind_others_than_can_be_seen() {
        let area = |row, column, width, height| Area { row, column, width, height };
        let window = area(10, 20, 40, 10);
        assert!(!is_mostly_hidden(window, &[]));
        assert!(!is_mostly_hidden(window, &[area(0, 0, 100, 10), area(0, 60, 10, 40), area(20, 0, 100, 5)]));
        assert!(!is_mostly_hidden(window, &[area(0, 0, 40, 40)]), "half of it");
        assert!(is_mostly_hidden(window, &[area(0, 0, 41, 40)]));
        assert!(is_mostly_hidden(window, &[area(0, 0, 41, 14), area(14, 0, 41, 30)]), "both together");
    }

    fn seen(arrangement: &str, width: u16, transcript: u16, prompt: u16) -> Seen {
        let whole = transcript + prompt + 1;
        let (screen, free) = ((120, 40), 39);
        Seen {
            screen,
            free,
            arrangement: arrangement.to_owned(),
            events: 0,
            is_entered: false,
            width,
            transcript,
            prompt,
            whole,
        }
    }

    #[test]
    fn a_border_that_the_user_moves_is_kept() {
        let before = seen("a", 60, 32, 5);
        for (now, share, prompt) in [
            (seen("a", 60, 29, 8), 0.5, 8),
            (seen("a", 60, 35, 2), 0.5, 2),
            (seen("a", 40, 32, 5), 1.0 / 3.0, 5),
        ] {
            assert_eq!(before.changed_by(&now, Placement::Column), ChangedBy::User, "{now:?}");
            let mut kept = Kept { share: Some(0.5), prompt: 5 };
            kept.learn(&before, &now, Placement::Column);
            assert_eq!(kept, Kept { share: Some(share), prompt });
        }
    }

    #[test]
    fn a_prompt_that_fills_the_chat_for_a_while_is_not_kept() {
        let (before, now) = (seen("a", 60, 32, 5), seen("a", 60, 1, 36));
        assert_eq!(before.changed_by(&now, Placement::Column), ChangedBy::User);
        let mut kept = Kept { share: Some(0.5), prompt: 5 };
        kept.learn(&before, &now, Placement::Column);
        assert_eq!(kept.prompt, 5);
    }

    #[test]
    fn what_other_windows_do_to_a_chat_is_not_the_users_wish() {
        let before = seen("a", 60, 32, 5);
        let smaller = Seen { screen: (40, 10), free: 9, ..seen("a", 20, 4, 3) };
        for (now, what) in [
            (seen("b", 60, 8, 29), "another window"),
            (Seen { events: 2, ..seen("a", 60, 8, 29) }, "a window that is gone again"),
            (Seen { is_entered: true, ..seen("a", 40, 32, 5) }, "a window that was entered"),
            (smaller, "another screen"),
            (seen("a", 60, 10, 5), "a window below that was resized"),
            (seen("a", 60, 18, 19), "all windows made equal"),
        ] {
            assert_eq!(before.changed_by(&now, Placement::Column), ChangedBy::Others, "{what}");
        }
        assert_eq!(before.changed_by(&before.clone(), Placement::Column), ChangedBy::Nobody);
        // What is entered takes from others and gives nothing: here the user has made it as small as that.
        let now = Seen { is_entered: true, ..seen("a", 99, 32, 5) };
        assert_eq!(before.changed_by(&now, Placement::Column), ChangedBy::User);
    }

    #[test]
    fn a_chat_below_everything_keeps_the_height_that_the_user_gave_it() {
        let before = seen("a", 120, 14, 5);
        let now = seen("a", 120, 9, 5);
        assert_eq!(before.changed_by(&now, Placement::Row), ChangedBy::User);
        let mut kept = Kept { share: Some(0.5), prompt: 5 };
        kept.learn(&before, &now, Placement::Row);
        assert_eq!(kept.sizes(&seen("b", 120, 20, 5), Placement::Row, 1).whole, Some(15));
    }

    #[test]
    fn sizes_are_restored_but_for_a_chat_that_stands_alone() {
        let kept = Kept { share: Some(0.25), prompt: 5 };
        let sizes = |now: &Seen, placement| kept.sizes(now, placement, 1);
        let prompt = 5;
        let squeezed = seen("b", 60, 8, 29);
        assert_eq!(sizes(&squeezed, Placement::Column), Sizes { width: Some(30), whole: None, prompt });
        assert_eq!(sizes(&squeezed, Placement::Inside), Sizes { width: None, whole: None, prompt });
        assert_eq!(
            sizes(&seen("c", 120, 8, 29), Placement::Column),
            Sizes { width: None, whole: None, prompt }
        );
        let alone = seen("c", 120, 32, 5);
        assert_eq!(sizes(&alone, Placement::Row), Sizes { width: None, whole: None, prompt });
        // Of ten lines the prompt has no more than four.
        assert_eq!(
            sizes(&seen("b", 120, 20, 5), Placement::Row),
            Sizes { width: None, whole: Some(10), prompt: 4 }
        );
    }

    #[test]
    fn a_prompt_grows_with_its_text_up_to_its_part_of_the_chat() {
        let kept = Kept { share: None, prompt: 5 };
        for (typed, whole, expected) in [(1, 38, 5), (5, 38, 5), (9, 38, 9), (60, 38, 15), (9, 16, 6)] {
            assert_eq!(kept.prompt_height(whole, typed), expected, "{typed} rows in {whole}");
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
