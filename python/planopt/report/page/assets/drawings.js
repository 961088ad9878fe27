// The kinds of drawing. Each takes figures of a plan and gives a figure with the numbers behind it.
const LABEL = 132;

/** A figure with its table, for those who cannot see it. */
function figure(sentence, draw, columns, rows) {
  const cells = (row) => row.map((cell, at) => html(at ? "td" : "th", { class: at && "number", scope: at ? null : "row" }, cell));
  const table = html("table", {}, html("thead", {}, html("tr", {}, columns.map((each, at) => html("th", { scope: "col", class: at &&
        "number" }, each)))),
    html("tbody", {}, rows.map((row) => html("tr", {}, cells(row)))));
  return html("figure", {}, drawing(sentence, draw),
    html("details", {}, html("summary", {}, "Figures"), html("div", { class: "scroll" }, table)));
}

/** Asked, predicted and interval on one axis from 0; what is outside of the promise is hatched. */
function intervalBar({ predicted, low, high, asked, least, most, sentence }) {
  const top = most ?? Math.max(high ?? 0, predicted ?? 0, asked ?? 0) * 1.1;
  return drawing(sentence, (width) => {
    const x = linear(0, top, 4, width - 4),
      parts = [];
    const id = `hatch-${hatches += 1}`;
    if (known(asked)) {
      const [from, to] = least ? [x(asked), width - 4] : [4, x(asked)];
      parts.push(rect(from, 5, to - from, 14, { fill: "var(--good-tint)" }));
    }
    parts.push(line(4, 12, width - 4, 12));
    if (known(low) && known(high) && high > low) {
      const [start, end] = [x(low), x(high)];
      const edge = known(asked) ? Math.min(Math.max(x(asked), start), end) : least ? start : end;
      const [inside, outside] = least ? [
        [edge, end],
        [start, edge]
      ] : [
        [start, edge],
        [edge, end]
      ];
      parts.push(svg("defs", {}, hatch(id, "var(--warn)")));
      parts.push(rect(inside[0], 8, inside[1] - inside[0], 8, { fill: series(1), opacity: 0.55 }));
      parts.push(rect(outside[0], 8, outside[1] - outside[0], 8, { fill: `url(#${id})` }));
    }
    if (known(asked)) parts.push(line(x(asked), 2, x(asked), 22, { class: "mark" }));
    if (known(predicted)) parts.push(svg("circle", { cx: x(predicted), cy: 12, r: 4, fill: series(1),
    stroke: "var(--panel)", "stroke-width": 1.5 }));
    return { height: 24, parts };
  });
}
let hatches = 0;

/** Parts of a whole in one bar, with a mark where the whole may end: `[{name, figure, place}]`. */
function stacked(sentence, parts, { end, mark, inside } = {}) {
  const whole = end ?? parts.reduce((sum, part) => sum + part.figure, 0);
  return drawing(sentence, (width) => {
    const x = linear(0, whole, 0, width),
      found = [rect(0, 2, width, 26, { fill: "var(--tint)", rx: 2 })];
    let from = 0;
    for (const part of parts) {
      const [start, stop] = [x(from), x(from + part.figure)];
      found.push(rect(start, 2, stop - start - (stop - start > 3 ? 1 : 0), 26, { fill: series(part.place) }));
      if (inside && stop - start > 56) found.push(text(start + 8, 19, inside(
      part), { style: `fill:${onSeries(part.place)};font-weight:600` }));
      from += part.figure;
    }
    if (mark) found.push(line(x(mark.at) - 0.75, 0, x(mark.at) - 0.75, 32, { class: "mark" }), text(width, 46, mark
    .said, { "text-anchor": "end" }));
    return { height: mark ? 50 : 30, parts: found };
  });
}

/** Names, colours and figures of parts, one under another. */
const legend = (parts) => html("ul", { class: "parts" }, parts.map(({ name, said, place, more, quiet }) =>
  html("li", { class: quiet && "quiet" }, place ? html("i", { class: "key", of: series(place) }) : null,
    html("span", {}, name, more ? html("small", {}, more) : null), html("span", {}, said))));
