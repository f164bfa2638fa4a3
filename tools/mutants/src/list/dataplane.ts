import type { Mutant } from '../mutant.js';

const PACKAGE = 'packages/dataplane';
const RING = ['packages/dataplane/test/ring.test.ts'];
const POLICY = ['packages/dataplane/test/poll-policy.test.ts'];

/** The rings and the polling of the worker. */
export const dataplane: readonly Mutant[] = [
  {
    id: 'dataplane/ring-overrun',
    package: PACKAGE,
    function: 'RingWriter.tryWrite',
    find: 'used + skipped + padded > this.#size',
    replace: 'used + padded > this.#size',
    fault: 'A record that wraps overwrites one that was not read.',
    tests: RING,
  },
  {
    id: 'dataplane/ring-wrap',
    package: PACKAGE,
    function: 'RingWriter.tryWrite',
    find: 'padded > rest ? rest : 0',
    replace: '0',
    fault: 'A record runs over the end of the ring.',
    tests: RING,
  },
  {
    id: 'dataplane/ring-head-before-bytes',
    package: PACKAGE,
    function: 'RingReader.next',
    find: 'if (this.#u32[at >>> 2] === WRAP_MARKER) { skipped = this.#size - at; at = 0; }',
    replace: '',
    fault: 'The reader takes the mark of a wrap as a length.',
    tests: RING,
  },
  {
    id: 'dataplane/payload-not-copied',
    package: PACKAGE,
    function: 'RingReader.payload',
    find: 'this.#bytes.slice(this.#payloadAt, this.#payloadAt + this.#payloadBytes)',
    replace: 'this.#bytes.subarray(this.#payloadAt, this.#payloadAt + this.#payloadBytes)',
    fault: 'A payload changes when the ring goes round.',
    tests: RING,
  },
  {
    id: 'dataplane/record-too-large',
    package: PACKAGE,
    function: 'RingWriter.check',
    find: 'payload.byteLength > this.maxPayload',
    replace: 'false',
    fault: 'A record that never fits waits for ever.',
    tests: RING,
  },
  {
    id: 'dataplane/rest-not-doubled',
    package: PACKAGE,
    function: 'PollPolicy.yielded',
    find: 'Math.min(this.#nextRestMs * 2, MAX_REST_MS)',
    replace: 'this.#nextRestMs',
    fault: 'A machine that is short of cores is probed all the time.',
    tests: POLICY,
  },
  {
    id: 'dataplane/rest-unbounded',
    package: PACKAGE,
    function: 'PollPolicy.yielded',
    find: 'Math.min(this.#nextRestMs * 2, MAX_REST_MS)',
    replace: 'this.#nextRestMs * 2',
    fault: 'Polling never comes back after contention.',
    tests: POLICY,
  },
  {
    id: 'dataplane/never-calm',
    package: PACKAGE,
    function: 'PollPolicy.yielded',
    find: 'this.#calmYields = 0;',
    replace: '',
    fault: 'Calm polls need not follow one another.',
    tests: POLICY,
  },
  {
    id: 'dataplane/infinite-window',
    package: PACKAGE,
    function: 'PollPolicy.maySleep',
    find: 'if (this.windowMs === Number.POSITIVE_INFINITY) return false;',
    replace: '',
    fault: 'A worker that should poll for ever sleeps while polling rests.',
    tests: POLICY,
  },
];
