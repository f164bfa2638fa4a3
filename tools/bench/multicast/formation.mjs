// How long a mesh and a group of many members take to form, and what they need meanwhile:
//   node tools/bench/multicast/formation.mjs [--members 32,64,128] [--per-process 1] [--rounds 3] [--transport tcp|shm]
//     [--small BYTES] [--json]
// Members are processes of this host (with --per-process N, N members in each). A time is from the first call until the last
// member's has resolved; all members begin together. `cpu` counts the processor time of all processes meanwhile, `descriptors`
// and `resident` are those of the root's process while the group is open. Needs the built dist.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { RdmcNode } from '@rdmc/group';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';
import { median } from './cluster.mjs';

const text = { type: 'string' };
const { values } = parseArgs({
  options: {
    members: { ...text, default: '32,64,128' },
    'per-process': { ...text, default: '1' },
    rounds: { ...text, default: '3' },
    transport: { ...text, default: 'tcp' },
    small: text,
    json: { type: 'boolean', default: false },
    child: { type: 'boolean', default: false },
  },
});
const TIMEOUT_MS = 120_000;

// ---- one process, with some of the members

const nodes = [];
let groups = [];

const actions = {
  async join({ ids, members, transport }) {
    const device = { device: 'soft', transport };
    const joins = ids.map((id) => RdmcNode.join({ id, members, device, timeoutMs: TIMEOUT_MS }));
    nodes.push(...(await Promise.all(joins)));
  },
  async create(options) {
    groups = await Promise.all(nodes.map((node) => node.createGroup({ ...options, timeoutMs: TIMEOUT_MS })));
  },
  /** One message to all, so that every path has moved bytes. */
  async send({ byteLength }) {
    const work = groups.map(async (group) => {
      if (group.isRoot) return group.send(Buffer.alloc(byteLength, 1));
      const { value } = await group[Symbol.asyncIterator]().next();
      if (value.byteLength !== byteLength) throw new Error('a message has another length');
      value.release();
    });
    await Promise.all(work);
  },
  async close() {
    await Promise.all(groups.map((group) => group.close()));
  },
  async usage() {
    const { user, system } = process.cpuUsage();
    return {
      cpu: (user + system) / 1e6,
      descriptors: readdirSync('/proc/self/fd').length,
      residentMiB: process.memoryUsage.rss() / 2 ** 20,
    };
  },
  async leave() {
    await Promise.all(nodes.map((node) => node.close()));
  },
};

function serve() {
  process.on('message', async ({ action, ...parameters }) => {
    try {
      process.send({ result: (await actions[action](parameters)) ?? null });
    } catch (error) {
      process.send({ error: `${action}: ${error.code ?? ''} ${error.stack ?? error}` });
    }
  });
  process.on('disconnect', () => process.exit(0));
}

// ---- the process that measures

class Crew {
  constructor(ids, perProcess) {
    this.children = [];
    for (let first = 0; first < ids.length; first += perProcess) {
      const child = fork(fileURLToPath(import.meta.url), ['--child'], { serialization: 'advanced' });
      const ended = once(child, 'exit').then(() => [{ error: 'it ended' }]);
      this.children.push({ child, ended, ids: ids.slice(first, first + perProcess) });
    }
  }

  /** The same action at all processes; their answers. */
  all(action, parametersOf = () => ({})) {
    const calls = this.children.map(async ({ child, ids, ended }) => {
      const answer = once(child, 'message');
      child.send({ action, ...parametersOf(ids) });
      const [{ result, error }] = await Promise.race([answer, ended]);
      if (error) throw new Error(`a process of members ${ids.join()}: ${error}`);
      return result;
    });
    return Promise.all(calls);
  }

  /** Seconds of an action at all processes, and the processor time that they all took for it. */
  async timed(action, parametersOf) {
    const before = await this.all('usage');
    const start = performance.now();
    await this.all(action, parametersOf);
    const seconds = (performance.now() - start) / 1000;
    const after = await this.all('usage');
    const sum = (usages) => usages.reduce((total, { cpu }) => total + cpu, 0);
    return { seconds, cpu: sum(after) - sum(before), root: after[0] };
  }

  async end() {
    await this.all('leave');
    for (const { child } of this.children) child.disconnect();
    await Promise.all(this.children.map(({ ended }) => ended));
  }
}

async function measure(n, { perProcess, rounds, transport, small }) {
  const reserved = await reserveLoopbackPorts(n);
  const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
  await Promise.all(reserved.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  const crew = new Crew(
    members.map(({ id }) => id),
    perProcess,
  );
  // Every process runs before the clock does.
  await crew.all('usage');
  const join = await crew.timed('join', (ids) => ({ ids, members, transport }));
  const created = [];
  const closed = [];
  for (let round = 0; round < rounds; round += 1) {
    const options = { id: round + 1, members: members.map(({ id }) => id) };
    if (small !== undefined) options.smallMessageBytes = small;
    created.push(await crew.timed('create', () => options));
    await crew.timed('send', () => ({ byteLength: 1 << 20 }));
    closed.push(await crew.timed('close'));
  }
  await crew.end();
  const of = (list, key) => median(list.map((each) => each[key]));
  return {
    members: n,
    joinSeconds: join.seconds,
    joinCpu: join.cpu,
    firstSeconds: created[0].seconds,
    firstCpu: created[0].cpu,
    createSeconds: of(created.slice(1), 'seconds'),
    createCpu: of(created.slice(1), 'cpu'),
    closeSeconds: of(closed, 'seconds'),
    closeCpu: of(closed, 'cpu'),
    descriptors: created.at(-1).root.descriptors,
    residentMiB: created.at(-1).root.residentMiB,
    load: loadavg()[0],
  };
}

if (values.child) serve();
else {
  const options = {
    perProcess: Number(values['per-process']),
    rounds: Number(values.rounds),
    transport: values.transport,
    small: values.small === undefined ? undefined : Number(values.small),
  };
  const rows = [];
  for (const n of values.members.split(',').map(Number)) {
    const row = await measure(n, options);
    const shown = Object.entries(row).map(([key, value]) => [key, Math.round(value * 1000) / 1000]);
    rows.push(Object.fromEntries(shown));
    process.stderr.write(`${shown.map(([key, value]) => `${key} ${value}`).join(', ')}\n`);
  }
  if (values.json) console.log(JSON.stringify({ result: rows }, null, 2));
}