const keys = (names) => html("div", { class: "keys-of" }, names.map(([name, place]) => html("span", {}, html("i", { class: "key",
  of: series(place) }), name)));

/** Parts of a time one after another, and their sum: `[{name, seconds, place}]`. */
function waterfall(sentence, parts, total, promised) {
  const say = timesAlike([total.seconds]),
    rows = [...parts, { ...total, place: 0 }];
  const top = Math.max(total.seconds, promised ?? 0) * 1.02;
  const draw = (width) => {
    const label = Math.min(LABEL + 40, width * 0.42),
      x = linear(0, top, label, width - 74),
      found = [];
    let from = 0;
    if (known(promised)) {
      found.push(rect(x(promised), 0, width - 74 - x(promised), rows.length * 24 + 4, { fill: "var(--warn-tint)" }));
    }
    rows.forEach((row, at) => {
      const y = at * 24 + 4,
        start = row.place ? from : 0;
      if (row.place && at) found.push(line(x(start), y - 7, x(start), y, { class: "grid" }));
      found.push(text(0, y + 13, fitted(row.name, label - 6), { class: row.place ? null : "strong" }));
      found.push(rect(x(start), y, Math.max(x(start + row.seconds) - x(start), 1.5), 17, { fill: row.place ? series(row
          .place) : "var(--ink)" }));
      found.push(text(width, y + 13, say(row.seconds), { "text-anchor": "end", class: row.place ? null : "strong" }));
      from = row.place ? from + row.seconds : from;
    });
    const height = rows.length * 24 + 4;
    if (known(promised)) {
      const anchor = x(promised) > width - 170 ? "end" : "middle";
      found.push(line(x(promised), 0, x(promised), height + 4, { class: "mark" }),
        text(Math.min(x(promised) + (anchor === "end" ? 4 : 0), width), height + 17,
        `${say(promised)} promised`, { "text-anchor": anchor }));
    }
    return { height: height + (known(promised) ? 22 : 0), parts: found };
  };
  return figure(sentence, draw, ["Part", "Time"], rows.map((row) => [row.name, say(row.seconds)]));
}

/** A figure at both ends of each assumption, the widest on top. */
function tornado(sentence, moves, base, say) {
  const rows = [...moves].sort((a, b) => Math.abs(b.at_high - b.at_low) - Math.abs(a.at_high - a.at_low));
  const ends = rows.flatMap((row) => [row.at_low, row.at_high, base]);
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const draw = (width) => {
    const label = Math.min(LABEL, width * 0.4),
      x = linear(least, most, label + 62, width - 62),
      found = [];
    const height = rows.length * 26 + 24;
    found.push(text(x(base), 12, say(base), { "text-anchor": "middle", class: "strong" }));
    rows.forEach((row, at) => {
      const y = 24 + at * 26;
      found.push(text(0, y + 14, fitted(row.name, label)));
      for (const [end, saying] of [
          [row.at_low, row.low_said],
          [row.at_high, row.high_said]
        ]) {
        const [from, to] = [Math.min(x(base), x(end)), Math.max(x(base), x(end))], left = end < base;
        found.push(rect(from, y, to - from, 18, { fill: series(left ? 3 : 2) }));
        if (Math.abs(end / base - 1) > 1e-9) found.push(text(left ? from - 5 : to + 5, y + 14, saying, { "text-anchor": left ?
            "end" : "start" }));
      }
    });
    found.push(line(x(base), 18, x(base), height, { class: "mark" }));
    return { height: height + 4, parts: found };
  };
  return figure(sentence, draw, ["Assumption", "Low", "then", "High", "then"],
    rows.map((row) => [row.name, row.low_said, say(row.at_low), row.high_said, say(row.at_high)]));
}

