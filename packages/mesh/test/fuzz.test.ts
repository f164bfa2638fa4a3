/**
 * Hostile bytes against everything that reads frames: only errors with a code, nothing that hangs, nothing beyond the
 * bounds. RDMC_TEST_FUZZ_SECONDS gives each property that much time in place of its usual number of runs. A failure
 * prints its seed and the command that repeats it.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Body, BodyKind, decodeBody, encodeBody } from '../src/body.js';
import {
  MAX_KEPT_BYTES_PER_PEER,
  MAX_KEPT_MESSAGES,
  MAX_PURPOSE_BYTES,
  MAX_REASON_CHARACTERS,
  PROTOCOL_VERSION,
} from '../src/constants.js';
import { MeshError } from '../src/errors.js';
import { FrameReader } from '../src/frame-reader.js';
import {
  decodeAbort,
  decodeErrorBody,
  decodeFailure,
  decodeMessage,
  decodeReply,
  decodeRequest,
  encodeAbort,
  encodeFailure,
  encodeFrame,
  encodeMessage,
  encodeReply,
  encodeRequest,
  type Frame,
  FrameType,
  LENGTH_BYTES,
} from '../src/frames.js';
import { decodeHello, decodeReject, encodeHello, encodeReject, type Hello } from '../src/hello.js';
import { encodeJson } from '../src/json.js';
import {
  decodeIntroduction,
  decodeRoster,
  decodeStop,
  encodeIntroduction,
  encodeRoster,
  encodeStop,
} from '../src/live/frames.js';
import { decodeLiveHello } from '../src/live/live-hello.js';
import { isMemberId } from '../src/members.js';
import { TopicSubscriptions } from '../src/topic-subscriptions.js';
import { assertWhole, closed, failureOf, form, stranger, until } from './helpers.js';

const SECONDS = Number(process.env.RDMC_TEST_FUZZ_SECONDS ?? 0);
const LIMIT = 4096;

function runs<T>(usual: number): fc.Parameters<T> {
  if (SECONDS === 0) return { numRuns: usual };
  return { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: SECONDS * 1000 };
}
const TIME = { timeout: SECONDS * 4000 + 180_000 };

const body = encodeBody;
const errorBody = {
  kind: BodyKind.ERROR,
  bytes: Buffer.from(JSON.stringify({ code: 'ERR_RDMC_X', message: 'no' })),
};
const greeting: Hello = {
  version: PROTOCOL_VERSION,
  from: 1,
  to: 0,
  digest: Buffer.alloc(32, 7),
  instance: Buffer.alloc(16, 9),
  maxFrameBytes: 1 << 20,
  levels: { least: 1, most: 2 },
  attributes: { 'rdmc.device': 'soft', insists: false, n: 1.5, none: null },
};
const hello = encodeHello(greeting);
const further = encodeHello({ ...greeting, connection: { purpose: 'test', id: 'ab'.repeat(16) } });
const place = { host: '127.0.0.1', port: 7000, process: { host: 'here', pid: 1 } };
const entry = { id: 3, incarnation: 2, instance: 'ab'.repeat(16), ...place };
/** What a HELLO of a member that comes and goes says beside its attributes. */
const liveHello = encodeJson({ ...place, incarnation: 1, epoch: 1, roster: 'ab'.repeat(8), attributes: {} });
/** One of every kind: what mutations begin with. */
const VALID: readonly Buffer[] = [
  hello,
  further,
  encodeReject({ version: 1, code: 'ERR_RDMC_MESH_VERSION', message: 'no' }),
  ...[FrameType.CONFIRM, FrameType.READY, FrameType.HEARTBEAT, FrameType.LEAVE].map((type) =>
    encodeFrame(type),
  ),
  encodeMessage(Buffer.from('topic'), body({ a: [1, 2] })),
  encodeRequest(7, Buffer.from('topic'), body(null)),
  encodeMessage(Buffer.from('topic'), body(Uint8Array.of(1, 2, 255))),
  encodeRequest(7, Buffer.from('topic'), body(new Uint8Array(100))),
  encodeReply(7, body('answer')),
  encodeReply(7, body(Uint8Array.of(0))),
  encodeReply(7, errorBody),
  encodeFailure({ member: 2, reporter: 1, code: 'ERR_RDMC_MESH_MEMBER_LOST', reason: 'gone' }),
  encodeAbort({ code: 'ERR_RDMC_MESH_TIMEOUT', message: 'late', final: true }),
  encodeFrame(FrameType.HELLO, liveHello),
  encodeRoster({ entries: [entry], marks: [{ id: 4, incarnation: 1 }], lost: [5], isWhole: true }),
  encodeIntroduction({ entry, replace: true }),
  encodeStop({ code: 'ERR_RDMC_MESH_REMOVED', message: 'no', holder: place.process }),
];
/** What earlier versions of such code fell over, and members with an id beyond the largest one. */
const CORPUS: readonly Buffer[] = [
  Buffer.from('{"__proto__":{"polluted":1},"code":"ERR_RDMC_X","reason":"x"}'),
  Buffer.from('{"code":"ERR_RDMC_X\\n","reason":"x"}'),
  Buffer.from('['.repeat(200_000)),
  Buffer.from(`{"code":"ERR_RDMC_X","message":"${'x'.repeat(100_000)}"}`),
  Buffer.from('null'),
  Buffer.from('"\\ud800"'),
  ...['entries', 'entry'].map((field) => {
    const wrong = [2 ** 32, 1, 'ab'.repeat(16), 'host', 1, 'host', 1];
    const rest = { marks: [], lost: [], isWhole: true, replace: true };
    return encodeJson({ ...rest, [field]: field === 'entry' ? wrong : [wrong] });
  }),
  Buffer.of(0xff, 0xfe, 0xfd),
  Buffer.alloc(0),
];

