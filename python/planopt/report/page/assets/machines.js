// Hosts with their accelerators, and the order of a pipeline.
const STAGES_IN_COLOURS = 8, RACKS_DRAWN = 24, HOSTS_DRAWN = 64, OPERATIONS_DRAWN = 120000;
/** Cividis, for ordered things that are more than there are colours. */
const CIVIDIS = ["#00204c", "#002a66", "#00346e", "#273f6c", "#3c4a6b", "#4c556b", "#5b5f6d", "#686a70", "#757575",
  "#838178", "#928c78", "#a19876", "#b1a570", "#c2b268", "#d3c05c", "#e5cf4b", "#fde737"];
/** The last of them that white can be read on. */
const LAST_DARK = 8;
const isFew = (stages) => stages <= STAGES_IN_COLOURS;
const placeOf = (stage, stages) => Math.round((stage / (stages - 1)) * (CIVIDIS.length - 1));
const stageColour = (stage, stages) => (isFew(stages) ? series(stage + 1) : CIVIDIS[placeOf(stage, stages)]);
const onStage = (stage, stages) => (isFew(stages) ? onSeries(stage + 1) : placeOf(stage, stages) > LAST_DARK ? "#14181d" : "#fff");

/** Stages of the ranks of a deployment, host by host: replicas in turn, stages in turn within each. */
function placed({ candidate, hardware, replicas, units = 1 }) {
  const { tp = 1, cp = 1, dp = 1, pp = 1 } = candidate, wide = tp * cp * dp;
  const hosts = hardware.hosts * units,
    ranks = wide * pp * replicas,
    each = Math.ceil(ranks / hosts);
  return Array.from({ length: hosts }, (_, host) => Array.from({ length: Math.min(each, ranks - host * each) }, (__, slot) => {
    const rank = host * each + slot;
    return { replica: Math.floor(rank / (wide * pp)), stage: Math.floor((rank % (wide * pp)) / wide) };
  }));
}

const BOXES = 8;
/** Hosts as boxes of accelerators; more of them as squares, in racks where their heights are known. */
function clusterDrawing(deployment, { spare = 0, rackHosts, sentence, host, card }) {
  const hosts = placed(deployment), stages = deployment.candidate.pp ?? 1;
  const draw = (width) => (hosts.length > BOXES ? squares(width, hosts, stages, spare, rackHosts)
    : boxes(width, hosts, { ...deployment, stages, host, card }));
  const numbers = (ranks) => [ranks.length, span(ranks.map((rank) => rank.replica + 1)), span(ranks.map((rank) => rank.stage + 1))];
  return figure(sentence, draw, ["Host", "Accelerators", "Replicas", "Stages"], hostRows(hosts, numbers));
}
function span(numbers) {
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return low === high ? `${low}` : `${low} – ${high}`;
}
/** Rows of hosts, those alike together. */
function hostRows(hosts, cells) {
  const rows = [];
  hosts.forEach((ranks, at) => {
    const row = cells(ranks),
      last = rows.at(-1);
    if (last && last.row.join() === row.join()) last.to = at + 1;
    else rows.push({ from: at + 1, to: at + 1, row });
  });
  return rows.slice(0, HOSTS_DRAWN).map(({ from, to, row }) => [from === to ? `${from}` : `${from} – ${to}`, ...row]);
}

/** How boxes of hosts stand: hosts and accelerators in a row, and what a box measures. */
function boxLayout(width, hosts) {
  const most = Math.max(...hosts.map((ranks) => ranks.length)), gap = 14;
  const room = Math.max(1, Math.floor(width / Math.max(180, Math.min(most, 4) * 80)));
  const row = Math.ceil(hosts.length / Math.ceil(hosts.length / Math.min(hosts.length, room)));
  const wide = (width - gap * (row - 1)) / row, lines = Math.ceil(most / Math.max(2, Math.floor((wide - 24) / 92)));
  const across = Math.ceil(most / lines), head = most > 1 ? 44 : 12;
  return { most, row, wide, across, head, step: (wide - 24) / across, tall: head + lines * 62 - 4, pitch: wide + gap };
}
function boxes(width, hosts, of) {
  const box = boxLayout(width, hosts), { row, wide, tall } = box, parts = [];
  hosts.forEach((ranks, at) => {
    const left = (at % row) * box.pitch, top = Math.floor(at / row) * (tall + 30);
    const name = hosts.length > 1 ? `Host ${at + 1} of ${hosts.length}` : fitted(of.host, wide);
    parts.push(text(left, top + 12, name, { class: "strong" }), rect(left + 0.5, top + 18.5, wide - 1, tall, { class: "host", rx: 6 }));
    if (of.hardware.link && box.most > 1) parts.push(text(left + wide / 2, top + 36, fitted(of.hardware.link, wide - 24), { "text-anchor": "middle" }));
    ranks.forEach((rank, slot) => parts.push(...cardParts(ranks, slot, left, top, box, of)));
  });
  return { height: Math.ceil(hosts.length / row) * (tall + 30), parts };
}
/** An accelerator in its host, with a link to the next of its replica. */
function cardParts(ranks, slot, left, top, { across, step, head }, { stages, card, candidate, replicas }) {
  const { replica, stage } = ranks[slot], several_ = stages > 1;
  const x = left + 15 + (slot % across) * step, y = top + 18 + head + Math.floor(slot / across) * 62, middle = x + (step - 6) / 2;
  const ink = several_ ? `fill:${onStage(stage, stages)}` : null, said = shardOf(candidate, stage, replicas > 1 && `copy ${replica + 1}`, step);
  const isPeer = slot + 1 < ranks.length && (slot + 1) % across > 0 && ranks[slot + 1].replica === replica;
  const arc = `M${middle} ${y}C${middle} ${y - 14} ${middle + step} ${y - 14} ${middle + step} ${y}`;
  return [
    ...(isPeer ? [svg("path", { class: "link", d: arc })] : []),
    rect(x, y, step - 6, 46, { fill: several_ ? stageColour(stage, stages) : "var(--accent-tint)", stroke: "var(--accent)", rx: 4 }),
    text(middle, y + 20, fitted(ended(card, step - 10), step - 10), { "text-anchor": "middle", style: ink, class: ink ? null : "strong" }),
    text(middle, y + 37, fitted(said, step - 8), { "text-anchor": "middle", style: ink }),
  ];
}
/** What an accelerator holds, in as many words as there is room for. */
function shardOf({ tp = 1, pp = 1 }, stage, copy, wide) {
  const said = [pp > 1 && `stage ${stage + 1}`, tp > 1 && `1/${tp}`, copy].filter(Boolean);
  while (said.length > 1 && said.join(", ").length * 6.9 > wide - 8) said.pop();
  return said.join(", ");
}

