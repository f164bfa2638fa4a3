import { open } from 'node:fs/promises';
import { encodeError, now, raise } from './member-io.mjs';
import { findDifference, sha256Of, writePattern } from './pattern.mjs';

const FILE_CHUNK_BYTES = 4 << 20;
const LOOK_EVERY_MS = 2;
/** Messages of an endless stream that wait at a time. */
const QUEUED = 200;

/**
 * One group at this member. A receiver reports every message to its parent:
 * with `expect` ({ seed, variants }) whether it is that content, otherwise its SHA-256.
 * It keeps the first `keep` messages in memory, to look at them again later.
 */
export function memberGroup(node, group, { expect, keep = 0 }) {
  const kept = [];
  const regions = new Map();

  async function inspect(message) {
    const { number, byteLength } = message;
    const piece = pieces(message);
    if (!expect) return { sha256: await sha256Of(byteLength, piece) };
    const seed = expect.seed + (number % expect.variants);
    return { differsAt: await findDifference(seed, byteLength, piece) };
  }

  /** How the reception ended, in words. */
  let ended;

  async function receive() {
    try {
      for await (const message of group) {
        const at = now();
        const { number, byteLength } = message;
        raise('message', { group: group.id, number, byteLength, arrivedAt: at, ...(await inspect(message)) });
        if (kept.length < keep) kept.push(message);
        else message.release();
      }
      ended = 'without an error';
      raise('end', { group: group.id, error: null });
    } catch (error) {
      ended = `with: ${error.message}`;
      raise('end', { group: group.id, error: encodeError(error) });
    }
  }

  async function regionOf(seed, byteLength) {
    const name = `${seed}/${byteLength}`;
    if (!regions.has(name)) {
      const region = await node.allocate(byteLength);
      await writePattern(seed, byteLength, (at, bytes) => region.view(at, bytes.length).set(bytes));
      regions.set(name, region);
    }
    return regions.get(name);
  }

  function settled(promise) {
    return promise.then(
      () => ({ at: now(), error: null }),
      (error) => ({ at: now(), error: encodeError(error) }),
    );
  }

  function watch(look) {
    return new Promise((resolve, reject) => {
      const timer = setInterval(() => {
        try {
          const seen = look();
          if (seen === undefined) return;
          resolve(seen);
        } catch (error) {
          reject(error);
        }
        clearInterval(timer);
      }, LOOK_EVERY_MS);
    });
  }

  if (!group.isRoot) void receive();

  let closing = false;

  /**
   * Starts to send `count` messages at once: message i has the content of seed + i modulo `variants`. With the count
   * 'endless' it sends until a message fails.
   */
  async function prepare({ seed, byteLength, count = 1, variants = 1 }) {
    const contents = [];
    for (let variant = 0; variant < variants; variant += 1)
      contents.push(await regionOf(seed + variant, byteLength));
    return () => {
      raise('sending', { group: group.id });
      const one = (i) => settled(group.send(contents[i % variants], { byteLength }));
      if (count === 'endless') return sendUntilFailure(one);
      return Promise.all(Array.from({ length: count }, (_, i) => one(i)));
    };
  }

  /** The results of all messages, in order. A group that closes accepts no further ones. */
  async function sendUntilFailure(one) {
    const sends = Array.from({ length: QUEUED }, (_, i) => one(i));
    for (let i = 0; i < sends.length && (await sends[i]).error === null; i += 1) {
      if (!closing) sends.push(one(sends.length));
    }
    return Promise.all(sends);
  }

  return {
    prepare,
    send: async (what) => (await prepare(what))(),
    async sendFile(path) {
      const file = await open(path);
      const { size } = await file.stat();
      const region = await node.allocate(size);
      for (let at = 0; at < size; ) {
        const length = Math.min(FILE_CHUNK_BYTES, size - at);
        at += (await file.read(region.view(at, length), 0, length)).bytesRead;
      }
      await file.close();
      await group.send(region);
      return { byteLength: size };
    },
    progress: () => group.progress(),
    /** Resolves when a number of the progress is `least`, at the least; rejects when the group ends before. */
    reached: (field, least) =>
      watch(() => {
        const progress = group.progress();
        if (progress[field] >= least) return { at: now(), progress };
        if (ended !== undefined) throw new Error(`Group ${group.id} has ended ${ended}`);
        return undefined;
      }),
    /** Resolves when nothing was received for `quietMs`. */
    stalled(quietMs) {
      let last = -1;
      let since = now();
      return watch(() => {
        const { bytesReceived, bytesSent } = group.progress();
        if (bytesReceived + bytesSent !== last) {
          last = bytesReceived + bytesSent;
          since = now();
        }
        return now() - since >= quietMs ? { progress: group.progress() } : undefined;
      });
    },
    /** Looks at the messages kept once more. */
    verifyKept: () =>
      Promise.all(kept.map(async (message) => ({ number: message.number, ...(await inspect(message)) }))),
    async close(options) {
      closing = true;
      const { error, at } = await settled(group.close(options));
      return { error, at, progress: group.progress() };
    },
  };
}

function pieces(message) {
  return (at, length) => message.region.view(message.offset + at, length);
}