/** Lengths that no frame has. */
const LENGTHS = [Buffer.alloc(8), Buffer.alloc(8, 0xff), Buffer.of(0x01, 0x10, 0, 0, 1)];

/** A valid frame with some bytes changed, cut or doubled. */
const mutated = fc
  .tuple(
    fc.constantFrom(...VALID),
    fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 6 }),
    fc.option(fc.nat(100), { nil: undefined }),
    fc.boolean(),
  )
  .map(([frame, changes, cut, isDoubled]) => {
    const bytes = Buffer.from(frame);
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    const short = cut === undefined ? bytes : bytes.subarray(0, cut % bytes.length);
    return isDoubled ? Buffer.concat([short, bytes]) : short;
  });
const raw = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
const payload = fc.oneof(
  { weight: 3, arbitrary: mutated.map((frame) => frame.subarray(Math.min(LENGTH_BYTES + 1, frame.length))) },
  { weight: 2, arbitrary: raw },
  { weight: 1, arbitrary: fc.constantFrom(...CORPUS) },
  { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
);

/** The value, or undefined where the bytes are refused as they must be. */
function refusedOr<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    expect(error).toBeInstanceOf(MeshError);
    expect((error as MeshError).code).toBe('ERR_RDMC_MESH_PROTOCOL');
    return undefined;
  }
}

/** Whatever a body is decoded into, what is kept of bytes is at most twice their number. */
function expectBounded(found: Body, from: Buffer): void {
  expect(found.bytes.length).toBeLessThan(from.length);
  const value = found.kind === BodyKind.ERROR ? undefined : refusedOr(() => decodeBody(found));
  if (!(value instanceof Uint8Array)) return;
  expect(value.buffer.byteLength).toBeLessThanOrEqual(2 * value.length);
  expect(Buffer.from(value)).toEqual(found.bytes);
}

/** The members that a ROSTER or an INTRODUCE names. */
function entriesOf({ entries, entry }: Record<string, unknown>): readonly { readonly id: unknown }[] {
  return (entries ?? (entry === undefined ? [] : [entry])) as readonly { readonly id: unknown }[];
}

/** Everything that a reader of that limit makes of the bytes, cut in these places. */
function framesOf(bytes: Buffer, cuts: readonly number[]): { frames: Frame[]; failed: boolean } {
  const reader = new FrameReader(LIMIT);
  const frames: Frame[] = [];
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  let at = 0;
  let taken = 0;
  for (const end of places) {
    reader.push(bytes.subarray(at, end));
    at = end;
    for (;;) {
      let frame: Frame | undefined;
      try {
        frame = reader.next();
      } catch (error) {
        expect((error as MeshError).code).toBe('ERR_RDMC_MESH_PROTOCOL');
        return { frames, failed: true };
      }
      if (frame === undefined) break;
      expect(frame.payload.length).toBeLessThan(LIMIT);
      frames.push({ type: frame.type, payload: Buffer.from(frame.payload) });
      taken += LENGTH_BYTES + 1 + frame.payload.length;
    }
    expect(reader.bufferedBytes).toBe(at - taken);
    expect(reader.bufferedBytes).toBeLessThan(LIMIT + LENGTH_BYTES);
  }
  return { frames, failed: false };
}

