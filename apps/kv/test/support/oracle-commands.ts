/** Random commands on strings and hashes, alone and in transactions, whose replies must be the same as Redis's. */
import fc from 'fast-check';

/** At most so long that Redis's hashes stay in the order in which fields were added. */
const value = fc.oneof(
  fc.constantFrom('', 'x', '-0', '007', '1e3', '9223372036854775807', '-9223372036854775808'),
  fc.integer({ min: -20, max: 20 }).map(String),
  fc.string({ unit: fc.constantFrom('a', '1', '-'), maxLength: 60 }),
);
const field = fc.constantFrom('', 'f', 'g', '1');
const key = fc.constantFrom('a', 'b', '');
/** Keys that are watched. They always exist: to create and remove a key does not end a transaction of ours. */
const [WATCHED_STRING, WATCHED_HASH] = ['w', 'v'] as const;

/** Empties the server and makes the keys that are watched. */
export const BEGINNING = ['UNWATCH', 'FLUSHALL', `SET ${WATCHED_STRING} 1`, `HSET ${WATCHED_HASH} kept 1`];

function line(...words: (string | fc.Arbitrary<string>)[]): fc.Arbitrary<string> {
  return fc
    .tuple(...words.map((word) => (typeof word === 'string' ? fc.constant(word) : word)))
    .map((all) => all.join(' '));
}

/** One of these words. */
function of(...words: string[]): fc.Arbitrary<string> {
  return fc.constantFrom(...words);
}

const harmless = (at: string | fc.Arbitrary<string>): fc.Arbitrary<string>[] => [
  line(
    of('GET', 'STRLEN', 'TYPE', 'EXISTS', 'PERSIST', 'EXPIRETIME', 'HGETALL', 'HLEN', 'HKEYS', 'HVALS'),
    at,
  ),
  line('SETNX', at, value),
  line('APPEND', at, value),
  line(of('INCR', 'DECR'), at),
  line(of('INCRBY', 'DECRBY'), at, value),
  line('GETRANGE', at, value, value),
  line('GETEX', at, of('PERSIST', 'EXAT 4000000000', 'EX', 'FOO')),
  line('EXPIREAT', at, of('4000000000', '4100000000', 'x'), of('NX', 'XX', 'GT', 'LT', 'FOO')),
  line('HSET', at, field, value, field, value),
  line(of('HSETNX', 'HINCRBY'), at, field, value),
  line('HMGET', at, field, field),
  line(of('HGET', 'HEXISTS'), at, field),
  line('HDEL', at, field, field),
];

const command = fc.oneof(
  ...harmless(key),
  ...harmless(WATCHED_STRING),
  ...harmless(WATCHED_HASH),
  line(
    'SET',
    fc.oneof(key, fc.constant(WATCHED_STRING)),
    value,
    of('KEEPTTL', 'XX', 'NX', 'GET', 'EXAT 4000000000'),
  ),
  line('GETSET', fc.oneof(key, fc.constant(WATCHED_STRING)), value),
  line(of('DEL', 'UNLINK', 'GETDEL', 'HSET', 'HGET', 'NOSUCH'), key),
  line('EXPIREAT', key, '1'),
  // That of a string depends on its history in Redis.
  line('OBJECT', of('ENCODING', 'NOSUCH'), WATCHED_HASH),
  line('MGET', key, key, of(WATCHED_STRING, WATCHED_HASH)),
  line('MSET', key, value, key, value),
);

/** What one of two clients sends at once; a transaction ends in it. */
export const oracleStep: fc.Arbitrary<{ client: 0 | 1; lines: string[] }> = fc.record({
  client: fc.constantFrom(0, 1),
  lines: fc.oneof(
    fc.array(fc.oneof({ weight: 12, arbitrary: command }, fc.constant('DBSIZE')), {
      minLength: 1,
      maxLength: 4,
    }),
    fc.constantFrom<string[]>(
      [`WATCH ${WATCHED_STRING}`],
      [`WATCH ${WATCHED_HASH} ${WATCHED_STRING}`],
      ['UNWATCH'],
    ),
    fc
      .tuple(
        fc.array(fc.oneof({ weight: 12, arbitrary: command }, of('UNWATCH', 'MULTI', 'WATCH a')), {
          maxLength: 6,
        }),
        of('EXEC', 'EXEC', 'EXEC', 'DISCARD'),
      )
      .map(([commands, end]) => ['MULTI', ...commands, end]),
  ),
});
