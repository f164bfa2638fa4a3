// Clients while slots move: node tools/bench/kv/rebalance.mjs [--keys 100000] [--rounds 2] [--seconds 5] [--connections 32]
//   [--other ROOT]
// Five servers with three backups of every write. In turn, the last server is drained, and gets its slots back: every slot of it moves.
// A drain has ended when its replicas are elsewhere, too. `--other` names another checkout, built, whose cluster takes turns with this one's.
// The load is GET and SET of 100 bytes, half each, at all servers, by connections that do not know slots. In each round, in the order
// of ABBA: `undisturbed` for --seconds and `moving` until no slot is left to move, at half of the largest rate (open loop, timed from
// the moment at which a request is due), and then both at the largest rate (closed loop). A part of the first are 12 connections that ask
// for a key each, every 8 ms: while slots move, each of their slots moves once, so the longest answer of a key shows the pause of its
// slot. They ask while nothing moves, too: otherwise the two loads would not be the same.
// Prints one line for each, then the ratios: `back` is the return of a server. Below a move at half the rate are its parts (slots move,
// then replicas), and the longest stretch in which requests began 50 ms late or more: then no connection was free, because requests took
// longer than connections allow at this rate. Needs the built dist.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Connection, closedLoop, openLoop, resp } from './load.mjs';
import { clusterOf, end, stop } from './servers.mjs';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
    other: { type: 'string' },
  },
});
const KEYS = Number(values.keys);
const SERVERS = 5;
const PROBES = 12;
const PROBE_MS = 8;
/** Of the slots of each server, from the upper end: these move when a server comes back. */
const MOVING_PART = 0.15;
const FILL = 500;
const LATE_MS = 50;
/** Each question about the state of a move takes some milliseconds of each server. */
const POLL_MS = 250;
const VALUE = 'x'.repeat(100);

const next = () => {
  const key = `key:${Math.floor(Math.random() * KEYS)}`;
  return Math.random() < 0.5 ? resp('GET', key) : resp('SET', key, VALUE);
};

const median = (numbers) => [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

function bulk(reply) {
  if (reply.startsWith('-')) throw new Error(reply.trim());
  return JSON.parse(reply.slice(reply.indexOf('\n') + 1));
}

async function fill(connection) {
  for (let key = 0; key < KEYS; key += FILL) {
    const words = Array.from({ length: Math.min(FILL, KEYS - key) }, (_, index) => [
      `key:${key + index}`,
      VALUE,
    ]);
    const reply = await connection.ask(resp('MSET', ...words.flat()));
    if (reply !== '+OK\r\n') throw new Error(reply);
  }
}

/** Keys of a server, so many, one for each slot: of its upper slots, or of any. */
async function keysOf(port, count, isUpper) {
  const connection = await Connection.open(port);
  const nodes = await connection.ask(resp('CLUSTER', 'NODES'));
  const own = nodes.split('\n').find((line) => line.includes('myself'));
  const ranges = own
    .trim()
    .split(' ')
    .slice(8)
    .map((range) => range.split('-').map(Number));
  const slots = ranges.flatMap(([from, to = from]) =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index),
  );
  const wanted = new Set(isUpper ? slots.slice(-Math.floor(slots.length * MOVING_PART)) : slots);
  const found = new Map();
  for (let index = 0; found.size < count; index += 1) {
    const slot = Number((await connection.ask(resp('CLUSTER', 'KEYSLOT', `probe:${index}`))).slice(1));
    if (wanted.has(slot)) found.set(slot, `probe:${index}`);
  }
  connection.close();
  return [...found.values()];
}

/**
 * Drains the last server, or ends that; resolves with the milliseconds until neither a slot nor a replica of it is left to move.
 * `onSlots` is called when no slot is left to move.
 */