function squares(width, hosts, stages, spare, rackHosts) {
  const every = [...hosts.map((ranks) => ranks[0]?.stage ?? 0), ...Array(spare).fill(null)],
    racked = rackHosts && Math.ceil(every.length / rackHosts) <= RACKS_DRAWN;
  const parts = [],
    cards = hosts[0].length,
    said = (stage) => (stage === null ? "+" : `${stages > 1 ? stage + 1 : cards}`);
  const square = (stage, x, y, wide, tall) => {
    parts.push(rect(x, y, wide, tall, stage === null ? { class: "spare", rx: 2 } : { fill: stageColour(stage, stages), rx: 2 }));
    if (wide >= 20) parts.push(text(x + wide / 2, y + tall / 2 + 4, said(stage), { "text-anchor": "middle", class: "small",
      style: stage === null ? null : `fill:${onStage(stage, stages)}` }));
  };
  if (racked) {
    const racks = Math.ceil(every.length / rackHosts),
      row = Math.min(racks, width > 900 ? 12 : width > 560 ? 6 : 4),
      step = width / row,
      tall = rackHosts * 22 + 30;
    every.forEach((stage, at) => {
      const rack = Math.floor(at / rackHosts),
        x = (rack % row) * step,
        y = Math.floor(rack / row) * (tall + 8);
      if (at % rackHosts === 0) parts.push(text(x, y + 12, step > 60 ? `Rack ${rack + 1}` : `${rack + 1}`, { class: "small" }),
        rect(x + 0.5, y + 18.5, step - 9, tall - 22, { class: "host", rx: 3 }));
      square(stage, x + 4, y + 22 + (at % rackHosts) * 22, step - 16, 18);
    });
    return { height: Math.ceil(racks / row) * (tall + 8), parts };
  }
  const size = every.length > 600 ? 12 : 24,
    row = Math.floor(width / size);
  every.forEach((stage, at) => square(stage, (at % row) * size, Math.floor(at / row) * size, size - 3, size - 3));
  return { height: Math.ceil(every.length / row) * size, parts };
}

// --- Pipelines --------------------------------------------------------------------------

/** Forward and backward passes of a stage in their order, `[chunk, micro-batch, forward]`. */
function orderOf(stage, stages, micro, chunks, schedule) {
  const all = micro * chunks,
    round = stages * chunks;
  const pass = (at, forward) => {
    if (chunks === 1) return [0, at, forward];
    const within = at % round,
      chunk = Math.floor(within / stages);
    return [forward ? chunk : chunks - 1 - chunk, Math.floor(at / round) * stages + (within % stages), forward];
  };
  const ahead = schedule === "gpipe" ? all : Math.min(all, chunks > 1 ? (stages - stage - 1) * 2 + (chunks - 1) * stages : stages -
    stage - 1);
  const order = [];
  for (let at = 0; at < all + ahead; at += 1) {
    if (at < all) order.push(pass(at, true));
    if (at >= ahead) order.push(pass(at - ahead, false));
  }
  return order;
}

