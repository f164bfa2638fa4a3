// One member of a benchmark: a process of its own, told what to do over IPC.
// Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
import { performance } from 'node:perf_hooks';
import { TraceFile } from '@rdmc/dataplane/trace';
import { RdmcNode } from '@rdmc/group';

const now = () => Number(process.hrtime.bigint());
const pattern = (offset) => (offset * 31) & 0xff;
const CHECK_STRIDE = 4093;

let node;
let trace;
let group;
let region;
let isRoot = false;
let arrivals = 0;
let wanted = 0;
let bytes = 0;
let joinMs;
let cpuBefore;
let faultsBefore;
let loopBefore;
let utilisation;

function fill(view) {
  for (let i = 0; i < view.length; i += 1) view[i] = pattern(i);
}

function check(view) {
  for (let i = 0; i < view.length; i += CHECK_STRIDE) {
    if (view[i] !== pattern(i)) throw new Error(`byte ${i} is wrong`);
  }
}

async function receive() {
  for await (const message of group) {
    arrivals += 1;
    if (arrivals === wanted) {
      const arrived = now();
      utilisation = performance.eventLoopUtilization(loopBefore).utilization;
      process.send({ arrived });
    }
    if (message.byteLength === bytes && arrivals === wanted && bytes > 1) check(message.view);
    message.release();
  }
}

const actions = {
  async join({ id, members, windowMs, silenceTimeoutMs, timeoutMs, device, allocateBytes, traces }) {
    isRoot = id === 0;
    if (traces) trace = await TraceFile.create(`${traces}/${id}.trace`);
    const start = performance.now();
    node = await RdmcNode.join({ id, members, windowMs, silenceTimeoutMs, timeoutMs, device, trace });
    joinMs = performance.now() - start;
    if (allocateBytes) {
      region = await node.allocate(allocateBytes);
      if (isRoot) fill(region.view());
      else region.view().fill(0);
    }
  },
  async open({ id, members, algorithm, blockBytes, warm, relay, ahead, windows }) {
    const incoming = warm ? (byteLength) => ({ region, offset: 0, byteLength }) : undefined;
    const options = { id, members, algorithm, blockBytes, incoming, relay, receive: ahead, ...windows };
    group = await node.createGroup(options);
    if (!isRoot) receive().catch((error) => process.send({ failed: String(error) }));
  },
  async prepare({ count, byteLength }) {
    wanted = count;
    arrivals = 0;
    bytes = byteLength;
    if (!isRoot && region && byteLength > 1)
      region.view(0, byteLength).fill(0, 0, Math.min(byteLength, 1 << 16));
    cpuBefore = process.cpuUsage();
    faultsBefore = process.resourceUsage().minorPageFault;
    // After the answer to this has been written: telling the parent is no part of a multicast.
    setImmediate(() => {
      loopBefore = performance.eventLoopUtilization();
    });
  },
  async send({ count, byteLength, asBytes }) {
    const content = asBytes ? Buffer.alloc(byteLength) : undefined;
    if (content) fill(content);
    const started = now();
    const sends = [];
    for (let i = 0; i < count; i += 1) sends.push(group.send(content ?? { region, offset: 0, byteLength }));
    await Promise.all(sends);
    utilisation = performance.eventLoopUtilization(loopBefore).utilization;
    process.send({ started });
  },
  /** Looks whether the last message lies in the memory it was received into. */
  async verify() {
    if (!isRoot) check(region.view(0, bytes));
  },
  async usage() {
    const cpu = process.cpuUsage(cpuBefore);
    return {
      cpuSeconds: (cpu.user + cpu.system) / 1e6,
      eventLoopUtilisation: utilisation,
      joinMs,
      minorFaults: process.resourceUsage().minorPageFault - faultsBefore,
      maxRssKiB: process.resourceUsage().maxRSS,
      device: node.plane?.device?.counters?.(),
    };
  },
  /** Milliseconds until so many bytes of new memory are there. */
  async populate({ byteLength }) {
    const start = performance.now();
    const memory = await node.allocate(byteLength);
    memory.view().fill(1);
    const ms = performance.now() - start;
    await memory.close();
    return ms;
  },
  async close() {
    await group.close();
  },
  async leave() {
    await node.close();
    await trace?.close();
    process.disconnect();
  },
};

process.on('message', async ({ action, ...parameters }) => {
  try {
    const result = await actions[action](parameters);
    if (action !== 'send' && action !== 'leave') process.send({ done: action, result });
  } catch (error) {
    process.send({ failed: `${action}: ${error.code ?? ''} ${error.stack ?? error}` });
  }
});
process.on('disconnect', () => process.exit(0));
