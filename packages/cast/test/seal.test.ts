import { createCipheriv, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { thrown } from '@rdmc/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_COUNTER, payloadBytes, payloadRoom, RECORD_BYTES, sealedBytes } from '../src/seal/layout.js';
import { MessageOpener } from '../src/seal/message-opener.js';
import { MessageSealer } from '../src/seal/message-sealer.js';
import { RecordNames } from '../src/seal/record-facts.js';
import { newSecret, type RunSeal, runKey } from '../src/seal/run-key.js';
import { gcm } from './support/gcm.js';
import { seededBytes } from './support/tree.js';

const CAST_ID = '00112233-4455-6677-8899-aabbccddeeff';

function newRun(part: Partial<RunSeal> = {}): RunSeal {
  return { castId: randomUUID(), sender: 'host', run: 1, secret: newSecret(), ...part };
}

/** A sealed message, in memory of its own. */
function seal(run: RunSeal, payload: Uint8Array, message = 0, isLast = false): Buffer {
  const memory = Buffer.alloc(sealedBytes(payload.length));
  memory.set(payload);
  expect(new MessageSealer(run).seal(memory, payload.length, message, isLast)).toBe(memory.length);
  return memory;
}

function open(run: RunSeal, sealed: Uint8Array, message = 0): Buffer {
  return new MessageOpener(run).open(Buffer.from(sealed), message);
}

/** The code of the refusal; undefined where the message was opened. */
function refusal(run: RunSeal, sealed: Uint8Array, message = 0): string | undefined {
  try {
    open(run, sealed, message);
    return undefined;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('the length of a sealed message', () => {
  // Near multiples of a record, with and without its tag.
  const length = fc.oneof(
    fc.integer({ min: 21, max: 2 ** 30 }),
    fc
      .tuple(
        fc.integer({ min: 1, max: 1000 }),
        fc.constantFrom(RECORD_BYTES, RECORD_BYTES + 16),
        fc.integer({ min: -40, max: 40 }),
      )
      .map(([records, bytes, more]) => records * bytes + more),
  );

  it('gives that of its payload', () => {
    fc.assert(
      fc.property(length, (payload) => {
        expect(payloadBytes(sealedBytes(payload))).toBe(payload);
      }),
      { seed: 1, numRuns: 2_000 },
    );
  });

  it('is used for as long a payload as fits', () => {
    fc.assert(
      fc.property(length, (message) => {
        const room = payloadRoom(message);
        expect(sealedBytes(room)).toBeLessThanOrEqual(message);
        expect(sealedBytes(room + 1)).toBeGreaterThan(message);
      }),
      { seed: 2, numRuns: 2_000 },
    );
  });

  it.each([0, 3, 4, 5, 20, RECORD_BYTES + 20 + 1, RECORD_BYTES + 20 + 16])('is not %i', (bytes) => {
    expect(thrown(() => payloadBytes(bytes))).toMatchObject({ code: 'ERR_RDMC_CAST_PROTOCOL' });
  });
});

describe('known answers', () => {
  const run = newRun({
    castId: CAST_ID,
    sender: 'größe',
    run: 0x01020304,
    secret: Buffer.alloc(32, 7),
  });

  /** RFC 5869, with HMAC alone: one block is enough for 32 bytes. */
  function hkdf(secret: Uint8Array, info: Uint8Array): Buffer {
    const extracted = createHmac('sha256', Buffer.alloc(32)).update(secret).digest();
    return createHmac('sha256', extracted).update(info).update(Buffer.of(1)).digest();
  }

  const INFO = Buffer.concat([
    Buffer.from('rdmc cast seal 1', 'latin1'),
    Buffer.from('00112233445566778899aabbccddeeff', 'hex'),
    Buffer.from('04030201', 'hex'),
    Buffer.from('6772c3b6c39f65', 'hex'),
  ]);

  it('the key is that of RFC 5869', () => {
    expect(runKey(run).export()).toEqual(hkdf(run.secret, INFO));
  });

  it('a small message is that of NIST SP 800-38D, computed block by block', () => {
    const payload = seededBytes(100, 1);
    const nonce = Buffer.from('0500000000000000' + '00000000', 'hex');
    const associated = Buffer.from(
      '00112233445566778899aabbccddeeff' + '04030201' + '05000000' + '00000000' + '64000000' + '03000000',
      'hex',
    );
    const expected = gcm({ key: hkdf(run.secret, INFO), nonce, associated, plaintext: payload });
    const flags = Buffer.from('01000000', 'hex');
    expect(seal(run, payload, 5, true)).toEqual(Buffer.concat([expected.ciphertext, expected.tag, flags]));
  });

  it('a message of three records has a nonce, a tag and associated data for each', () => {
    const payload = seededBytes(2 * RECORD_BYTES + 5, 2);
    const key = hkdf(run.secret, INFO);
    const parts = [0, 1, 2].map((record) => {
      const bytes = payload.subarray(record * RECORD_BYTES, (record + 1) * RECORD_BYTES);
      const words = Buffer.alloc(16);
      for (const [index, word] of [9, record, bytes.length, record === 2 ? 2 : 0].entries())
        words.writeUInt32LE(word, index * 4);
      const nonce = Buffer.alloc(12);
      nonce.writeUInt32LE(9, 0);
      nonce.writeUInt32LE(record, 4);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(Buffer.concat([INFO.subarray(16, 36), words]));
      const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final()]);
      return { ciphertext, tag: cipher.getAuthTag() };
    });
    const expected = Buffer.concat([
      ...parts.map(({ ciphertext }) => ciphertext),
      ...parts.map(({ tag }) => tag),
      Buffer.alloc(4),
    ]);
    expect(seal(run, payload, 9).equals(expected)).toBe(true);
  });
});

describe('a message', () => {
  it('is opened as it was sealed, whatever its length, its number and its run', () => {
    const lengths = fc.oneof(
      fc.integer({ min: 1, max: 70_000 }),
      fc
        .tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: -1, max: 1 }))
        .map(([records, more]) => records * RECORD_BYTES + more),
    );
    const number = fc.integer({ min: 0, max: MAX_COUNTER });
    fc.assert(
      fc.property(
        lengths,
        number,
        number,
        fc.string(),
        fc.boolean(),
        (length, message, id, sender, isLast) => {
          const run = newRun({ run: id, sender });
          const payload = seededBytes(length, message);
          const sealed = seal(run, payload, message, isLast);
          expect(open(run, sealed, message).equals(payload)).toBe(true);
        },
      ),
      { seed: 3, numRuns: 40 },
    );
  });

  it('does not contain its payload', () => {
    const payload = Buffer.alloc(3_000, 'plain words ');
    expect(seal(newRun(), payload).includes('plain')).toBe(false);
  });

  it('is refused where a single bit differs, and what was not checked stays as it came', () => {
    const run = newRun();
    const payload = seededBytes(40, 4);
    const sealed = seal(run, payload, 3);
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      const before = Buffer.from(flipped);
      const error = thrown(() => new MessageOpener(run).open(flipped, 3));
      expect(error).toMatchObject({ code: 'ERR_RDMC_DECRYPT_FAILED' });
      expect(flipped.equals(before)).toBe(true);
    }
  });

  it('is refused where it is truncated anywhere, or longer', () => {
    const run = newRun();
    const sealed = seal(run, seededBytes(60, 5));
    for (let length = 0; length < sealed.length; length += 1) {
      expect(refusal(run, sealed.subarray(0, length))).toMatch(/^ERR_RDMC_(CAST_PROTOCOL|DECRYPT_FAILED)$/);
    }
    expect(refusal(run, Buffer.concat([sealed, Buffer.of(0)]))).toBe('ERR_RDMC_DECRYPT_FAILED');
  });

  it.each<[string, Partial<RunSeal>]>([
    ['another secret', { secret: randomBytes(32) }],
    ['the same secret in another run', { run: 2 }],
    ['another cast', { castId: randomUUID() }],
    ['another sender', { sender: 'hos' }],
  ])('is refused with %s', (_name, part) => {
    const run = newRun();
    expect(refusal({ ...run, ...part }, seal(run, seededBytes(50, 6)))).toBe('ERR_RDMC_DECRYPT_FAILED');
  });

  it('is refused in the place of another one', () => {
    const run = newRun();
    const sealer = new MessageSealer(run);
    const sealed = [0, 1, 2].map((message) => {
      const memory = Buffer.concat([seededBytes(50, 7), Buffer.alloc(20)]);
      sealer.seal(memory, 50, message, false);
      return memory;
    });
    for (const [from, bytes] of sealed.entries()) {
      for (const to of sealed.keys())
        expect(refusal(run, bytes, to)).toBe(from === to ? undefined : 'ERR_RDMC_DECRYPT_FAILED');
    }
  });

  it('is refused after the last one of the cast, and where it pretends to be that, or not to be', () => {
    const run = newRun();
    const last = seal(run, seededBytes(10, 8), 0, true);
    const opener = new MessageOpener(run);
    opener.open(Buffer.from(last), 0);
    expect(thrown(() => opener.open(seal(run, seededBytes(10, 9), 1), 1))).toMatchObject({
      code: 'ERR_RDMC_CAST_PROTOCOL',
    });
    const pretending = Buffer.from(last);
    pretending.writeUInt32LE(0, last.length - 4);
    expect(refusal(run, pretending)).toBe('ERR_RDMC_DECRYPT_FAILED');
    const early = seal(run, seededBytes(10, 8));
    early.writeUInt32LE(1, early.length - 4);
    expect(refusal(run, early)).toBe('ERR_RDMC_DECRYPT_FAILED');
  });
});

