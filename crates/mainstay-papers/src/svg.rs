//! Panels of lines, bars or cells as one SVG; no script, no font, no network.

use mainstay_report::svg::{Element, path};

use crate::chart::{Chart, Kind};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 270.0;
/// Space of a panel around its plot: left, top, right, bottom.
const MARGIN: [f64; 4] = [58.0, 34.0, 14.0, 42.0];
const LEGEND: f64 = 14.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#999933"];

/// All panels, three in a line (four: two and two).
pub(crate) fn render(title: &str, charts: &[Chart]) -> String {
    let columns = if charts.len() == 4 { 2 } else { charts.len().clamp(1, 3) };
    let legend = charts.iter().map(|c| legend_lines(c) as f64 * LEGEND).fold(0.0, f64::max);
    let panel = HEIGHT + legend;
    let (width, height) =
        (columns as f64 * WIDTH, charts.len().div_ceil(columns).max(1) as f64 * panel);
    let mut out = Element::new("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("viewBox", &format!("0 0 {width} {height}"))
        .at("width", width)
        .at("height", height)
        .attr("font-family", "sans-serif")
        .attr("font-size", "11")
        .attr("role", "img")
        .child(&Element::new("title").text(title))
        .child(&Element::rect((0.0, 0.0), width, height).attr("fill", "white"));
    for (k, chart) in charts.iter().enumerate() {
        let (x, y) = ((k % columns) as f64 * WIDTH, (k / columns) as f64 * panel);
        let mut group = Element::new("g").attr("transform", &format!("translate({x},{y})"));
        match chart.kind {
            Kind::Heat => heat(&mut group, chart),
            Kind::Lines | Kind::Bars => plot(&mut group, chart),
        }
        out.push(&group);
    }
    out.render() + "\n"
}

fn legend_lines(chart: &Chart) -> usize {
    if chart.kind == Kind::Heat { 0 } else { chart.series.len().div_ceil(2) }
}

/// An axis: data to pixels, with its marks.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

impl Axis {
    fn new(values: impl Iterator<Item = f64>, from: f64, to: f64, log: bool, pad: f64) -> Self {
        let values = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (mut low, mut high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (if log { 0.1 } else { 0.0 }, 1.0);
        }
        if log {
            (low, high) = (low / 1.15, high * 1.15);
        } else {
            let room = if high > low { pad * (high - low) } else { 0.5 * high.abs().max(1.0) };
            (low, high) = (low - room, high + room);
        }
        Self { low, high, from, to, log }
    }

    fn place(&self, v: f64) -> f64 {
        let f = |v: f64| if self.log { v.max(1e-300).ln() } else { v };
        let share = (f(v) - f(self.low)) / (f(self.high) - f(self.low));
        self.from + share * (self.to - self.from)
    }

    fn marks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let mut marks = Vec::new();
            let mut power = 10f64.powf(self.low.log10().floor());
            while power <= self.high {
                marks.extend(steps.iter().map(|s| s * power));
                power *= 10.0;
            }
            marks.retain(|m| (self.low..=self.high).contains(m));
            return marks;
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .iter()
            .map(|s| s * power)
            .find(|s| *s >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..12).map(|k| (first + f64::from(k)) * step).filter(|m| *m <= self.high).collect()
    }
}

fn number(v: f64) -> String {
    let rounded = format!("{v:.4}");
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    if v != 0.0 && (v.abs() < 1e-3 || v.abs() >= 1e6) {
        format!("{v:e}")
    } else if short == "-0" {
        "0".into()
    } else {
        short.into()
    }
}

/// Words that start, end or have their middle at a place.
fn text(place: (f64, f64), anchor: &str, words: &str) -> Element {
    Element::words(place, words).attr("text-anchor", anchor)
}

