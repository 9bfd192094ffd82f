//! The head of a hunk in a unified diff, `@@ -12,3 +12,4 @@`. What follows it is read elsewhere.

/// How many lines of the old and of the new text follow, by what stands after the minus: `12,3 +12,4 @@`.
pub fn counts(ranges: &str) -> Option<(usize, usize)> {
    let (ranges, _) = ranges.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    Some((count(old)?, count(new)?))
}