describe('records of a message', () => {
  const run = newRun();
  const payload = seededBytes(3 * RECORD_BYTES, 10);
  const sealed = seal(run, payload, 1);
  const record = (number: number): Buffer =>
    sealed.subarray(number * RECORD_BYTES, (number + 1) * RECORD_BYTES);
  const tag = (number: number): Buffer =>
    sealed.subarray(payload.length + number * 16, payload.length + (number + 1) * 16);
  const made = (...numbers: readonly number[]): Buffer =>
    Buffer.concat([...numbers.map(record), ...numbers.map(tag), sealed.subarray(-4)]);

  it.each<[string, number[]]>([
    ['in another order', [1, 0, 2]],
    ['that come twice', [0, 0, 2]],
    ['without the last one', [0, 1]],
    ['without the first one', [1, 2]],
    ['with another one at the end', [0, 1, 2, 2]],
  ])('%s are refused', (_name, numbers) => {
    expect(refusal(run, made(0, 1, 2), 1)).toBeUndefined();
    expect(refusal(run, made(...numbers), 1)).toBe('ERR_RDMC_DECRYPT_FAILED');
  });

  it('whose tags are exchanged are refused', () => {
    const exchanged = Buffer.concat([
      record(0),
      record(1),
      record(2),
      tag(1),
      tag(0),
      tag(2),
      sealed.subarray(-4),
    ]);
    expect(refusal(run, exchanged, 1)).toBe('ERR_RDMC_DECRYPT_FAILED');
  });
});

