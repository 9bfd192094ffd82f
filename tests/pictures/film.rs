//! An animated picture: one SVG from a list of shots. Each part of the screen is in the file once, however
//! many shots show it, and CSS keyframes show and hide it. Where the reader wants no motion, or the viewer
//! knows no animation, one of the shots is shown.

use std::collections::HashMap;
use std::hash::Hash;

use super::paint::{self, Palette};
use super::screen::Screen;

pub struct Shot {
    pub screen: Screen,
    /// How long it is shown.
    pub millis: u32,
}

/// A range of shots, by their numbers; the second is not part of it.
type Span = (usize, usize);

/// `still` is the shot for viewers without animation.
pub fn film(title: &str, shots: &[Shot], still: usize) -> String {
    let mut palette = Palette::default();
    let mut strips = Seen::default();
    let mut cursors = Seen::default();
    for (number, shot) in shots.iter().enumerate() {
        for strip in paint::strips(&shot.screen, &mut palette) {
            strips.show(strip, number);
        }
        cursors.show(paint::cursor(&shot.screen, &mut palette), number);
    }
    let mut clock = Clock::new(shots, still);
    let mut shapes: HashMap<&str, usize> = HashMap::new();
    let mut defined = String::new();
    let mut content = String::new();
    for (strip, spans) in &strips.in_order {
        let next = shapes.len();
        let shape = *shapes.entry(&strip.markup).or_insert(next);
        if shape == next {
            defined.push_str(&format!("<g id=\"s{shape}\">{}</g>\n", strip.markup));
        }
        let ((x, y), class) = (strip.corner(), clock.class(spans));
        content.push_str(&format!("<use href=\"#s{shape}\" x=\"{x}\" y=\"{y}\"{class}/>\n"));
    }
    for (cursor, spans) in &cursors.in_order {
        content.push_str(&format!("<g{}>{cursor}</g>\n", clock.class(spans)));
    }
    let css = format!("{}\n{}", palette.css(), clock.css());
    paint::frame(title, &shots[still].screen, &css, &format!("<defs>\n{defined}</defs>\n{content}"))
}

/// Which shots show what, in the order of first appearance.
struct Seen<T> {
    in_order: Vec<(T, Vec<Span>)>,
    places: HashMap<T, usize>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { in_order: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Seen<T> {
    fn show(&mut self, what: T, shot: usize) {
        let next = self.in_order.len();
        let place = *self.places.entry(what.clone()).or_insert(next);
        if place == next {
            self.in_order.push((what, Vec::new()));
        }
        let spans = &mut self.in_order[place].1;
        match spans.last_mut() {
            Some((_, end)) if *end >= shot => *end = shot + 1,
            _ => spans.push((shot, shot + 1)),
        }
    }
}

/// Turns ranges of shots into CSS classes.
struct Clock {
    /// When each shot begins, in milliseconds, and when the last one ends.
    begins: Vec<u32>,
    still: usize,
    classes: HashMap<Vec<Span>, usize>,
    rules: String,
}

impl Clock {
    fn new(shots: &[Shot], still: usize) -> Self {
        let mut begins = vec![0];
        begins.extend(shots.iter().scan(0, |end, shot| {
            *end += shot.millis;
            Some(*end)
        }));
        Self { begins, still, classes: HashMap::new(), rules: String::new() }
    }

    /// The number of shots.
    fn shots(&self) -> usize {
        self.begins.len() - 1
    }

    /// The attribute of something that is shown in these spans, after a blank; nothing if it is always shown.
    fn class(&mut self, spans: &[Span]) -> String {
        if spans == [(0, self.shots())] {
            return String::new();
        }
        let next = self.classes.len();
        let number = *self.classes.entry(spans.to_vec()).or_insert(next);
        if number == next {
            self.add_rule(number, spans);
        }
        let stands = spans.iter().any(|&(begin, end)| (begin..end).contains(&self.still));
        format!(r#" class="k{} k{number}""#, if stands { " s" } else { "" })
    }

    fn add_rule(&mut self, number: usize, spans: &[Span]) {
        let shown: Vec<_> = spans.iter().map(|span| self.percent(span.0)).collect();
        let ends = spans.iter().map(|span| span.1).filter(|end| *end < self.shots());
        let begins_hidden = (spans[0].0 > 0).then_some(0);
        let hidden: Vec<_> = begins_hidden.into_iter().chain(ends).map(|shot| self.percent(shot)).collect();
        self.rules.push_str(&format!(
            ".k{number}{{animation-name:k{number}}}@keyframes k{number}{{{}{{visibility:hidden}}{}{{visibility:visible}}}}\n",
            hidden.join(","),
            shown.join(","),
        ));
    }

    /// When a shot begins, as keyframes name it.
    fn percent(&self, shot: usize) -> String {
        let share = f64::from(self.begins[shot]) / f64::from(self.begins[self.shots()]);
        let percent = format!("{:.3}", share * 100.0);
        format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
    }

    fn css(&self) -> String {
        let millis = self.begins[self.shots()];
        format!(
            ".k{{visibility:hidden;animation:{millis}ms step-end infinite}}.s{{visibility:visible}}\n\
             {}@media (prefers-reduced-motion:reduce){{.k{{animation:none}}}}",
            self.rules
        )
    }
}