describe('hostile bytes', () => {
  it('are cut into the same frames wherever they are split, and never kept beyond one frame', TIME, () => {
    const stream = fc
      .array(fc.oneof(mutated, raw, fc.constantFrom(...VALID, ...LENGTHS)), { maxLength: 8 })
      .map((all) => Buffer.concat(all));
    const cuts = fc.array(fc.nat(4000), { maxLength: 20 });
    fc.assert(
      fc.property(stream, cuts, (bytes, places) => {
        expect(framesOf(bytes, places)).toEqual(framesOf(bytes, []));
      }),
      runs(600),
    );
  });

  it.each<[string, (bytes: Buffer) => unknown]>([
    ['HELLO', (bytes) => decodeHello(bytes, PROTOCOL_VERSION)],
    ['REJECT', decodeReject],
    ['MESSAGE', decodeMessage],
    ['REQUEST', decodeRequest],
    ['REPLY', decodeReply],
    ['error body', decodeErrorBody],
    ['FAILURE', decodeFailure],
    ['ABORT', decodeAbort],
    ['HELLO of a member that comes and goes', (bytes) => decodeLiveHello(bytes, false)],
    ['ROSTER', decodeRoster],
    ['INTRODUCE', decodeIntroduction],
    ['STOP', decodeStop],
  ])('as a %s: are decoded or refused with a code, and what comes out is bounded', TIME, (_name, decode) => {
    fc.assert(
      fc.property(payload, (bytes) => {
        const value = refusedOr(() => decode(bytes)) as Record<string, unknown> | undefined;
        if (value === undefined) return;
        if (typeof value.body === 'object') expectBounded(value.body as Body, bytes);
        for (const id of ['from', 'to', 'member', 'reporter']) {
          if (value[id] !== undefined) expect(isMemberId(value[id])).toBe(true);
        }
        for (const { id } of entriesOf(value)) expect(isMemberId(id)).toBe(true);
        const { connection } = value as Partial<Hello>;
        if (connection !== undefined) {
          expect(connection.id).toMatch(/^[0-9a-f]{32}$/);
          expect(Buffer.byteLength(connection.purpose)).toBeLessThanOrEqual(MAX_PURPOSE_BYTES);
        }
        for (const text of ['reason', 'message']) {
          if (typeof value[text] === 'string' && decode !== decodeErrorBody)
            expect((value[text] as string).length).toBeLessThanOrEqual(MAX_REASON_CHARACTERS);
        }
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      }),
      { ...runs<[Buffer]>(600), examples: CORPUS.map((bytes): [Buffer] => [bytes]) },
    );
  });

  it('are kept for nobody within bounds, however many topics they name', TIME, () => {
    const topics = new TopicSubscriptions<number>();
    let kept = 0;
    while (topics.deliver(`topic ${kept}`, 1, kept, 10)) kept += 1;
    // Of each at least a map's entry and a list are kept.
    expect(kept).toBeLessThan(MAX_KEPT_BYTES_PER_PEER / 200);
    expect(kept).toBeGreaterThan(MAX_KEPT_MESSAGES);
    // Another peer has room of its own.
    expect(topics.deliver('topic', 2, 0, 10)).toBe(true);
  });
});

describe('a mesh', () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown): void => void uncaught.push(error);
  beforeAll(() => process.on('uncaughtException', note).on('unhandledRejection', note));
  afterAll(() => {
    process.off('uncaughtException', note).off('unhandledRejection', note);
    expect(uncaught).toEqual([]);
  });

  it('stays whole whatever strangers send', TIME, async () => {
    const { meshes, cores, members } = await form(2, { insecure: true });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(mutated, raw), { maxLength: 4 }), async (parts) => {
        const socket = await stranger(members[0]!);
        socket.end(Buffer.concat(parts));
        await closed(socket);
      }),
      runs(60),
    );
    await until(() => cores[0]!.connector.listener.pendingCount === 0);
    await assertWhole(meshes);
  });

  it(
    'of three: a member that sends nonsense goes on or is cut off with a code; the others stay',
    TIME,
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(mutated, raw), { minLength: 1, maxLength: 12 }), async (parts) => {
          const { meshes, cores } = await form(3, { insecure: true });
          const [zero, one] = meshes;
          // Frames are read in order: after the last one comes the end of the connection.
          const heard = failureOf(zero!, 2);
          const left = new Promise<void>((resolve) => zero!.onLeave(() => resolve()));
          const link = cores[2]!.links.get(0)!;
          for (const part of parts) link.send(part);
          link.dismiss(Buffer.alloc(LIMIT, 0xff));
          const outcome = await Promise.race([heard, left]);
          if (outcome) expect(outcome.code).toMatch(/^ERR_RDMC_MESH_/);
          // Nonsense may have been news of member 1's failure, which members are trusted with.
          if (!zero!.failed.has(1) && !one!.failed.has(0))
            await assertWhole([zero!, one!].filter((mesh) => mesh.failed.size < 2));
          await Promise.all(meshes.map((mesh) => mesh.close()));
        }),
        runs(25),
      );
    },
  );
});
