//! Whether text can be read before a background, and the colour closest to it that can: the contrast ratio of the
//! WCAG, where 4.5 is enough for text. Which groups have which colours is left to the editor's side.

/// The least contrast of text.
pub const MIN_CONTRAST: f64 = 4.5;

/// Rounding to whole numbers takes a little away.
const AIMED_AT: f64 = 4.55;

/// Between a colour and black or white.
const STEPS: u32 = 32;

/// From 1 to 21. Colours are `0xrrggbb`.
pub fn ratio(one: u32, other: u32) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(colour: u32) -> f64 {
    let [red, green, blue] = channels(colour).map(|channel| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn channels(colour: u32) -> [u32; 3] {
    [colour >> 16 & 0xff, colour >> 8 & 0xff, colour & 0xff]
}

/// The least contrast of a colour to any of the others.
pub fn least(colour: u32, others: &[u32]) -> f64 {
    others.iter().map(|other| ratio(colour, *other)).fold(f64::MAX, f64::min)
}

/// A colour that stands out from the others, as little changed as possible: nearer to black, or to white.
pub fn readable(colour: u32, others: &[u32]) -> u32 {
    if least(colour, others) >= MIN_CONTRAST {
        return colour;
    }
    let end = if least(0xff_ffff, others) >= least(0, others) { 255 } else { 0 };
    let mixed = |step: u32| {
        let mix = |channel: u32| (channel * (STEPS - step) + end * step) / STEPS;
        channels(colour).into_iter().fold(0, |mixed, channel| mixed << 8 | mix(channel))
    };
    let good = (1..=STEPS).map(mixed).find(|mixed| least(*mixed, others) >= AIMED_AT);
    good.unwrap_or(mixed(STEPS))
}

/// The same among the 256 colours of a terminal.
pub fn readable_of_256(colour: u8, others: &[u8]) -> u8 {
    let others: Vec<u32> = others.iter().map(|other| of_256(*other)).collect();
    let wanted = of_256(colour);
    if least(wanted, &others) >= MIN_CONTRAST {
        return colour;
    }
    let wanted = readable(wanted, &others);
    // The first sixteen are the user's own.
    let good = (16..=255).filter(|number| least(of_256(*number), &others) >= MIN_CONTRAST);
    good.min_by_key(|number| distance(of_256(*number), wanted)).unwrap_or(colour)
}

fn distance(one: u32, other: u32) -> u32 {
    channels(one).iter().zip(channels(other)).map(|(one, other)| one.abs_diff(other).pow(2)).sum()
}

/// What a terminal shows for a number: xterm's sixteen colours, its cube and its greys.
pub fn of_256(number: u8) -> u32 {
    const SIXTEEN: [u32; 16] = [
        0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5, 0x7f_7f7f,
        0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
    ];
    const LEVELS: [u32; 6] = [0, 0x5f, 0x87, 0xaf, 0xd7, 0xff];
    match number {
        0..16 => SIXTEEN[usize::from(number)],
        16..232 => {
            let at = usize::from(number - 16);
            LEVELS[at / 36] << 16 | LEVELS[at / 6 % 6] << 8 | LEVELS[at % 6]
        }
        232.. => (u32::from(number - 232) * 10 + 8) * 0x1_0101,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn contrast_is_what_the_standard_says() {
        assert!((ratio(0, 0xff_ffff) - 21.0).abs() < 0.01);
        assert!((ratio(0x77_7777, 0xff_ffff) - 4.48).abs() < 0.01);
        assert!((ratio(0x12_3456, 0x12_3456) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_colour_that_can_be_read_stays() {
        assert_eq!(readable(0x9b_9ea4, &[0x14_161b]), 0x9b_9ea4);
        assert_eq!(readable_of_256(10, &[16]), 10);
    }

    #[test]
    fn a_colour_keeps_its_hue() {
        let [red, green, blue] = channels(readable(0xaa_2020, &[0x1c_1c1c]));
        assert!(red > green && green == blue, "{red} {green} {blue}");
    }

    #[test]
    fn the_numbers_of_a_terminal_are_those_of_xterm() {
        assert_eq!((of_256(9), of_256(16), of_256(208), of_256(231)), (0xff_0000, 0, 0xff_8700, 0xff_ffff));
        assert_eq!((of_256(232), of_256(255)), (0x08_0808, 0xee_eeee));
    }

    proptest! {
        #[test]
        fn any_colour_can_be_made_readable_before_any_other(colour in 0..0x100_0000_u32, behind in 0..0x100_0000_u32) {
            prop_assert!(ratio(readable(colour, &[behind]), behind) >= MIN_CONTRAST);
        }

        #[test]
        fn so_can_any_number_of_a_terminal(colour in any::<u8>(), behind in any::<u8>()) {
            prop_assert!(ratio(of_256(readable_of_256(colour, &[behind])), of_256(behind)) >= MIN_CONTRAST);
        }
    }
}
