/**
 * The control connection of a pull: one per fetcher, dialled by the fetcher. Frames are encoded as those of a cast
 * (`control/frames.ts`).
 *
 *   fetcher                                  server
 *   ask{version, software, hostName, name} →
 *                                          ←   proof{signature}: see `roles.ts`
 *                                          ←   offer{castId, entries, pieces, root, …}
 *                                          ←   entries{first, count, data}: pieces of the manifest
 *                                          ←   hashes{first, data}: of the pieces of files
 *   have{first, data}, …, have{…, last}    →   a bit for each piece that it has
 *                                          ←   mesh{id, contact, secret, messageBytes}, to one that lacks something
 *   joined{}                               →   from now on it is planned for
 *                                          ←   run{run, members, …}: one group, until the next boundary
 *   progress{…}                            →   five times a second, from the ask on, also as a heartbeat
 *                                          ←   pulse{}: once a second, as a heartbeat
 *                                          ←   part{run}: the group has failed
 *   took{run, messages, broken}            →   everything that arrived in the run is stored
 *                                          ←   withdrawn{entries, code, message}: files that changed at the server
 *                                          ←   finish{}: it has everything
 *   done{}                                 →   it is stored
 *
 *   A fetcher that serves on stays after done{servesOn}:
 *                                          ←   mesh{…}, where it has not joined: it lacked nothing
 *                                          ←   pieces{first, data, last}, …, lead{run, members, …}: it is the root
 *                                          ←   stop{run}: the run ends at the next boundary
 *   led{run, isWhole}                      →
 *   The members of such a run get run{…, led}; before took{} they send have{…}.
 *
 *                                          ←   abort{code, message}, at any time
 *   failed{code, message}                  →   at any time
 *
 * In a gathering cast the sender dials, and is the server; its receivers are the fetchers. After the first frames of a cast
 * (`control/frames.ts`, up to `gathered`) this connection goes on with `offer`.
 */
import {
  choice,
  flag,
  list,
  optional,
  pattern,
  record,
  type Shaped,
  text,
  uuid,
  variants,
  whole,
} from '@rdmc/common/shapes';
import {
  MAX_MESSAGE_BYTES,
  MAX_PATH_BYTES,
  MAX_PIECE_ENTRIES,
  MAX_PROBLEM_CHARACTERS,
  MAX_PULL_PIECES,
} from '../constants.js';
import {
  bytes,
  code,
  count,
  failure,
  hash,
  milliseconds,
  packed,
  reception,
  words,
} from '../control/frame-fields.js';

/** Most problems that an offer of a server, or a report of a fetcher, lists; others are counted. */
export const MAX_OFFERED_PROBLEMS = 100;
/** Most entries that one frame withdraws. */
export const MAX_WITHDRAWN = 10_000;

const pieces = whole(0, MAX_PULL_PIECES);
const memberId = whole(0, 0x7fff_ffff);

const set = { first: pieces, data: packed, last: flag };
const group = {
  run: count,
  /** The member that sends first. */
  members: list(memberId, 2),
  algorithm: choice(['binomial-pipeline']),
  blockBytes: whole(1),
  /** Secret of the run, from which the key of its messages is derived; only where they are encrypted. */
  secret: optional(hash),
};

const problem = record({ path: text(MAX_PATH_BYTES), code, message: text(MAX_PROBLEM_CHARACTERS) });

const serverFrame = variants('type', {
  proof: { signature: pattern(/^[0-9a-f]{128}$/), software: words },
  offer: {
    castId: uuid,
    serverName: words,
    entries: count,
    files: count,
    directories: count,
    bytes,
    pieces,
    /** See `hash-tree.ts`. */
    root: hash,
    /** Links and special files below the name: they are not served. */
    skipped: count,
    stallTimeoutMs: milliseconds,
    /** Entries that the server could not read. */
    problems: list(problem, 0, MAX_OFFERED_PROBLEMS),
    problemCount: whole(0),
  },
  entries: { first: count, count: whole(0, MAX_PIECE_ENTRIES), data: packed },
  hashes: { first: pieces, data: packed },
  mesh: {
    id: memberId,
    contact: words,
    secret: hash,
    messageBytes: whole(1, MAX_MESSAGE_BYTES),
    connectTimeoutMs: milliseconds,
  },
  /** `led`: a fetcher sends, not the server; this end says afterwards what it has. */
  run: { ...group, led: optional(flag) },
  /** To a fetcher that serves on: what it sends in the run that it leads next. */
  pieces: set,
  lead: group,
  /** The run that it leads ends at the next boundary of messages. */
  stop: { run: count },
  pulse: {},
  part: { run: count },
  withdrawn: { entries: list(count, 1, MAX_WITHDRAWN), ...failure },
  finish: {},
  abort: failure,
});

const fetcherFrame = variants('type', {
  ask: {
    version: count,
    software: words,
    hostName: words,
    /** Path below the served directory; empty for everything. */
    name: text(MAX_PATH_BYTES),
  },
  have: set,
  joined: {},
  progress: { ...reception, storedBytes: bytes },
  took: {
    run: count,
    messages: count,
    /** Of these messages, those that were not what the server sent. */
    broken: list(count),
  },
  failed: failure,
  done: {
    files: count,
    bytes,
    keptBytes: bytes,
    resumedBytes: bytes,
    unchangedFiles: count,
    unchangedBytes: bytes,
    /** Entries that it lacks. */
    problems: list(problem, 0, MAX_OFFERED_PROBLEMS),
    problemCount: whole(0),
    /** Whether it serves on. */
    servesOn: flag,
  },
  led: {
    run: count,
    /** Whether the group came to its end. */
    isWhole: flag,
  },
});

export type ServerFrame = Shaped<typeof serverFrame>;
export type FetcherFrame = Shaped<typeof fetcherFrame>;
export type ServerFrameOf<T extends ServerFrame['type']> = Extract<ServerFrame, { type: T }>;
export type FetcherFrameOf<T extends FetcherFrame['type']> = Extract<FetcherFrame, { type: T }>;

export const pullShapes = { server: serverFrame, fetcher: fetcherFrame };
export const PULL_PURPOSE = 'rdmc pull control';
/** Member id of the server in the mesh of a pull. */
export const SERVER_ID = 0;
