//! A few lines that write SVG: every attribute and text is escaped, every number is finite.

use std::fmt::Write as _;

/// One element with its attributes and children.
#[derive(Debug, Clone)]
#[must_use]
pub struct Element {
    name: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    /// An element without attributes or children.
    pub fn new(name: &'static str) -> Self {
        Self { name, attributes: String::new(), content: String::new() }
    }

    /// A group of a class.
    pub fn group(class: &str) -> Self {
        Self::new("g").attr("class", class)
    }

    /// A straight line.
    pub fn line(from: (f64, f64), to: (f64, f64)) -> Self {
        Self::new("line").at("x1", from.0).at("y1", from.1).at("x2", to.0).at("y2", to.1)
    }

    /// A rectangle.
    pub fn rect(corner: (f64, f64), width: f64, height: f64) -> Self {
        Self::new("rect")
            .at("x", corner.0)
            .at("y", corner.1)
            .at("width", width.max(0.0))
            .at("height", height.max(0.0))
    }

    /// Words at a place.
    pub fn words(place: (f64, f64), words: &str) -> Self {
        Self::new("text").at("x", place.0).at("y", place.1).text(words)
    }

    /// With one more attribute.
    pub fn attr(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.attributes, " {name}=\"");
        escape(value, &mut self.attributes);
        self.attributes.push('"');
        self
    }

    /// A coordinate or length.
    pub fn at(self, name: &str, value: f64) -> Self {
        self.attr(name, &coordinate(value))
    }

    /// With a class.
    pub fn class(self, class: &str) -> Self {
        self.attr("class", class)
    }

    /// With these words inside.
    pub fn text(mut self, text: &str) -> Self {
        escape(text, &mut self.content);
        self
    }

    /// With one more element inside.
    pub fn child(mut self, child: &Self) -> Self {
        self.push(child);
        self
    }

    /// Takes one more element inside.
    pub fn push(&mut self, child: &Self) {
        child.write(&mut self.content);
    }

    fn write(&self, out: &mut String) {
        let Self { name, attributes, content } = self;
        // An end tag always: the page is HTML, where only some parsers close elements by themselves.
        let _ = write!(out, "<{name}{attributes}>{content}</{name}>");
    }

    /// As text.
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }
}

/// A path through points; a gap starts a new piece.
pub fn path(points: &[Option<(f64, f64)>]) -> String {
    let mut out = String::new();
    let mut pen_down = false;
    for point in points {
        if let Some((x, y)) = point {
            let letter = if pen_down { 'L' } else { 'M' };
            let _ = write!(out, "{letter}{} {}", coordinate(*x), coordinate(*y));
        }
        pen_down = point.is_some();
    }
    out
}

/// Hundredths of a unit are finer than any screen.
fn coordinate(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_text_cannot_break_out() {
        let element = Element::new("text").attr("aria-label", "\"><b>").text("</text><script>");
        assert_eq!(
            element.render(),
            "<text aria-label=\"&quot;&gt;&lt;b&gt;\">&lt;/text&gt;&lt;script&gt;</text>"
        );
    }

    #[test]
    fn coordinates_are_finite_and_short() {
        assert_eq!(coordinate(1.0 / 3.0), "0.33");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(f64::NAN), "0");
        assert_eq!(
            path(&[Some((0.0, 1.0)), Some((2.0, 3.5)), None, Some((4.0, 0.0))]),
            "M0 1L2 3.5M4 0"
        );
    }
}
