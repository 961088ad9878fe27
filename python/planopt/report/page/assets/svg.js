// Elements, and drawings that are a function of their width. Text is only ever a text node.
function element(space) {
  return (tag, attributes = {}, ...children) => {
    const made = document.createElementNS(space, tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (name === "of") made.style.setProperty("--of", value);
      else if (name === "style") made.style.cssText = value ?? "";
      else if (value != null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat(Infinity).filter((child) => child != null && child !== false).map((child) =>
      child instanceof Node ? child : String(child)));
    return made;
  };
}
const html = element("http://www.w3.org/1999/xhtml");
const svg = element("http://www.w3.org/2000/svg");
const series = (place) => `var(--s${place})`;
const onSeries = (place) => `var(--t${place})`;

const text = (x, y, said, attributes = {}) => svg("text", { x, y, ...attributes }, said);
const line = (x1, y1, x2, y2, attributes = { class: "axis" }) => svg("line", { x1, y1, x2, y2, ...attributes });
const rect = (x, y, width, height, attributes = {}) => svg("rect", { x, y, width: Math.max(width, 0), height: Math.max(height, 0),
  ...attributes });

const drawn = new Set();
/** A drawing that is painted again when its width changes: `draw(width)` gives its height and parts. */
function drawing(sentence, draw) {
  const box = html("div", { class: "drawing" });
  let width = 0;
  const paint = () => {
    const now = Math.floor(box.clientWidth);
    if (!now || now === width) return;
    width = now;
    const { height, parts } = draw(now);
    box.replaceChildren(svg("svg", { viewBox: `0 0 ${now} ${height}`, height, role: "img", "aria-label": sentence }, parts));
  };
  drawn.add(paint);
  new ResizeObserver(() => requestAnimationFrame(paint)).observe(box);
  return box;
}

function repaint(printing) {
  document.documentElement.classList.toggle("printing", printing);
  drawn.forEach((paint) => paint());
}

const linear = (from, to, start, end) => (value) => start + ((value - from) / (to - from || 1)) * (end - start);
const logarithmic = (from, to, start, end) => {
  const place = linear(Math.log(from), Math.log(to), start, end);
  return (value) => place(Math.log(value));
};
/** Round numbers between two, about so many. */
function ticks(from, to, about) {
  const raw = (to - from) / about || 1,
    size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * size).find((each) => each >= raw);
  const first = Math.ceil(from / step - 1e-9);
  return Array.from({ length: Math.floor(to / step + 1e-9) - first + 1 }, (_, place) => (first + place) * step);
}
/** 1, 3, 10, 30 ... between two. */
function logTicks(from, to) {
  const found = [];
  for (let power = Math.floor(Math.log10(from)); 10 ** power <= to; power += 1)
    for (const times of [1, 3]) found.push(times * 10 ** power);
  return found.filter((each) => each >= from * 0.999 && each <= to * 1.001);
}
/** Moves labels apart that would touch: their heights, from the top. */
function spread(places, gap, least, most) {
  const order = places.map((place, index) => [place, index]).sort((a, b) => a[0] - b[0]);
  order.forEach((each, at) => { each[0] = Math.max(each[0], at ? order[at - 1][0] + gap : least); });
  order.reverse().forEach((each, at) => { each[0] = Math.min(each[0], at ? order[at - 1][0] - gap : most); });
  return order.sort((a, b) => a[1] - b[1]).map(([place]) => place);
}
const hatch = (id, colour) => svg("pattern", { id, width: 5, height: 5, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" },
  rect(0, 0, 2.4, 5, { fill: colour }));
/** The last words of a name that a width has room for: what products of a line differ by. */
const ended = (name, width) => {
  const words = name.split(" ");
  return words.map((_, at) => words.slice(at).join(" ")).find((said) => said.length * 6.9 <= width) ?? words.at(-1);
};
/** Characters that a width has room for. */
const fitted = (said, width) => {
  const room = Math.floor(width / 7.2);
  return said.length <= room ? said : `${said.slice(0, Math.max(room - 1, 1)).trimEnd()}…`;
};