async function move(admin, isBack, onSlots) {
  const began = performance.now();
  bulk(await admin.ask(resp('rdmc.admin', isBack ? 'UNDRAIN' : 'DRAIN', SERVERS)));
  for (;;) {
    const { coordinator } = bulk(await admin.ask(resp('rdmc.admin', 'STATUS')));
    const { isRunning, left, failure } = coordinator.facts.moves;
    if (failure) throw new Error(`${failure.code}: ${failure.reason}`);
    if (!isRunning && left === 0) break;
    await delay(POLL_MS);
  }
  onSlots();
  if (!isBack) await withoutReplicas(admin);
  return performance.now() - began;
}

/** Resolves when the last server does not have replicas any more: these are made again elsewhere when its slots have moved. */
async function withoutReplicas(admin) {
  for (;;) {
    const { servers } = bulk(await admin.ask(resp('rdmc.admin', 'STATUS')));
    if (servers.find(({ server }) => server === SERVERS).facts?.backup.logs.length === 0) return;
    await delay(POLL_MS);
  }
}

/** Runs a load during some work; resolves with its counts and the milliseconds of the work. */
async function during(load, work) {
  const stop = new AbortController();
  const loaded = load(stop.signal);
  const milliseconds = await work();
  stop.abort();
  return { ...(await loaded), milliseconds };
}

/** The longest answer of each key, in milliseconds. */
async function probe(connections, keys, signal) {
  return Promise.all(
    connections.map(async (connection, index) => {
      let longest = 0;
      while (!signal.aborted) {
        const began = performance.now();
        await connection.ask(resp('GET', keys[index]));
        longest = Math.max(longest, performance.now() - began);
        await delay(PROBE_MS);
      }
      return longest;
    }),
  );
}

/** Tells what the requests of a part of a move took: from the moment at which they were due, and from the moment at which they left. */
function tellPart(name, replies) {
  if (replies.length === 0) return;
  const p99 = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length * 0.99)]?.toFixed(1) ?? '-';
  const taken = (word) =>
    replies.filter(({ command }) => command.includes(word)).map(({ askedAt, endedAt }) => endedAt - askedAt);
  const due = replies.map(({ dueAt, endedAt }) => endedAt - dueAt);
  console.log(
    `  ${name}: ${replies.length} requests, p99 ${p99(due)} ms; on their way: GET ${p99(taken('GET'))} ms, SET ${p99(taken('SET'))} ms`,
  );
}

/** Tells of the parts of a move that began and was through with its slots at these moments. */
function tellParts(replies, beganAt, slotsAt) {
  tellPart(
    'slots move',
    replies.filter(({ dueAt }) => dueAt < slotsAt),
  );
  tellPart(
    'replicas move',
    replies.filter(({ dueAt }) => dueAt >= slotsAt),
  );
  let longest = { from: 0, to: 0 };
  let from;
  for (const { dueAt, askedAt } of [...replies].sort((a, b) => a.dueAt - b.dueAt)) {
    if (askedAt - dueAt < LATE_MS) from = undefined;
    else from ??= dueAt;
    if (from !== undefined && dueAt - from > longest.to - longest.from) longest = { from, to: dueAt };
  }
  if (longest.to === longest.from) return;
  const at = (moment) => ((moment - beganAt) / 1000).toFixed(2);
  console.log(
    `  began ${LATE_MS} ms late or more: from ${at(longest.from)} to ${at(longest.to)} s (the slots had moved at ${at(slotsAt)} s)`,
  );
}

function tell(name, { counts, perSecond, milliseconds }, more = '') {
  const [p50, p99] = [counts.percentile(50).toFixed(2), counts.percentile(99).toFixed(2)];
  console.log(
    `${name.padEnd(24)} ${perSecond.toFixed(0).padStart(7)}/s  p50 ${p50.padStart(6)} ms  p99 ${p99.padStart(7)} ms  ` +
      `errors ${counts.errors}  ${(milliseconds / 1000).toFixed(1)} s${more}`,
  );
}

