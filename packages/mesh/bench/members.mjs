// A mesh of many members in a few processes on loopback: how long it takes to form, and what an idle member costs.
//
//   node packages/mesh/bench/members.mjs [--members 256] [--processes 4] [--key] [--idle-seconds 30] [--static]
//
// All members but the first join at once, through the first. Without --key: no TLS. --static: a fixed list instead.
import { fork } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Mesh } from '@rdmc/mesh';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

const HOST = '127.0.0.1';
/** After the mesh has formed: garbage of the handshakes is collected, and rosters are repaired. */
const SETTLE_MS = 10_000;
const JOIN_MS = 300_000;

if (process.send) await member();
else await measure();

async function measure() {
  const { values } = parseArgs({
    options: {
      members: { type: 'string', default: '256' },
      processes: { type: 'string', default: '4' },
      key: { type: 'boolean', default: false },
      static: { type: 'boolean', default: false },
      'idle-seconds': { type: 'string', default: '30' },
    },
  });
  const members = Number(values.members);
  const count = Number(values.processes);
  const processes = Array.from({ length: count }, () => fork(fileURLToPath(import.meta.url)));
  const ids = processes.map((_, at) => range(members).filter((id) => id % count === at));
  const list = values.static ? await freePorts(members) : undefined;
  await all(processes, 'ready');
  const options = { members, key: values.key ? 'a key for measurements only' : undefined, list };
  const { address } = list ? {} : await ask(processes[0], { do: 'found', ...options });
  const before = performance.now();
  await Promise.all(
    processes.map((each, at) => ask(each, { do: 'join', ids: ids[at], through: address, ...options })),
  );
  const formedMs = performance.now() - before;
  const forming = await Promise.all(processes.map((each) => ask(each, { do: 'usage' })));
  await delay(SETTLE_MS);
  const first = await Promise.all(processes.map((each) => ask(each, { do: 'usage' })));
  await delay(Number(values['idle-seconds']) * 1000);
  const last = await Promise.all(processes.map((each) => ask(each, { do: 'usage' })));
  const elapsed = last[0].at - first[0].at;
  const idle = sum(last, 'cpuMs') - sum(first, 'cpuMs');
  console.log(
    JSON.stringify({
      members,
      processes: count,
      key: values.key,
      static: values.static,
      formedSeconds: round(formedMs / 1000, 1),
      formingCpuSeconds: round(sum(forming, 'cpuMs') / 1000, 1),
      idlePercentOfACorePerMember: round((100 * idle) / elapsed / members, 3),
      descriptorsPerProcess: Math.max(...last.map(({ descriptors }) => descriptors)),
      megabytesPerProcess: Math.max(...last.map(({ megabytes }) => megabytes)),
      lostWhileIdle: sum(last, 'lost'),
    }),
  );
  for (const each of processes) each.disconnect();
}

async function member() {
  const meshes = [];
  let lost = 0;
  const common = ({ key }) => ({ timeoutMs: JOIN_MS, ...(key ? { key } : { insecure: true }) });
  const start = async (id, more) => {
    const mesh = await Mesh.join({ id, ...more });
    mesh.onMember(({ type }) => {
      if (type === 'lost') lost += 1;
    });
    meshes.push(mesh);
    return mesh;
  };
  const live = (id, join, command, port = 0) =>
    start(id, { join, listen: { host: HOST, port }, ...common(command) });
  const actions = {
    async found(command) {
      const [{ port, server }] = await reserveLoopbackPorts(1);
      await new Promise((resolve) => server.close(resolve));
      await live(0, [], command, port);
      return { address: `${HOST}:${port}` };
    },
    async join(command) {
      const { ids, through, members, list } = command;
      const mine = list ? ids : ids.filter((id) => id !== 0);
      await Promise.all(
        mine.map((id) =>
          list ? start(id, { members: list, ...common(command) }) : live(id, [through], command),
        ),
      );
      await Promise.all(meshes.map((mesh) => connected(mesh, members - 1)));
      return {};
    },
    async usage() {
      const { user, system } = process.cpuUsage();
      return {
        at: performance.now(),
        cpuMs: (user + system) / 1000,
        lost,
        descriptors: readdirSync('/proc/self/fd').length,
        megabytes: Math.round(process.memoryUsage.rss() / 2 ** 20),
      };
    },
  };
  process.on('message', async (command) =>
    process.send({ done: command.do, ...(await actions[command.do](command)) }),
  );
  process.on('disconnect', () => process.exit(0));
  process.send({ done: 'ready' });
}

/** Resolves when the member is connected to so many others. */
function connected(mesh, count) {
  return new Promise((resolve) => {
    const present = new Set();
    const events = mesh.onMember(({ type, member: peer }) => {
      if (type === 'joined') present.add(peer);
      else present.delete(peer);
      if (present.size < count) return;
      events.close();
      resolve();
    });
  });
}

async function freePorts(count) {
  const reserved = await reserveLoopbackPorts(count);
  await Promise.all(reserved.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  return reserved.map(({ host, port }, id) => ({ id, host, port }));
}

function ask(child, command) {
  const answer = answerOf(child, command.do);
  child.send(command);
  return answer;
}

function all(processes, what) {
  return Promise.all(processes.map((each) => answerOf(each, what)));
}

function answerOf(child, what) {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a process ended with ${code}`)));
    child.on('message', (message) => {
      if (message.done === what) resolve(message);
    });
  });
}

function range(count) {
  return Array.from({ length: count }, (_, index) => index);
}

function sum(usages, name) {
  return usages.reduce((total, usage) => total + usage[name], 0);
}

function round(value, digits) {
  return Number(value.toFixed(digits));
}
