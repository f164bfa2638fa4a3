// One transfer of real members block by block, from their traces. All of them have one clock.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { decodeTrace, TraceKind, TraceProtocol } from '@rdmc/dataplane/trace';
import { Cluster } from './cluster.mjs';

/** Messages in front of the one that is looked at. */
const WARM_UP_ROUNDS = 2;
/** The member that is stopped, and when: after this part of the time of the message before. */
const STOPPED = 3;
const STOPPED_AFTER = 0.9;

const now = () => Number(process.hrtime.bigint());

/** Stops a process for so long; its soft device, which stands for a NIC, stops as well. Resolves with the times of both signals. */
async function stopFor(pid, milliseconds) {
  process.kill(pid, 'SIGSTOP');
  const from = now();
  await delay(milliseconds);
  process.kill(pid, 'SIGCONT');
  return { from, to: now() };
}

/**
 * The last message of a trace: microseconds since the root began with it. `transfers` has a record of each block on each hop;
 * `members` what happened at each, null where it did not happen; `stop` when a member was stopped, if one was.
 */
export function stepsOf(events, stop) {
  const all = events.filter(({ protocol }) => protocol === TraceProtocol.GROUP);
  const last = Math.max(...all.filter(({ kind }) => kind === TraceKind.BEGAN).map(({ message }) => message));
  const own = all.filter(({ message }) => message === last);
  const began = own.find(
    ({ kind, peer, member }) => kind === TraceKind.BEGAN && peer !== member && member === 0,
  ).time;
  const micros = (event) => (event ? Math.round((event.time - began) / 100) / 10 : null);
  const firstOf = (kind, member) => own.find((each) => each.kind === kind && each.member === member);
  const ends = new Map();
  const key = (kind, from, to, block) => `${kind} ${from} ${to} ${block}`;
  for (const { kind, member, peer, block, time } of own) {
    if (kind === TraceKind.RECEIVED) ends.set(key(kind, peer, member, block), { time });
    else if (kind === TraceKind.SEND_FINISHED) ends.set(key(kind, member, peer, block), { time });
  }
  const transfers = own
    .filter(({ kind }) => kind === TraceKind.SEND_STARTED)
    .map((event) => {
      const { member: from, peer: to, block } = event;
      const end = (kind) => micros(ends.get(key(kind, from, to, block)));
      const [finished, received] = [end(TraceKind.SEND_FINISHED), end(TraceKind.RECEIVED)];
      return { from, to, block, started: micros(event), finished, received };
    });
  const ids = [...new Set(own.map(({ member }) => member))].sort((a, b) => a - b);
  const members = ids.map((id) => ({
    id,
    began: micros(firstOf(TraceKind.BEGAN, id)),
    placed: micros(firstOf(TraceKind.PLACED, id)),
    copied: micros(firstOf(TraceKind.COPIED, id)),
    finished: micros(firstOf(TraceKind.FINISHED, id)),
  }));
  const [from, to] = [stop?.from, stop?.to].map((time) => micros(time && { time }));
  return { members, transfers, ...(stop && { stop: { member: stop.member, from, to } }) };
}

/** The last message: its milliseconds, those of the one before, and the stop of a member near its end. */
async function lastMessage(cluster, byteLength, stopMs) {
  let before = 0;
  for (let i = 0; i < WARM_UP_ROUNDS; i += 1) before = await cluster.multicast(byteLength);
  const sending = cluster.multicast(byteLength);
  let stop;
  if (stopMs > 0) {
    await delay(before * STOPPED_AFTER);
    stop = { member: STOPPED, ...(await stopFor(cluster.pids[STOPPED], stopMs)) };
  }
  return { milliseconds: await sending, before, stop };
}

/**
 * Multicasts to processes of this host, each with a link of its own, and takes the last one apart. `stopMs`: so long a relay
 * is stopped near the end; 0: it is not.
 */
export async function steps({ n, byteLength, blockBytes, linkRate, stopMs = 0 }) {
  const traces = await mkdtemp(join(tmpdir(), 'rdmc-steps-'));
  try {
    const options = { transport: 'tcp', allocateBytes: byteLength, linkRate, traces };
    const cluster = await Cluster.start(n, options);
    // One receive and one send ahead, as in the paper.
    const windows = { sendWindow: 1, readyWindow: 1 };
    await cluster.open({ id: 1, algorithm: 'binomial-pipeline', blockBytes, warm: true, windows });
    const { milliseconds, before, stop } = await lastMessage(cluster, byteLength, stopMs);
    const skewMs = cluster.skews.at(-1);
    await cluster.verify();
    await cluster.close();
    await cluster.stop();
    const decoded = [];
    for (let id = 0; id < n; id += 1) decoded.push(decodeTrace(await readFile(join(traces, `${id}.trace`))));
    const dropped = decoded.reduce((sum, each) => sum + each.dropped, 0);
    const events = decoded.flatMap((each) => each.events);
    const facts = { n, byteLength, blockBytes, linkRate, milliseconds, before, skewMs, dropped };
    return { ...facts, ...stepsOf(events, stop) };
  } finally {
    await rm(traces, { recursive: true });
  }
}