/** The axes of a plot of two figures: `{from, to, log, title, say}` for either. */
function axes(width, height, across, up, left = 56) {
  const scale = (of, start, end) => (of.log ? logarithmic : linear)(of.from, of.to, start, end);
  const x = across && scale(across, left, width - 12),
    y = scale(up, height - 42, 26);
  const decades = ({ log, from, to }) => log && to / from > 12;
  const marks = (of, about) => (decades(of) ? logTicks(of.from, of.to) : ticks(of.from, of.to, about));
  const few = (found, most) => (found.length <= most ? found : found.filter((_, at) => at % Math.ceil(found.length / most) === 0));
  const parts = [text(0, 12, up.title), line(left, height - 42, width - 12, height - 42)];
  few(marks(up, 5), 7).forEach((at) => parts.push(line(left, y(at), width - 12, y(at), { class: "grid" }),
    text(left - 8, y(at) + 4, up.say(at), { "text-anchor": "end", class: "small" })));
  if (!across) return { y, parts };
  few(marks(across, width / 90), Math.max(3, Math.floor(width / 70))).forEach((at) => parts.push(line(x(at), height - 42, x(at),
      height - 38),
    text(x(at), height - 25, across.say(at), { "text-anchor": x(at) > width - 24 ? "end" : "middle", class: "small" })));
  parts.push(text((left + width) / 2, height - 4, across.title, { "text-anchor": "middle" }));
  return { x, y, parts };
}
const path = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

const NAMES = 250;
/** Points with names in a column beside them, or numbers where there is no room: `[{x, y, name, place, strong}]`. */
function named(points, x, y, width, top, bottom) {
  const order = [...points].sort((a, b) => y(a.y) - y(b.y)),
    roomy = width >= 640;
  const heights = spread(order.map((point) => y(point.y) + 4), 16, top, bottom),
    left = width - NAMES;
  const dot = (point) => svg("circle", { cx: x(point.x), cy: y(point.y), r: point.strong ? 6 : 4, fill: series(point.place),
    stroke: "var(--panel)", "stroke-width": 1.5 });
  if (!roomy) return order.map(dot);
  return [
    ...order.map((point, at) => svg("path", { d: path([
        [x(point.x), y(point.y)],
        [left - 22, heights[at] - 4],
        [left - 6, heights[at] - 4]
      ]), class: "grid", fill: "none" })),
    ...order.map(dot),
    ...order.map((point, at) => text(left, heights[at], fitted(point.name, NAMES), { class: point.strong ? "strong" : null })),
  ];
}
/** Where a plot with names beside it ends. */
const beside = (width) => (width >= 640 ? width - NAMES - 26 : width);

/** Columns of stacked parts: `columns` are `{name, parts: [{figure, place}]}`. */
function columnsOf(width, height, columns, { title, say }) {
  const most = Math.max(...columns.map((column) => column.parts.reduce((sum, part) => sum + part.figure, 0)));
  const up = { from: 0, to: most * 1.08 || 1, title, say },
    { y, parts } = axes(width, height, null, up, 64);
  const step = (width - 76) / columns.length,
    wide = Math.min(step * 0.6, 64);
  let before = { end: 0, top: 0 };
  columns.forEach((column, at) => {
    const middle = 64 + step * (at + 0.5);
    let from = 0;
    for (const part of column.parts) {
      parts.push(rect(middle - wide / 2, y(from + part.figure), wide, y(from) - y(from + part.figure), { fill: series(part
          .place) }));
      from += part.figure;
    }
    const half = say(from).length * 3.6, touches = middle - half < before.end && Math.abs(y(from) - 5 - before.top) < 14;
    const top = touches ? Math.min(before.top - 14, y(from) - 5) : y(from) - 5;
    before = { end: middle + half, top };
    parts.push(text(middle, top, say(from), { "text-anchor": "middle", class: "strong" }),
      text(middle, height - 25, column.name, { "text-anchor": "middle" }));
  });
  return { height, parts };
}
