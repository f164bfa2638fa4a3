// The processes of a benchmark, one per member, called over IPC.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh/loopback';

const LAB_PORT = 7441;
const LAB_KEY = '0123456789abcdef'.repeat(4);
const MEMBER = fileURLToPath(new URL('./member.mjs', import.meta.url));

export class Crew {
  #members;
  #lab;

  /** Members 0 to count − 1, joined; `devices` go to them in turn. */
  static async start(count, devices) {
    const reserved = await reserveLoopbackPorts(count);
    const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
    const crew = new Crew();
    crew.#members = reserved.map(({ server }) => ({ child: fork(MEMBER), server }));
    await crew.#join(members, devices);
    return crew;
  }

  /** The same in a host of a network each (tools/netlab). Needs root. */
  static async startInLab(count, devices, rate) {
    const { createLab } = await import('@rdmc/netlab');
    const lab = await createLab({ hosts: count, ...(rate !== 'unlimited' && { rate }) });
    const crew = new Crew();
    crew.#lab = lab;
    const stdio = ['ignore', 'inherit', 'inherit', 'ipc'];
    crew.#members = lab.hosts.map(({ name }) => ({
      child: lab.exec(name, process.execPath, [MEMBER], { stdio }),
    }));
    const members = lab.hosts.map(({ ipv4 }, id) => ({ id, host: ipv4, port: LAB_PORT }));
    await crew.#join(members, devices, { key: LAB_KEY });
    return crew;
  }

  async #join(members, devices, options = {}) {
    for (const member of this.#members) {
      Object.assign(member, { calls: new Map(), next: 1 });
      listen(member);
    }
    await Promise.all(
      this.#members.map(async ({ server }, id) => {
        const device = devices[id % devices.length];
        const joined = this.call(id, 'join', { id, members, device, options }, server);
        server?.close();
        await joined;
      }),
    );
  }

  get size() {
    return this.#members.length;
  }

  call(id, name, rest = {}, handle = undefined) {
    const { child, calls } = this.#members[id];
    const call = this.#members[id].next++;
    return new Promise((resolve, reject) => {
      calls.set(call, { resolve, reject });
      child.send({ call, name, ...rest }, handle);
    });
  }

  all(name, rest) {
    return Promise.all(this.#members.map((_, id) => this.call(id, name, rest)));
  }

  async stop() {
    const exits = this.#members.map(({ child }) => new Promise((resolve) => child.once('exit', resolve)));
    for (let id = 0; id < this.size; id += 1) this.call(id, 'leave').catch(() => {});
    await Promise.all(exits);
    await this.#lab?.destroy();
  }
}

function listen({ child, calls }) {
  child.on('message', ({ call, result, error }) => {
    const { resolve, reject } = calls.get(call);
    calls.delete(call);
    if (error) reject(new Error(error));
    else resolve(result);
  });
  child.on('exit', (code, signal) => {
    for (const { reject } of calls.values()) reject(new Error(`a member ended with ${signal ?? code}`));
  });
}