/// The name of the vertical axis.
fn upright(out: &mut Element, words: &str) {
    let middle = f64::midpoint(MARGIN[1], HEIGHT - MARGIN[3]);
    let turned = format!("rotate(-90 14 {middle})");
    out.push(&text((14.0, middle), "middle", words).attr("transform", &turned));
}

fn frame(out: &mut Element, chart: &Chart) {
    let [left, top, right, bottom] = MARGIN;
    out.push(&text((WIDTH / 2.0, 20.0), "middle", &chart.title).attr("font-weight", "bold"));
    upright(out, &chart.y);
    let below = (f64::midpoint(left, WIDTH - right), HEIGHT - 11.0);
    out.push(&text(below, "middle", &chart.x));
    let (w, h) = (WIDTH - left - right, HEIGHT - top - bottom);
    out.push(&Element::rect((left, top), w, h).attr("fill", "none").attr("stroke", "#888"));
}

fn group_names(out: &mut Element, chart: &Chart, place: impl Fn(f64) -> f64) {
    let longest = chart.groups.iter().map(String::len).max().unwrap_or(0);
    let crowded = longest * chart.groups.len() > 48;
    for (k, name) in chart.groups.iter().enumerate() {
        let (x, y) = (place(k as f64), HEIGHT - MARGIN[3] + 14.0);
        if crowded {
            let turned = format!("rotate(-35 {x:.1} {y:.1})");
            let name = text((x + 4.0, y - 4.0), "end", name).attr("font-size", "8");
            out.push(&name.attr("transform", &turned));
        } else {
            out.push(&text((x, y), "middle", name));
        }
    }
}

fn plot(out: &mut Element, chart: &Chart) {
    let [left, top, right, bottom] = MARGIN;
    frame(out, chart);
    let points = || chart.series.iter().flat_map(crate::chart::Series::known);
    let bars = chart.kind == Kind::Bars;
    let zero = bars.then_some(0.0).filter(|_| !chart.log);
    let values = points().map(|p| p.1).chain(zero);
    let y = Axis::new(values, HEIGHT - bottom, top, chart.log, 0.06);
    let groups = chart.groups.len();
    let x = if groups > 0 {
        let ends = [-0.5, groups as f64 - 0.5];
        Axis::new(ends.into_iter(), left, WIDTH - right, false, 0.0)
    } else {
        Axis::new(points().map(|p| p.0), left, WIDTH - right, false, 0.04)
    };
    for mark in y.marks() {
        let at = y.place(mark);
        out.push(&Element::line((left, at), (WIDTH - right, at)).attr("stroke", "#e4e4e4"));
        out.push(&text((left - 5.0, at + 4.0), "end", &number(mark)));
    }
    if groups > 0 {
        group_names(out, chart, |v| x.place(v));
    } else {
        for mark in x.marks() {
            out.push(&text((x.place(mark), HEIGHT - bottom + 14.0), "middle", &number(mark)));
        }
    }
    for (k, series) in chart.series.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        if bars {
            let slot = (x.place(1.0) - x.place(0.0)) * 0.8 / chart.series.len() as f64;
            for (at, value) in series.known() {
                let corner = x.place(at) - 0.5 * slot * chart.series.len() as f64 + slot * k as f64;
                let base = y.place(if chart.log { y.low } else { 0.0 });
                let (high, low) = (y.place(value).min(base), y.place(value).max(base));
                let bar = Element::rect((corner, high), slot, (low - high).max(0.5));
                out.push(&bar.attr("fill", colour));
            }
        } else {
            let places = series.known().map(|(a, b)| (x.place(a), y.place(b))).collect();
            line(out, places, colour);
        }
    }
    legend(out, chart);
}

fn line(out: &mut Element, points: Vec<(f64, f64)>, colour: &str) {
    let through: Vec<Option<(f64, f64)>> = points.iter().copied().map(Some).collect();
    let curve = Element::new("path").attr("d", &path(&through)).attr("fill", "none");
    out.push(&curve.attr("stroke", colour).at("stroke-width", 1.6));
    if points.len() <= 30 {
        for (x, y) in points {
            let dot = Element::new("circle").at("cx", x).at("cy", y).at("r", 2.4);
            out.push(&dot.attr("fill", colour));
        }
    }
}

