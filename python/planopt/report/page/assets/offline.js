// The page without a server: the core runs in a worker of it, which a newer question ends.
const CORE = `
let core;
const text = new TextDecoder(), bytes = new TextEncoder();
const said = (asked) => {
  const question = bytes.encode(asked), at = core.room(question.length);
  new Uint8Array(core.memory.buffer, at, question.length).set(question);
  const answer = core.ask(at, question.length);
  return text.decode(new Uint8Array(core.memory.buffer, answer, core.said()));
};
onmessage = async ({ data: { compiled, asked } }) => {
  if (compiled) core = (await WebAssembly.instantiate(compiled, {})).exports;
  postMessage(said(asked));
};`;

/** What the page holds under a name, unpacked. */
async function unpacked(name) {
  const packed = Uint8Array.from(atob(document.getElementById(name).textContent), (each) => each.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

const KINDS = ["accelerators", "hosts", "links", "networks", "models", "workloads", "offers", "assumptions"];
/** Every TOML file of what was dropped, as of a catalog: a file that lies in no folder of one is an accelerator. */
async function dropped(entry) {
  if (entry.isDirectory) {
    const inside = await new Promise((resolve, reject) => { entry.createReader().readEntries(resolve, reject); });
    return (await Promise.all(inside.map(dropped))).flat();
  }
  if (!entry.name.endsWith(".toml")) return [];
  const file = await new Promise((resolve, reject) => { entry.file(resolve, reject); });
  const folder = entry.fullPath.split("/").findLast((part) => KINDS.includes(part)) ?? KINDS[0];
  return [[`/own/${folder}/${entry.name}`, await file.text()]];
}

async function offline() {
  const compiled = await WebAssembly.compile(await unpacked("core"));
  const bundled = JSON.parse(new TextDecoder().decode(await unpacked("catalogs"))), own = {};
  const code = URL.createObjectURL(new Blob([CORE], { type: "text/javascript" }));
  const started = () => {
    const worker = new Worker(code);
    let last = Promise.resolve();
    const ask = (asked, more = {}) => (last = last.then(() => new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(JSON.parse(data));
      worker.onerror = (event) => reject(new Error(event.message));
      worker.postMessage({ asked: JSON.stringify(asked), ...more });
    })));
    return { ask, opened: ask({ files: { ...bundled, ...own } }, { compiled }), end: () => worker.terminate() };
  };
  let core = started();
  const settings = JSON.parse(document.getElementById("explorer").textContent);
  /** Says of an answer when it was made, of what. */
  const dated = (said) => Object.fromEntries(Object.entries(said).map(([name, plan]) => [name, name === "problems" ? plan : { ...plan,
    provenance: { planopt: settings.version, date: new Date().toISOString().slice(0, 10), command: "", catalog_digest: "in this page" } }]));
  /** Asks the core of this page: an estimate, then what holds under the load. */
  async function* askCore(options, signal) {
    const asked = core;
    signal.addEventListener("abort", () => {
      if (core !== asked) return;
      core.end();
      core = started();
    });
    const opened = await asked.opened;
    if (opened.problems) return yield opened;
    yield dated(await asked.ask({ estimate: options }));
    yield dated(await asked.ask({ plan: options }));
  }
  const again = explore(settings, askCore,
    { "answer.json": ({ plan }) => saved(JSON.stringify(plan, null, 2), "answer.json") });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    Object.assign(own, Object.fromEntries((await Promise.all(entries.map(dropped))).flat()));
    core.end();
    core = started();
    again();
  });
}
if (document.getElementById("core")) offline();
