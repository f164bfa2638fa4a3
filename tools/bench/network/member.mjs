// One member of a group, a process inside a host of the lab, told what to do over IPC.
// Times are nanoseconds of CLOCK_MONOTONIC, which all hosts of a lab share.
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { RdmcNode } from '@rdmc/group';

const now = () => Number(process.hrtime.bigint());
const PATTERN_PRIME = 31;
const CHECK_STRIDE = 4093;

let node;
const groups = new Map();
/** Memory for groups that are not open yet. */
const regions = new Map();
let sharedRegion;

function fill(view) {
  // A period that is no power of two: a block in another one's place is seen.
  for (let i = 0; i < view.length; i += 1) view[i] = (i * PATTERN_PRIME + (i >> 12)) & 0xff;
}

function check(view) {
  for (let i = 0; i < view.length; i += CHECK_STRIDE) {
    if (view[i] !== ((i * PATTERN_PRIME + (i >> 12)) & 0xff)) throw new Error(`byte ${i} is wrong`);
  }
}

async function filled(bytes, isRoot) {
  const region = await node.allocate(bytes);
  if (isRoot) fill(region.view());
  else region.view().fill(0);
  return region;
}

async function receive(entry) {
  for await (const message of entry.group) {
    const at = now();
    process.send({ event: 'arrived', group: entry.id, at });
    if (message.byteLength > 1) check(message.view);
    message.release();
  }
}

const actions = {
  async join({ id, members, address, windowMs, transport, linkRate, timeoutMs }) {
    const device = { device: 'soft', transport, listen: { host: address }, linkRate };
    node = await RdmcNode.join({
      id,
      members,
      device,
      windowMs,
      timeoutMs,
      insecureListenBeyondLoopback: true,
      // A member that is stopped on purpose is not lost.
      silenceTimeoutMs: 60_000,
    });
  },
  /**
   * The memory of a group, apart from its creation: filling it takes longer. `shared`: the groups of this member, of which one
   * is used at a time, have one region.
   */
  async fill({ id, bytes, shared, members }) {
    const isRoot = members[0] === node.id;
    if (shared) sharedRegion ??= filled(bytes, isRoot);
    regions.set(id, await (shared ? sharedRegion : filled(bytes, isRoot)));
  },
  async open({ shared, ...options }) {
    const isRoot = options.members[0] === node.id;
    const region = regions.get(options.id);
    regions.delete(options.id);
    const incoming = (byteLength) => ({ region, offset: 0, byteLength });
    const group = await node.createGroup({ ...options, incoming, retryTimeoutMs: 60_000 });
    const entry = { id: options.id, group, region, isRoot, shared };
    groups.set(options.id, entry);
    if (!isRoot) receive(entry).catch((error) => process.send({ event: 'failed', reason: `${error.stack}` }));
  },
  /** Forgets what was received, so that the next check cannot be satisfied by it. */
  async prepare({ group, bytes }) {
    const { region, isRoot } = groups.get(group);
    if (!isRoot) region.view(0, bytes).fill(0);
  },
  /** `count` messages from the root; the time before the first. */
  async send({ group, bytes, count }) {
    const { group: target, region } = groups.get(group);
    const started = now();
    const sends = Array.from({ length: count }, () => target.send({ region, offset: 0, byteLength: bytes }));
    await Promise.all(sends);
    return started;
  },
  async digest({ group, bytes }) {
    return crc32(groups.get(group).region.view(0, bytes));
  },
  async usage() {
    const { user, system } = process.cpuUsage();
    const rollup = readFileSync('/proc/self/smaps_rollup', 'utf8');
    return {
      cpuSeconds: (user + system) / 1e6,
      maxRssMiB: process.resourceUsage().maxRSS / 1024,
      // A page that processes share counts once in their sum.
      pssMiB: Number(/^Pss: +(\d+) kB/m.exec(rollup)[1]) / 1024,
    };
  },
  async close({ group }) {
    const entry = groups.get(group);
    groups.delete(group);
    await entry.group.close();
    if (!entry.shared) await entry.region.close();
  },
  async leave() {
    await node.close();
  },
};

process.on('message', async ({ call, action, ...parameters }) => {
  try {
    process.send({ call, result: await actions[action](parameters) });
  } catch (error) {
    process.send({ call, error: `${action}: ${error.code ?? ''} ${error.stack ?? error}` });
  }
});
process.on('disconnect', () => process.exit(0));
