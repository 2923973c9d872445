//! Tooltips inside a drawing: a box with a heading and a few lines, shown by the style sheet.

use crate::story::Emphasis;
use crate::svg::Element;
use crate::text;

const LINE: f64 = 16.0;
const WIDTH: f64 = 216.0;
/// More lines than this are counted instead of shown.
const MOST: usize = 9;

/// What a tooltip says, and where.
#[derive(Debug)]
pub(crate) struct Tip {
    heading: String,
    rows: Vec<(Emphasis, String, String)>,
    /// The place it explains; the box goes beside it.
    anchor: (f64, f64),
}

impl Tip {
    pub(crate) fn new(anchor: (f64, f64), heading: String) -> Self {
        Self { heading, rows: Vec::new(), anchor }
    }

    pub(crate) fn row(
        mut self,
        part: Emphasis,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.rows.push((part, name.into(), value.into()));
        self
    }

    /// All of it as one sentence.
    pub(crate) fn spoken(&self) -> String {
        let rows = self.rows.iter().take(MOST).map(|(_, name, value)| format!("{name} {value}"));
        format!("{}: {}", self.heading, rows.collect::<Vec<_>>().join("; "))
    }

    /// Drawn inside a page of this size.
    pub(super) fn draw(&self, page: (f64, f64)) -> Element {
        let shown = self.rows.len().min(MOST);
        let hidden = self.rows.len() - shown;
        let lines = 1 + shown + usize::from(hidden > 0);
        let height = lines as f64 * LINE + 12.0;
        let right = self.anchor.0 + 12.0;
        let x = if right + WIDTH <= page.0 { right } else { self.anchor.0 - 12.0 - WIDTH };
        let x = x.clamp(0.0, (page.0 - WIDTH).max(0.0));
        let y = (self.anchor.1 - height / 2.0).clamp(0.0, (page.1 - height).max(0.0));
        let mut tip =
            Element::group("tip").child(&Element::rect((x, y), WIDTH, height).at("rx", 5.0));
        let baseline = |k: usize| y + 4.0 + LINE * (k as f64 + 0.8);
        let heading = text::shorten(&self.heading, 28);
        tip.push(&Element::words((x + 8.0, baseline(0)), &heading).class("heading"));
        for (k, (part, name, value)) in self.rows.iter().take(shown).enumerate() {
            let room = 32usize.saturating_sub(value.chars().count()).max(8);
            let name = text::shorten(name, room);
            let class = format!("name {}", part.class());
            tip.push(&Element::words((x + 8.0, baseline(k + 1)), &name).class(&class));
            tip.push(&Element::words((x + WIDTH - 8.0, baseline(k + 1)), value).class("value"));
        }
        if hidden > 0 {
            let more = format!("and {hidden} more in the table below");
            tip.push(&Element::words((x + 8.0, baseline(shown + 1)), &more).class("name other"));
        }
        tip
    }
}
