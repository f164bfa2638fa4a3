/** Strings and hashes as plain values, and the commands that change them, for comparison with the store. */
import fc from 'fast-check';

export type ModelValue = string | Map<string, string>;

const WRONG_TYPE = '-WRONGTYPE Operation against a key holding the wrong kind of value\r\n';

function bulk(value: string | undefined): string {
  return value === undefined ? '$-1\r\n' : `$${value.length}\r\n${value}\r\n`;
}

export class HashModel {
  readonly keys = new Map<string, ModelValue>();

  /** A copy of all keys. */
  snapshot(): Map<string, ModelValue> {
    return new Map(
      [...this.keys].map(([key, value]) => [key, typeof value === 'string' ? value : new Map(value)]),
    );
  }

  /** Runs a command; returns its reply in RESP2. */
  run([name, key, ...rest]: readonly string[]): string {
    const value = this.keys.get(key!);
    if (name === 'SET') {
      this.keys.set(key!, rest[0]!);
      return '+OK\r\n';
    }
    if (name === 'DEL') return `:${this.keys.delete(key!) ? 1 : 0}\r\n`;
    if (name === 'EXPIRE') return `:${value === undefined ? 0 : 1}\r\n`;
    if (name === 'GET') return typeof value === 'object' ? WRONG_TYPE : bulk(value);
    if (typeof value === 'string') return WRONG_TYPE;
    return this.#runOnHash(name!, key!, rest, value);
  }

  #runOnHash(
    name: string,
    key: string,
    rest: readonly string[],
    found: Map<string, string> | undefined,
  ): string {
    const hash = found ?? new Map<string, string>();
    const before = hash.size;
    switch (name) {
      case 'HSET':
        for (let i = 0; i < rest.length; i += 2) hash.set(rest[i]!, rest[i + 1]!);
        this.keys.set(key, hash);
        return `:${hash.size - before}\r\n`;
      case 'HSETNX':
        if (hash.has(rest[0]!)) return ':0\r\n';
        hash.set(rest[0]!, rest[1]!);
        this.keys.set(key, hash);
        return ':1\r\n';
      case 'HDEL':
        for (const field of rest) hash.delete(field);
        if (hash.size === 0) this.keys.delete(key);
        return `:${before - hash.size}\r\n`;
      case 'HINCRBY': {
        const old = hash.get(rest[0]!) ?? '0';
        if (!/^(0|-?[1-9]\d*)$/.test(old)) return '-ERR hash value is not an integer\r\n';
        const sum = String(Number(old) + Number(rest[1]));
        hash.set(rest[0]!, sum);
        this.keys.set(key, hash);
        return `:${sum}\r\n`;
      }
      case 'HLEN':
        return `:${hash.size}\r\n`;
      case 'HGET':
        return bulk(hash.get(rest[0]!));
      default:
        return `*${hash.size * 2}\r\n${[...hash].flat().map(bulk).join('')}`;
    }
  }
}

export const MODEL_KEYS = ['a', 'b', '{a}c'] as const;
const key = fc.constantFrom(...MODEL_KEYS);
const field = fc.constantFrom('', 'f', 'g', 'h\r\n');
const value = fc.oneof(fc.constantFrom('', 'v', '\0\xff'), fc.nat(50).map(String));
const pairs = fc.array(fc.tuple(field, value), { minLength: 1, maxLength: 3 });

/** A command of the model. */
export const modelCommand: fc.Arbitrary<string[]> = fc.oneof(
  fc.tuple(key, value).map(([k, v]) => ['SET', k, v]),
  key.map((k) => ['DEL', k]),
  key.map((k) => ['GET', k]),
  key.map((k) => ['EXPIRE', k, '1000000']),
  { weight: 4, arbitrary: fc.tuple(key, pairs).map(([k, list]) => ['HSET', k, ...list.flat()]) },
  fc.tuple(key, field, value).map(([k, f, v]) => ['HSETNX', k, f, v]),
  {
    weight: 3,
    arbitrary: fc
      .tuple(key, fc.array(field, { minLength: 1, maxLength: 3 }))
      .map(([k, f]) => ['HDEL', k, ...f]),
  },
  fc.tuple(key, field, fc.integer({ min: -5, max: 5 })).map(([k, f, n]) => ['HINCRBY', k, f, String(n)]),
  fc.tuple(key, field).map(([k, f]) => ['HGET', k, f]),
  key.map((k) => ['HGETALL', k]),
  key.map((k) => ['HLEN', k]),
);
