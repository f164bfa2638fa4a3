// One member of a cluster in a process of its own. Its parent sends { call, op, args } and gets { call, value }
// or { call, error }, and between them events: { event, … }. Without its parent it ends.
import { RdmcNode } from '@rdmc/group';
import { memberGroup } from './member-group.mjs';
import { encodeError, now, raise } from './member-io.mjs';
import * as proc from './proc.mjs';

let node;
const groups = new Map();
let beats = 0;
const beatTimers = [];
let leaving = false;

function group(id) {
  const found = groups.get(id);
  if (!found) throw new Error(`This member has no group ${id}`);
  return found;
}

/** Reports that a message began, and does not give it memory. */
function stallIncoming(id) {
  return (byteLength) => {
    raise('stalled', { group: id, byteLength });
    return new Promise(() => {});
  };
}

const operations = {
  async join(options) {
    node = await RdmcNode.join(options);
    node.mesh.onFailure((failure) => raise('memberFailed', failure));
    node.mesh.onLeave((member) => raise('memberLeft', { member }));
    node.mesh.onMessage('e2e.beat', () => {
      beats += 1;
    });
    return { pid: process.pid, device: node.device.kind, sockets: proc.abstractSockets() };
  },
  /** `stall`: this member never has memory for a message, so that the group stalls in the first one. */
  async createGroup({ expect, keep, stall, ...options }) {
    const incoming = stall ? stallIncoming(options.id) : undefined;
    const created = await node.createGroup({ ...options, ...(incoming && { incoming }) });
    groups.set(created.id, memberGroup(node, created, { expect, keep }));
    return { members: created.members, isRoot: created.isRoot };
  },
  send: ({ group: id, ...what }) => group(id).send(what),
  /** In several groups, all begun in the same turn of the loop. */
  async sendAll({ sends }) {
    const begins = await Promise.all(sends.map(({ group: id, ...what }) => group(id).prepare(what)));
    return Promise.all(begins.map((begin) => begin()));
  },
  sendFile: ({ group: id, path }) => group(id).sendFile(path),
  progress: ({ group: id }) => group(id).progress(),
  reached: ({ group: id, field, least }) => group(id).reached(field, least),
  stalled: ({ group: id, quietMs }) => group(id).stalled(quietMs),
  verifyKept: ({ group: id }) => group(id).verifyKept(),
  close: ({ group: id, ...options }) => group(id).close(options),
  async leave() {
    for (const timer of beatTimers) clearInterval(timer);
    await node.close();
    leaving = true;
    process.disconnect();
  },
  counters: () => node.counters(),
  deviceCounters: () => node.device.counters(),
  system: () => ({
    ticks: proc.threadTicks(),
    memory: proc.memory(),
    descriptors: proc.openDescriptors(),
    ports: proc.listeningPorts(),
    namedMemory: proc.namedSharedMemory(),
    mappedBytes: node.device.counters().mappedBytes,
  }),
  /** Sends a small message to `to` every `intervalMs`. */
  beat({ to, intervalMs }) {
    const timer = setInterval(() => node.mesh.send(to, 'e2e.beat', 0), intervalMs);
    timer.unref();
    beatTimers.push(timer);
  },
  /** Resolves after `count` more such messages of another member. */
  async beats({ count }) {
    const enough = beats + count;
    await new Promise((resolve) => {
      const subscription = node.mesh.onMessage('e2e.beat', () => {
        if (beats < enough) return;
        subscription.close();
        resolve();
      });
    });
  },
  exit: ({ code }) => process.exit(code),
  throwUncaught() {
    setImmediate(() => {
      throw new Error('thrown on purpose');
    });
  },
};

process.on('message', async ({ call, op, args }) => {
  try {
    const value = await operations[op](args);
    if (process.connected) process.send({ call, value: value ?? null });
  } catch (error) {
    if (process.connected) process.send({ call, error: encodeError(error), at: now() });
  }
});
process.on('disconnect', () => {
  // Its parent has ended, and no other process would end it.
  if (!leaving) process.exit(1);
});
raise('ready', { threads: Object.keys(proc.threadTicks()) });
