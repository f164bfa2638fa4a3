// The members of a benchmark, seen from the process that measures.
import { fork } from 'node:child_process';
import { createServer } from 'node:net';

const MEMBER = new URL('member.mjs', import.meta.url);

/** Free ports of 127.0.0.1: all are held at once, then let go. */
async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve) => {
          const server = createServer().listen(0, '127.0.0.1', () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

export class Cluster {
  #children = [];
  #waiting = [];

  /** Starts `n` processes that join one mesh; `allocateBytes` of memory each, faulted in and filled;
   * on the soft device, with links of `linkRate` bits per second, or on the RDMA devices whose names are given. Each member
   * writes a trace into the folder `traces`. */
  static async start(n, { transport = 'shm', allocateBytes = 0, devices, linkRate, ...options } = {}) {
    const { windowMs = 50, silenceTimeoutMs, timeoutMs, traces } = options;
    const cluster = new Cluster();
    const ports = await freePorts(n);
    const members = ports.map((port, id) => ({ id, host: '127.0.0.1', port }));
    for (let id = 0; id < n; id += 1) {
      const child = fork(MEMBER, { serialization: 'advanced' });
      child.on('message', (message) => cluster.#heard(id, message));
      child.on('exit', (code) => cluster.#heard(id, { failed: `exit ${code}`, exited: true }));
      cluster.#children.push(child);
    }
    const device = (id) => (devices ? { device: devices[id] } : { device: 'soft', transport, linkRate });
    await cluster.#all((id) => ({
      action: 'join',
      ...{ id, members, windowMs, silenceTimeoutMs, timeoutMs, device: device(id), allocateBytes, traces },
    }));
    return cluster;
  }

  get size() {
    return this.#children.length;
  }

  get pids() {
    return this.#children.map(({ pid }) => pid);
  }

  async open(options) {
    const members = this.#children.map((_, id) => id);
    await this.#all(() => ({ action: 'open', members, ...options }));
  }

  async close() {
    await this.#all(() => ({ action: 'close' }));
  }

  /** Of each call of `multicast`: milliseconds from the first member that had the last message to the last one. */
  skews = [];

  /** `count` messages from the root, regions or with `asBytes` bytes; milliseconds from submission until the last member has the last one. */
  async multicast(byteLength, count = 1, { asBytes = false } = {}) {
    await this.#all(() => ({ action: 'prepare', count, byteLength }));
    const arrivals = this.#children.slice(1).map((_, index) => this.#next(index + 1, 'arrived'));
    const started = this.#next(0, 'started');
    this.#children[0].send({ action: 'send', count, byteLength, asBytes });
    const ends = await Promise.all(arrivals);
    const { started: start } = await started;
    const at = ends.map(({ arrived }) => arrived);
    this.skews.push((Math.max(...at) - Math.min(...at)) / 1e6);
    return (Math.max(...at) - start) / 1e6;
  }

  verify() {
    return this.#all(() => ({ action: 'verify' }));
  }

  /** Milliseconds in which the first member allocates so many bytes, and writes to all. */
  async populate(byteLength) {
    const done = this.#next(0, 'done');
    this.#children[0].send({ action: 'populate', byteLength });
    return (await done).result;
  }

  usage() {
    return this.#all(() => ({ action: 'usage' }));
  }

  async stop() {
    const exits = this.#children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
    for (const child of this.#children) child.send({ action: 'leave' });
    await Promise.all(exits);
  }

  #all(messageFor) {
    return Promise.all(
      this.#children.map(async (child, id) => {
        const done = this.#next(id, 'done');
        child.send(messageFor(id));
        return (await done).result;
      }),
    );
  }

  #next(id, kind) {
    return new Promise((resolve, reject) => this.#waiting.push({ id, kind, resolve, reject }));
  }

  #heard(id, message) {
    if (message.failed) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const each of waiting) each.reject(new Error(`member ${id}: ${message.failed}`));
      return;
    }
    const index = this.#waiting.findIndex((each) => each.id === id && each.kind in message);
    if (index >= 0) this.#waiting.splice(index, 1)[0].resolve(message);
  }
}

/** Rounds that are not counted: buffers are faulted in on every side, and the code is compiled. */
export const WARM_UP_ROUNDS = 10;

/** Milliseconds of each of `count` messages, one after the other, after `warmUp` others. */
export async function rounds(cluster, byteLength, count, warmUp = WARM_UP_ROUNDS) {
  for (let i = 0; i < warmUp; i += 1) await cluster.multicast(byteLength);
  const times = [];
  for (let i = 0; i < count; i += 1) times.push(await cluster.multicast(byteLength));
  return times;
}

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
