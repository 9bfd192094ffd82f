//! Where a small window stands beside the lines of text that it is about: below them or above them, and never over them
//! as long as there is room. Finding out where the lines are on the screen is left to the editor's side.

use std::ops::Range;

/// The first row of a window of so many rows, its border included. `lines` are rows of a screen that has `rows` of them
/// for windows; all are counted from 0.
pub fn first_row(lines: &Range<usize>, height: usize, rows: usize) -> usize {
    let is_room_below = lines.end + height <= rows;
    match lines.start.checked_sub(height) {
        _ if is_room_below => lines.end,
        Some(above) => above,
        // It covers what it must: the last lines, or the first where more of the others can be seen then.
        None if lines.start > rows.saturating_sub(lines.end) => 0,
        None => rows.saturating_sub(height),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_stands_below_its_lines_else_above_them_else_where_it_covers_least() {
        for (lines, row) in
            [(2..3, 3), (1..6, 6), (14..15, 15), (15..16, 7), (10..20, 2), (0..23, 15), (6..23, 0)]
        {
            assert_eq!(first_row(&lines, 8, 23), row, "{lines:?}");
        }
        assert_eq!(first_row(&(0..1), 8, 5), 0, "a screen that is lower than the window");
    }
}