/** Half of the largest rate, and the largest one, with slots that move and without; adds to the results. */
async function measure({ root, results }) {
  const ports = await clusterOf(join(root, 'apps/kv/dist/main.js'), SERVERS);
  const open = (count) =>
    Promise.all(Array.from({ length: count }, (_, i) => Connection.open(ports[i % ports.length])));
  const connections = await open(Number(values.connections));
  const [admin] = await open(1);
  const calm = async () => {
    await delay(Number(values.seconds) * 1000);
    return Number(values.seconds) * 1000;
  };
  await fill(admin);
  await during((signal) => closedLoop(connections, next, signal), calm);
  const full = await during((signal) => closedLoop(connections, next, signal), calm);
  tell('largest rate', full);
  const rate = Math.max(full.perSecond / 4, full.perSecond / 2 - (PROBES * 1000) / PROBE_MS);
  let isBack = false;
  let slotsAt;
  const moving = async () => {
    const milliseconds = await move(admin, isBack, () => {
      slotsAt = performance.now();
    });
    isBack = !isBack;
    return milliseconds;
  };
  for (const isMoving of [false, true, true, false]) {
    const name = isMoving ? (isBack ? 'back' : 'away') : 'undisturbed';
    const work = isMoving ? moving : calm;
    const others = ports.slice(0, -1);
    const probed = isBack
      ? (await Promise.all(others.map((port) => keysOf(port, PROBES / others.length, true)))).flat()
      : await keysOf(ports.at(-1), PROBES, false);
    const probes = await open(probed.length);
    const end = new AbortController();
    const pauses = probe(probes, probed, end.signal);
    const replies = [];
    const beganAt = performance.now();
    const onReply = (reply) => replies.push(reply);
    const half = await during((signal) => openLoop(connections, next, rate, signal, onReply), work);
    end.abort();
    const longest = await pauses;
    for (const each of probes) each.close();
    results.p99[name].push(half.counts.percentile(99));
    results.longest[name].push(...longest);
    const shown = `  keys: median ${median(longest).toFixed(1)} ms, longest ${Math.max(...longest).toFixed(1)} ms`;
    tell(`half, ${name}`, half, shown);
    if (isMoving) tellParts(replies, beganAt, slotsAt);
  }
  for (const isMoving of [false, true, true, false]) {
    const work = isMoving ? moving : calm;
    const all = await during((signal) => closedLoop(connections, next, signal), work);
    results.rate[Number(isMoving)].push(all.perSecond);
    tell(`largest, ${isMoving ? 'moving' : 'undisturbed'}`, all);
  }
  for (const each of [...connections, admin]) each.close();
  await stop();
}

function sum({ p99, rate, longest }) {
  const ratio = (moved, undisturbed) => (median(moved) / median(undisturbed)).toFixed(2);
  for (const name of ['back', 'away']) {
    console.log(
      `${name}: p99 at half the largest rate ${ratio(p99[name], p99.undisturbed)} of undisturbed (aim: at most 2); longest answer ` +
        `of a key: median ${median(longest[name]).toFixed(1)} ms, longest ${Math.max(...longest[name]).toFixed(1)} ms (aim: at most ` +
        `50), undisturbed ${median(longest.undisturbed).toFixed(1)} and ${Math.max(...longest.undisturbed).toFixed(1)} ms`,
    );
  }
  console.log(`largest rate: ${ratio(rate[1], rate[0])} of undisturbed (aim: at least 0.8)`);
}

const byName = () => ({ undisturbed: [], away: [], back: [] });

const here = fileURLToPath(new URL('../../../', import.meta.url));
const subjects = [
  ...(values.other ? [{ name: 'other', root: values.other }] : []),
  { name: 'this', root: here },
].map((subject) => ({ ...subject, results: { p99: byName(), rate: [[], []], longest: byName() } }));

try {
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const subject of round % 2 === 0 ? subjects : [...subjects].reverse()) {
      const load = readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
      console.log(`${subject.name}, round ${round + 1}, load before: ${load}`);
      await measure(subject);
    }
  }
  for (const { name, results } of subjects) {
    console.log(`\n${name}`);
    sum(results);
  }
} finally {
  end();
}
