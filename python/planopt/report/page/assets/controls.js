// Controls of a question, made of the table of options: each holds the text that the command line takes.
const SPEEDS = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200];

/** What a control may be given in one movement, beside its text. */
const SLID = {
  target: { steps: SPEEDS, written: (step) => `${step}tok/s` },
  duty: { steps: Array.from({ length: 20 }, (_, at) => 5 * (at + 1)), written: (step) => `${step}%` },
};

function inputOf(option, id) {
  const { kind, words, usual, example } = option, name = option.argument, described = `${id}-help ${id}-wrong`;
  const shared = { id, name, "aria-describedby": described };
  if (kind === "switch") return html("input", { ...shared, type: "checkbox" });
  const few = kind === "truth" ? ["yes", "no"] : kind === "choice" || kind === "name" && option.is_listed ? words : [];
  if (few.length) return html("select", shared, html("option", { value: "" }, usual || "not set"),
    few.filter((word) => word !== usual).map((word) => html("option", { value: word }, word)));
  return html("input", { ...shared, type: "text", placeholder: usual || (/^[A-Z]+$/.test(example) ? "" : example), autocomplete: "off", spellcheck: "false",
    inputmode: kind === "count" ? "numeric" : null, list: words.length ? `${id}-words` : null });
}

/** A slider that writes into a text field, and follows it. */
function slider({ steps, written }, input, { flag, usual }) {
  const at = () => {
    const figure = parseFloat(input.value || usual);
    return Number.isNaN(figure) ? 0 : steps.reduce((best, step, place) =>
      (Math.abs(step - figure) < Math.abs(steps[best] - figure) ? place : best), 0);
  };
  const slide = html("input", { type: "range", min: 0, max: steps.length - 1, value: at(), "aria-label": `${flag}, in steps` });
  const follow = () => {
    slide.value = at();
    slide.setAttribute("aria-valuetext", input.value || usual || "not set");
  };
  slide.addEventListener("input", () => {
    input.value = written(steps[slide.value]);
    slide.setAttribute("aria-valuetext", input.value);
  });
  input.addEventListener("input", follow);
  return [slide, follow];
}

function control(option) {
  const id = `of-${option.argument}`, input = inputOf(option, id);
  const [slide, follow] = SLID[option.argument] ? slider(SLID[option.argument], input, option) : [null, () => {}];
  const wrong = html("p", { class: "wrong", id: `${id}-wrong` });
  const words = input.getAttribute("list") && html("datalist", { id: `${id}-words` }, option.words.map((word) => html("option", { value: word })));
  const box = html("div", { class: "control" }, html("label", { for: id }, option.flag.slice(2)), input, slide, words,
    html("small", { id: `${id}-help` }, option.help), wrong);
  const isTicked = input.type === "checkbox";
  return {
    option, box,
    get text() { return isTicked ? (input.checked ? "yes" : "") : input.value.trim(); },
    set text(text) {
      if (isTicked) input.checked = !["", "no", "false"].includes(text.toLowerCase());
      else if (input.tagName === "SELECT" && text && ![...input.options].some((each) => each.value === text))
        input.value = text === option.usual ? "" : input.appendChild(html("option", { value: text }, text)).value;
      else input.value = text;
      follow();
    },
    /** Says what is wrong with it; nothing takes that back. */
    refuse(problem) {
      input.setAttribute("aria-invalid", Boolean(problem));
      wrong.replaceChildren(...(problem ? saidOf(problem) : []));
      if (problem) box.closest("details")?.setAttribute("open", "");
    },
  };
}

/** A problem in the words of the command line: its code, what would be accepted, the fix. */
const saidOf = ({ code, message, accepted, help }) => [html("b", {}, code), ` ${message}.`,
  ...(accepted ? [html("span", {}, ` Accepted: ${accepted}.`)] : []), ...(help ? [html("span", {}, ` ${help}.`)] : [])].map((each) =>
  (each instanceof Node ? each : document.createTextNode(each)));

/** The form of all controls: what it says, and what is said of it. */
function questionForm(panels, onChange, buttons) {
  const all = panels.flatMap(({ controls }) => controls.map(control)), of = Object.fromEntries(all.map((each) => [each.option.argument, each]));
  const part = ({ name, controls }) => {
    const boxes = (inFront) => controls.filter((each) => each.is_in_front === inFront).map((each) => of[each.argument].box);
    const more = boxes(false);
    return html("fieldset", {}, html("legend", {}, name), boxes(true),
      more.length > 0 && html("details", {}, html("summary", {}, `${count(more.length)} more`), more));
  };
  const form = html("form", { class: "card controls", "aria-label": "The question", onsubmit: (event) => event.preventDefault(),
    oninput: () => onChange(false), onchange: () => onChange(true) }, panels.map(part), html("div", { class: "buttons" }, buttons));
  return {
    form,
    get options() { return Object.fromEntries(all.map((each) => [each.option.argument, each.text]).filter(([, text]) => text)); },
    set options(options) { for (const each of all) each.text = String(options[each.option.argument] ?? ""); },
    /** Puts problems at their controls, and gives those that have none. */
    refuse(problems) {
      const left = [...problems];
      for (const each of all) {
        const at = left.findIndex((problem) => problem.field === each.option.flag);
        each.refuse(at < 0 ? null : left.splice(at, 1)[0]);
      }
      return left;
    },
    flags: Object.fromEntries(all.map((each) => [each.option.argument, each.option])),
  };
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
/** The options that a question asks with, and the command whose they are: it is named by what it is about. */
function asking(options, flags) {
  const command = options.islands ? "train --islands" : options.neighbours ? "solve --neighbours" : "solve";
  return [Object.fromEntries(Object.entries(options).filter(([name]) => flags[name]?.commands.includes(command) ?? true)), command];
}
/** What is set and not asked with. */
function leftOut(options, flags) {
  const [asked, command] = asking(options, flags), left = Object.keys(options).filter((name) => !(name in asked));
  return left.length ? `Not asked of ${command}: ${left.map((name) => flags[name].flag).join(", ")}` : "";
}
/** The command that asks the same. */
function commandOf(options, flags, folders) {
  const [asked, command] = asking(options, flags), words = Object.entries(asked).map(([name, text]) => (flags[name]?.kind === "switch" ? flags[name].flag : `${flags[name].flag} ${quoted(text)}`));
  return [`planopt ${command.split(" ")[0]}`, ...words, ...folders.map((folder) => `--catalog ${quoted(folder)}`)].join(" ");
}