/** When each pass begins and ends, as each waits for the stages before it and for its own. */
function timetable(stages, micro, chunks, schedule, forward, backward) {
  const ends = new Map(),
    key = (stage, chunk, batch, isForward) => ((chunk * stages + stage) * micro + batch) * 2 + (isForward ? 1 : 0);
  const rows = Array.from({ length: stages }, (_, stage) => ({ order: orderOf(stage, stages, micro, chunks, schedule), at: 0,
    free: 0, passes: [] }));
  const before = (stage, chunk, batch, isForward) => {
    if (isForward) return stage ? key(stage - 1, chunk, batch, true) : chunk ? key(stages - 1, chunk - 1, batch, true) : null;
    if (stage < stages - 1) return key(stage + 1, chunk, batch, false);
    return chunk < chunks - 1 ? key(0, chunk + 1, batch, false) : key(stage, chunk, batch, true);
  };
  for (let moved = true; moved;) {
    moved = false;
    rows.forEach((row, stage) => {
      for (; row.at < row.order.length; row.at += 1, moved = true) {
        const [chunk, batch, isForward] = row.order[row.at], needs = before(stage, chunk, batch, isForward);
        if (needs !== null && !ends.has(needs)) return;
        const start = Math.max(row.free, needs === null ? 0 : ends.get(needs));
        row.free = start + (isForward ? forward : backward);
        ends.set(key(stage, chunk, batch, isForward), row.free);
        row.passes.push({ start, end: row.free, batch, isForward });
      }
    });
  }
  return rows.map((row) => row.passes);
}

function timelines(width, rows, whole, { tall, named: isNamed, left = 64, label }) {
  const x = linear(0, whole, left, width),
    parts = [],
    paths = { true: "", false: "" };
  rows.forEach((passes, stage) => {
    const y = stage * tall;
    for (const { start, end, batch, isForward } of passes) {
      const [from, to] = [x(start), x(end)], gap = to - from > 3 ? 0.6 : 0;
      paths[isForward] +=
        `M${from.toFixed(2)} ${y}H${(to - gap).toFixed(2)}V${(y + tall - (tall > 4 ? 1 : 0.3)).toFixed(1)}H${from.toFixed(2)}Z`;
      if (isNamed && to - from > 12) parts.push(text((from + to) / 2, y + tall - 4, batch + 1, { "text-anchor": "middle",
        style: `font-size:10px;fill:${onSeries(isForward ? 1 : 3)}` }));
    }
    if (label(stage)) parts.push(text(left - 8, Math.max(y + tall / 2 + 4, 10), label(stage), { "text-anchor": "end",
      class: "small" }));
  });
  parts.unshift(svg("path", { d: paths.true, fill: series(1) }), svg("path", { d: paths.false, fill: series(3) }));
  return { height: rows.length * tall + 4, parts, x };
}

/** One step of a pipeline at scale; none where there is no pipeline, or too much of it to be seen. */
function pipelineDrawing({ pp = 1, vpp = 1, micro_batches: micro, schedule }, step) {
  const uneven = vpp > 1 && micro % pp; // Its order is the framework's own.
  if (pp < 2 || !micro || uneven || 2 * pp * vpp * micro > OPERATIONS_DRAWN) return null;
  const passes = micro * vpp,
    forward = step.forward_seconds / passes,
    backward = (step.backward_seconds + (step.recompute_seconds ?? 0)) / passes;
  const rows = timetable(pp, micro, vpp, schedule, forward, backward),
    whole = Math.max(...rows.flatMap((row) => row.at(-1).end));
  const say = alike([whole], 1, "s"),
    every = Math.ceil(pp / 6);
  const draw = (width) => {
    const found = timelines(width, rows, whole, { tall: Math.max(3, Math.min(18, 150 / pp)), label: (stage) => ((stage % every ===
        0 && pp - 1 - stage > every / 2) || stage === pp - 1 ? `stage ${stage + 1}` : null) });
    ticks(0, whole, 5).forEach((at) => found.parts.push(text(found.x(at), found.height + 13, say(at), { "text-anchor": found.x(
        at) > width - 30 ? "end" : at ? "middle" : "start", class: "small" })));
    return { height: found.height + 18, parts: found.parts };
  };
  const few = [Math.min(pp, 6)];
  few.push(Math.max(few[0], Math.floor(Math.min(micro, 12) / few[0]) * few[0]));
  const small = timetable(few[0], few[1], Math.min(vpp, 2), schedule, forward, backward);
  const order = (width) => timelines(width, small, Math.max(...small.flatMap((row) => row.at(-1).end)), { tall: 16, named: width >
      500, left: 24, label: (stage) => `${stage + 1}` });
  const name = `${pp} stages, ${micro} micro-batches`;
  return [
    figure(`One step: ${name}; forward ${duration(forward)}, backward ${duration(backward)} each`, draw, ["Pass", "Time"],
      [
        ["forward of a micro-batch on a stage", duration(forward)],
        ["backward", duration(backward)],
        ["stages", pp],
        ["micro-batches", micro],
        ["chunks of a stage", vpp]
      ]),
    html("h3", {}, `How to read it: the same order with ${few[0]} stages and ${few[1]} micro-batches`),
    drawing(`The order of passes with ${few[0]} stages and ${few[1]} micro-batches`, order),
    keys([
      [`forward, ${duration(forward)}`, 1],
      [`backward, ${duration(backward)}`, 3]
    ]),
  ];
}
