//! Dates of the Gregorian calendar as days since 1970, and back. By Howard Hinnant's civil_from_days and
//! days_from_civil: years that begin in March have their leap day at the end. The demo agent uses this, too, so it names
//! nothing else of this program.

/// Year, month and day, the latter two from 1, of a day that is so many days after 1970-01-01.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// How many days after 1970-01-01 a date is.
pub fn days_until(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leaps + (153 * month + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days_and_back() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (19_675, (2023, 11, 14)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            let (year, month, day) = date;
            assert_eq!((date_of(days), days_until(year, month, day)), (date, days));
        }
        assert!((-200_000..200_000).all(|days| {
            let (year, month, day) = date_of(days);
            days_until(year, month, day) == days
        }));
    }
}