describe('counters', () => {
  it('beyond 32 bits are refused, and nothing is encrypted', () => {
    const sealer = new MessageSealer(newRun());
    const memory = Buffer.alloc(100, 'x');
    expect(thrown(() => sealer.seal(memory, 50, MAX_COUNTER + 1, false))).toMatchObject({
      code: 'ERR_RDMC_NONCE_REFUSED',
    });
    expect(memory.equals(Buffer.alloc(100, 'x'))).toBe(true);
    sealer.seal(memory, 50, MAX_COUNTER, false);
    const names = new RecordNames(newRun());
    expect(names.nonce(0, MAX_COUNTER).toString('hex')).toBe('00000000ffffffff00000000');
    expect(thrown(() => names.nonce(0, MAX_COUNTER + 1))).toMatchObject({ code: 'ERR_RDMC_NONCE_REFUSED' });
  });

  it('are not used twice in a run', () => {
    const sealer = new MessageSealer(newRun());
    sealer.seal(Buffer.alloc(100), 50, 3, false);
    for (const message of [3, 2, 0]) {
      expect(thrown(() => sealer.seal(Buffer.alloc(100), 50, message, false))).toMatchObject({
        code: 'ERR_RDMC_NONCE_REFUSED',
      });
    }
    sealer.seal(Buffer.alloc(100), 50, 4, false);
  });
});
