// Appends per second over time while the log is cleaned: `node bench/cleaning.mjs [--seconds 12] [--segments 64]`.
// Random overwrites of objects with values of 100 bytes and keys of 30; the live ones fill a given part of the log's
// space. 3 backups, a process each; 64 outstanding appends.
import { parseArgs } from 'node:util';
import { decodeObject, EntryType, encodeObject } from '@rdmc/tailwind';
import { runMember, startMembers } from './members.mjs';

const ENTRY_BYTES = 12 + 12 + 30 + 100;
const DEPTH = 64;
const SEGMENT_BYTES = 8 * 1024 * 1024;

/** Keys are numbers; the index holds a location for each. */
class Store {
  constructor(keys) {
    this.locations = new Array(keys);
    this.version = 0;
    this.value = new Uint8Array(100).fill(2);
    this.cleaner = {
      followsPlacement: true,
      isLive: ({ payload }, { segmentId, offset }) => {
        const found = this.locations[numberOf(payload)];
        return found?.offset === offset && found.segmentId === segmentId;
      },
      moved: ({ payload }, _from, to) => {
        this.locations[numberOf(payload)] = to;
      },
    };
  }

  async set(number) {
    this.version += 1;
    const key = Buffer.from(String(number).padStart(30, '0'));
    const append = this.log.append({
      type: EntryType.OBJECT,
      parts: encodeObject(this.version, key, this.value),
    });
    if (append.locations) this.#point(number, append.locations[0]);
    else append.acknowledged.then(() => this.#point(number, append.locations[0]));
    await append.acknowledged;
  }

  #point(number, location) {
    const before = this.locations[number];
    if (before) this.log.dead(before);
    this.locations[number] = location;
  }
}

function numberOf(payload) {
  const { key } = decodeObject(payload);
  let number = 0;
  for (let at = 20; at < 30; at += 1) number = number * 10 + key[at] - 48;
  return number;
}

async function measure({ logs }, logId, part, seconds, maxSegments) {
  const keys = Math.floor((part * maxSegments * SEGMENT_BYTES) / ENTRY_BYTES);
  const store = new Store(keys);
  const authority = { raiseMinimum: async () => {} };
  const options = { segmentBytes: SEGMENT_BYTES, maxSegments, cleaner: store.cleaner };
  store.log = await logs.create({ authority, logId, incarnation: 1, ...options });
  for (let first = 0; first < keys; first += 1000) {
    await Promise.all(Array.from({ length: Math.min(1000, keys - first) }, (_, k) => store.set(first + k)));
  }
  const filled = store.log.stats();
  const rates = [];
  let longest = 0;
  for (let second = 0; second < seconds; second += 1) {
    const end = performance.now() + 1000;
    let appends = 0;
    const lane = async () => {
      while (performance.now() < end) {
        const started = performance.now();
        await store.set(Math.floor(Math.random() * keys));
        longest = Math.max(longest, performance.now() - started);
        appends += 1;
      }
    };
    await Promise.all(Array.from({ length: DEPTH }, lane));
    rates.push(appends);
  }
  const { appendedBytes, movedBytes, cleanedSegments, segments } = store.log.stats();
  const moved = movedBytes - filled.movedBytes;
  const cost = (1 + moved / (appendedBytes - filled.appendedBytes)).toFixed(2);
  console.log(
    `${(part * 100).toFixed(0)} % live: ${rates.map((rate) => `${(rate / 1000).toFixed(0)}k`).join(' ')} /s; longest ${longest.toFixed(0)} ms; ` +
      `${cleanedSegments} segments cleaned, write cost ${cost}, ${segments} of ${maxSegments} segments at the end`,
  );
  await store.log.close();
}

if (process.env.BENCH_MEMBER) {
  await runMember();
} else {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '12' }, segments: { type: 'string', default: '64' } },
  });
  for (const part of [0.3, 0.6]) {
    const members = await startMembers(new URL(import.meta.url), 4, 0, 64);
    await measure(members, 1n, part, Number(values.seconds), Number(values.segments));
    await members.end();
  }
}
