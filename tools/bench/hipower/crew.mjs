// The processes of a benchmark, one per member, called over IPC.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { reserveLoopbackPorts } from '@rdmc/mesh';

const MEMBER = fileURLToPath(new URL('./member.mjs', import.meta.url));

export class Crew {
  #members;

  /** Members 0 to count − 1, joined. */
  static async start(count, device) {
    const reserved = await reserveLoopbackPorts(count);
    const members = reserved.map(({ host, port }, id) => ({ id, host, port }));
    const crew = new Crew();
    crew.#members = reserved.map(({ server }) => {
      const child = fork(MEMBER);
      return { child, server, calls: new Map(), next: 1 };
    });
    for (const member of crew.#members) listen(member);
    await Promise.all(
      crew.#members.map(async ({ server }, id) => {
        const joined = crew.call(id, 'join', { id, members, device }, server);
        server.close();
        await joined;
      }),
    );
    return crew;
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
