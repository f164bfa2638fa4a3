// Load on servers of kv for benchmarks that look at single requests: open loop, where a request is due at its time whether or not the
// one before is answered, and closed loop.
import { once } from 'node:events';
import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';

/** One command in RESP. */
export function resp(...words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`).join('')}`;
}

/** The length of the first reply; undefined while it is incomplete. Simple strings, errors, numbers and bulk strings. */
function replyLength(bytes) {
  const end = bytes.indexOf('\r\n');
  if (end < 0) return undefined;
  if (bytes[0] !== 0x24) return end + 2;
  const length = Number(bytes.toString('latin1', 1, end));
  const whole = length < 0 ? end + 2 : end + 2 + length + 2;
  return bytes.length < whole ? undefined : whole;
}

/** A connection with one request at a time. */
export class Connection {
  #received = Buffer.alloc(0);
  #done;

  static async open(port) {
    const made = new Connection();
    made.socket = connect(port, '127.0.0.1').setNoDelay(true);
    await once(made.socket, 'connect');
    made.socket.on('data', (chunk) => made.#take(chunk));
    return made;
  }

  /** Resolves with the reply, as text. */
  ask(command) {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.socket.write(command);
    });
  }

  close() {
    this.socket.destroy();
  }

  #take(chunk) {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const length = replyLength(this.#received);
    if (length === undefined) return;
    const reply = this.#received.toString('utf8', 0, length);
    this.#received = this.#received.subarray(length);
    this.#done(reply);
  }
}

/** Counts of a load: latencies in microseconds. */
export class Counts {
  requests = 0;
  errors = 0;
  histogram = createHistogram();

  add(startedAt, reply) {
    this.requests += 1;
    if (reply.startsWith('-')) this.errors += 1;
    this.histogram.record(Math.max(1, Math.round((performance.now() - startedAt) * 1000)));
  }

  /** In milliseconds. */
  percentile(percent) {
    return this.histogram.percentile(percent) / 1000;
  }
}

/** Requests as fast as the connections get replies, until the signal. Resolves with counts and requests per second. */
export async function closedLoop(connections, next, signal) {
  const counts = new Counts();
  const began = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      while (!signal.aborted) {
        const startedAt = performance.now();
        counts.add(startedAt, await connection.ask(next()));
      }
    }),
  );
  return { counts, perSecond: (counts.requests * 1000) / (performance.now() - began) };
}

/**
 * Requests at a rate, each timed from the moment at which it is due, until the signal. `onReply` gets the command, and the moments at
 * which it was due, left and was answered.
 */
export async function openLoop(connections, next, perSecond, signal, onReply = () => {}) {
  const counts = new Counts();
  const free = [...connections];
  const due = [];
  const work = new Set();
  const began = performance.now();
  let issued = 0;
  const begin = () => {
    while (due.length > 0 && free.length > 0) {
      const [connection, dueAt] = [free.pop(), due.shift()];
      const [command, askedAt] = [next(), performance.now()];
      const asked = connection.ask(command).then((reply) => {
        counts.add(dueAt, reply);
        onReply({ command, dueAt, askedAt, endedAt: performance.now() });
        free.push(connection);
        work.delete(asked);
        begin();
      });
      work.add(asked);
    }
  };
  while (!signal.aborted) {
    const now = performance.now();
    for (; issued < ((now - began) * perSecond) / 1000; issued += 1)
      due.push(began + (issued * 1000) / perSecond);
    begin();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(work);
  return { counts, perSecond: (counts.requests * 1000) / (performance.now() - began) };
}
