// Members of groups, one in each host of a lab, seen from the process that measures.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MEMBER = fileURLToPath(new URL('member.mjs', import.meta.url));
const MESH_PORT = 7400;

/**
 * In place of a lab: all members on loopback, without root, with names from 0. With `linkRate` (bits per second) the
 * device of each has a link of its own. `firstPort` keeps two such clusters apart.
 */
export function onLoopback(linkRate, firstPort = 0) {
  return {
    linkRate,
    host: (name) => ({ ipv4: '127.0.0.1', meshPort: MESH_PORT + firstPort + Number(name) }),
    exec: (_host, command, args, options) => spawn(command, args, options),
  };
}
const WARM_UP_ROUNDS = 5;
const WARM_UP_BYTES = 16 << 20;

export class Cluster {
  #children = [];
  #calls = new Map();
  #arrivals = new Map();
  #groups = new Map();
  #failure = resolvers();
  #nextCall = 1;

  /** Starts a member in each of these hosts; they form one mesh. */
  static async start(lab, hosts, { windowMs = 50, timeoutMs, transport = 'tcp' } = {}) {
    const cluster = new Cluster();
    cluster.#failure.promise.catch(() => {});
    for (const host of hosts) cluster.#spawn(lab, host);
    const members = hosts.map((host, id) => {
      const { ipv4, meshPort = MESH_PORT } = lab.host(host);
      return { id, host: ipv4, port: meshPort };
    });
    const { linkRate } = lab;
    await cluster.all((id) => ({
      action: 'join',
      id,
      members,
      address: members[id].host,
      windowMs,
      transport,
      linkRate,
      timeoutMs,
    }));
    return cluster;
  }

  #spawn(lab, host) {
    const child = lab.exec(host, process.execPath, [MEMBER], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    child.on('message', (message) => this.#heard(host, message));
    child.on('exit', (code, signal) =>
      this.#failure.reject(new Error(`the member at ${host} ended: ${code ?? signal}`)),
    );
    this.#children.push(child);
  }

  get size() {
    return this.#children.length;
  }

  pids() {
    return this.#children.map((child) => child.pid);
  }

  /** `formed` of the group: seconds until its creation has resolved at the last member. Its memory is filled before. */
  async open(id, bytes, { members = [...this.#children.keys()], shared, ...options } = {}) {
    await this.some(members, () => ({ action: 'fill', id, bytes, members, shared }));
    const began = performance.now();
    await this.some(members, () => ({ action: 'open', id, members, shared, ...options }));
    const group = { id, members, skews: [], formed: (performance.now() - began) / 1000 };
    this.#groups.set(id, group);
    return group;
  }

  async close(group) {
    this.#groups.delete(group.id);
    await this.some(group.members, () => ({ action: 'close', group: group.id }));
  }

  async prepare(group, bytes) {
    await this.some(group.members, () => ({ action: 'prepare', group: group.id, bytes }));
  }

  /**
   * `count` messages of a group. Resolves with the root's clock at its submission and the clocks of the
   * receivers when they had the last one, in seconds. Of a single message, the group's `skews` get the time from the first
   * receiver to the last one.
   */
  async multicast(group, bytes, count = 1) {
    const receivers = group.members.length - 1;
    const arrived = this.#arrive(group.id, receivers * count);
    const started = await this.call(group.members[0], { action: 'send', group: group.id, bytes, count });
    const at = await Promise.race([arrived, this.#failure.promise]);
    if (count === 1) group.skews.push((Math.max(...at) - Math.min(...at)) / 1e9);
    return { started: started / 1e9, ended: Math.max(...at) / 1e9 };
  }

  /** One message; seconds from submission until the slowest receiver has it. */
  async seconds(group, bytes) {
    await this.prepare(group, bytes);
    const { started, ended } = await this.multicast(group, bytes);
    return ended - started;
  }

  /** Messages beforehand, so that V8 has compiled what runs for every block: all members share two cores here. */
  async warm(group, bytes) {
    for (let i = 0; i < WARM_UP_ROUNDS; i += 1) await this.seconds(group, Math.min(bytes, WARM_UP_BYTES));
    group.skews.length = 0;
  }

  /** Whether every byte is the root's at every member. */
  async verify(group, bytes) {
    const digests = await this.some(group.members, () => ({ action: 'digest', group: group.id, bytes }));
    if (new Set(digests).size !== 1) throw new Error('a member has other bytes than the root');
  }

  usage() {
    return this.all(() => ({ action: 'usage' }));
  }

  /** Closes what is open, and ends every member. */
  async stop() {
    for (const group of [...this.#groups.values()]) await this.close(group);
    const exits = this.#children.map((child) => once(child, 'exit'));
    await this.all(() => ({ action: 'leave' }));
    for (const child of this.#children) child.disconnect();
    await Promise.all(exits);
  }

  all(messageFor) {
    return this.some([...this.#children.keys()], messageFor);
  }

  some(ids, messageFor) {
    return Promise.all(ids.map((id) => this.call(id, messageFor(id))));
  }

  call(id, message) {
    const call = this.#nextCall;
    this.#nextCall += 1;
    const answer = new Promise((resolve, reject) => this.#calls.set(call, { id, resolve, reject }));
    this.#children[id].send({ call, ...message });
    return Promise.race([answer, this.#failure.promise]);
  }

  #arrive(group, count) {
    return new Promise((resolve) => this.#arrivals.set(group, { count, at: [], resolve }));
  }

  #heard(host, message) {
    if (message.event === 'failed') {
      this.#failure.reject(new Error(`the member at ${host}: ${message.reason}`));
    } else if (message.event === 'arrived') {
      const waiting = this.#arrivals.get(message.group);
      waiting.at.push(message.at);
      if (waiting.at.length === waiting.count) waiting.resolve(waiting.at);
    } else {
      const { resolve, reject } = this.#calls.get(message.call);
      this.#calls.delete(message.call);
      if (message.error) reject(new Error(`the member at ${host}: ${message.error}`));
      else resolve(message.result);
    }
  }
}

function resolvers() {
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}