fn legend(out: &mut Element, chart: &Chart) {
    for (k, series) in chart.series.iter().enumerate() {
        let column = (WIDTH - MARGIN[0]) / 2.0;
        let x = MARGIN[0] + (k % 2) as f64 * column;
        let y = HEIGHT + (k / 2) as f64 * LEGEND + 4.0;
        let colour = COLOURS[k % COLOURS.len()];
        out.push(&Element::rect((x, y - 8.0), 10.0, 8.0).attr("fill", colour));
        out.push(&text((x + 14.0, y), "start", &series.name));
    }
}

fn heat(out: &mut Element, chart: &Chart) {
    let [left, top, right, bottom] = MARGIN;
    frame(out, chart);
    let scale =
        Axis::new(chart.series.iter().flat_map(|s| s.known().map(|p| p.1)), 0.0, 1.0, false, 0.0);
    let columns = chart.groups.len().max(1) as f64;
    let rows = chart.series.len().max(1) as f64;
    let (w, h) = ((WIDTH - left - right) / columns, (HEIGHT - top - bottom) / rows);
    for (r, series) in chart.series.iter().enumerate() {
        let y = HEIGHT - bottom - (r as f64 + 1.0) * h;
        out.push(&text((left - 5.0, y + h / 2.0 + 4.0), "end", &series.name));
        for (c, value) in series.known() {
            let share = scale.place(value).clamp(0.0, 1.0);
            // From dark blue to light yellow.
            let mix = |a: f64, b: f64| a + share * (b - a);
            let (red, green, blue) = (mix(40.0, 255.0), mix(50.0, 240.0), mix(120.0, 160.0));
            let x = left + c * w;
            let fill = format!("rgb({red:.0},{green:.0},{blue:.0})");
            out.push(&Element::rect((x, y), w, h).attr("fill", &fill));
            let ink = if share < 0.45 { "white" } else { "black" };
            let middle = (x + w / 2.0, y + h / 2.0 + 3.0);
            let shown = text(middle, "middle", &format!("{value:.2}"));
            out.push(&shown.attr("font-size", "9").attr("fill", ink));
        }
    }
    group_names(out, chart, |k| left + (k + 0.5) * w);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Series;

    #[test]
    fn every_kind_is_drawn_and_names_are_escaped() {
        let series = || vec![Series::new("a < b", [(0.0, 0.1), (1.0, f64::NAN), (2.0, 10.0)])];
        let names = || vec!["x".to_owned(), "y".into(), "z".into()];
        let charts = vec![
            Chart::lines("lines", "n", "loss", series()).log(),
            Chart::bars("bars", "wins", names(), series()),
            Chart::lines("heat", "xi", "alpha", series()).over(names()).heat(),
            Chart::lines("nothing", "n", "loss", Vec::new()),
        ];
        let found = render("a & b", &charts);
        assert!(found.starts_with("<svg") && found.ends_with("</svg>\n"));
        assert!(found.contains("a &lt; b") && found.contains("a &amp; b"));
        assert!(!found.contains("NaN") && !found.contains("inf"));
        assert_eq!(found.matches("<g ").count(), 4);
    }

    #[test]
    fn marks_are_round_numbers_inside_the_axis() {
        let axis = Axis::new([0.0, 0.97].into_iter(), 0.0, 1.0, false, 0.0);
        let marks = axis.marks();
        assert_eq!(marks.len(), 5);
        assert!((marks[1] - 0.2).abs() < 1e-12 && (marks[4] - 0.8).abs() < 1e-12);
        let axis = Axis::new([1.0, 90.0].into_iter(), 0.0, 1.0, true, 0.0);
        assert_eq!(axis.marks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
    }
}
