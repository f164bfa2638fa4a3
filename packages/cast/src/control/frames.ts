/**
 * The control connection of a cast: one per receiver, dialled by the sender. Frames are those of the mesh; the type
 * byte is the version of the protocol, and the payload is JSON.
 *
 *   byte  0        4         5
 *         +--------+---------+------------------+
 *         | length | version |  JSON            |
 *         |  u32   |   u8    |  length - 1      |
 *         +--------+---------+------------------+
 *
 *   sender                                   receiver
 *   call{version, software}            →
 *                                      ←     hello{version, software, hostName, pid, instance}
 *   invite{castId, files, bytes, …}    →
 *                                      ←     ready{meshPort, freeBytes} or refused{code, message};
 *                                            gathered{}, where the invitation gathers: both ends go on with the frames
 *                                            of `pull/frames.ts`, the sender as the server
 *   offer{first, count, data}          →     a piece of the manifest, where entries are compared
 *                                      ←     compared{first, states}
 *   offered{files, directories, …}     →     there are no more pieces; totals as in `invite`
 *                                      ←     surplus{count, paths, last, …}: entries that the sender does not have; and
 *                                            how much room there is for what the receiver lacks
 *   hashes{index, first, data}         →     hashes of blocks of a large file that changed
 *                                      ←     held{index, first, data}: which of them the older file has
 *   head{index, offset, data, last}    →     the header of a large file with tensors, for receivers that want parts of it
 *                                      ←     wanted{index, offset, data}: after the last of these, the blocks it wants
 *   members{id, members, messageBytes} →     (all that lack something join the mesh)
 *   group{group, nextMessage}          →     (its members make the group)
 *   outline{groupId, message, sha256}  →     before each message, where contents are checked by SHA-256
 *   pulse{}                            →     at least once a second from ready to the end, as a heartbeat
 *                                      ←     progress{…}, five times a second, also as a heartbeat
 *   part{groupId}                      →     when a group has failed
 *                                      ←     parted{groupId, receivedMessages}
 *   group{group, nextMessage}          →     (the survivors make another one)
 *   check{}                            →     after the last stream, where blocks were compared
 *                                      ←     unbuilt{entries, last}: files that could not be built from older ones;
 *                                            these follow in further streams, whole
 *   finish{messages, files, bytes, …}  →
 *                                      ←     done{files, bytes, links, problems, …}
 *   abort{code, message, again}        →     at any time
 *                                      ←     failed{code, message}, at any time
 *
 * Where receivers lack different entries, several groups follow each other, each with a stream of its own. Counts of
 * messages are those of all streams that a receiver takes part in. `delta/hash-frames.ts` draws what is in hashes and held.
 */

import {
  choice,
  either,
  flag,
  list,
  optional,
  record,
  type Shaped,
  text,
  uuid,
  variants,
  whole,
} from '@rdmc/common/shapes';
import { MAX_SERVICE_LEVEL, MAX_TRAFFIC_CLASS } from '@rdmc/verbs';
import { checksums } from '../checksum.js';
import {
  HEAD_FRAME_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_PATH_BYTES,
  MAX_PIECE_ENTRIES,
  MAX_PORT,
  MAX_TARGETS,
  MAX_UNBUILT_IN_FRAME,
} from '../constants.js';
import { MAX_HASHES_CHARACTERS } from '../delta/hash-frames.js';
import { comparisons } from '../manifest/policy.js';
import { MAX_COUNTER } from '../seal/layout.js';
import { bytes, code, count, failure, hash, milliseconds, packed, reception, words } from './frame-fields.js';

/** Of the ways to compress that a receiver names. */
const MAX_CODECS = 16;
const MAX_CODEC_CHARACTERS = 32;
/** Characters of the longest piece of a header. */
const MAX_HEAD_CHARACTERS = Math.ceil(HEAD_FRAME_BYTES / 3) * 4;
/** A path for people: bytes that are not UTF-8 are replaced by one character each; a directory ends with a slash. */
const SHOWN_PATH = MAX_PATH_BYTES + 1;
const port = whole(1, MAX_PORT);
const memberId = whole(0, MAX_TARGETS);

const pieceEntries = whole(0, MAX_PIECE_ENTRIES);

const blocks = { index: count, first: count, data: text(MAX_HASHES_CHARACTERS) };

const head = { index: count, offset: bytes };

const comparison = record({
  by: choice(comparisons),
  update: flag,
  existing: flag,
  remove: flag,
  delta: flag,
  resume: flag,
  /** Entries have attributes: see `archive/layout.ts`. */
  archive: optional(flag),
  dryRun: flag,
  rules: list(record({ action: choice(['include', 'exclude']), pattern: text(MAX_PATH_BYTES) })),
});

const group = record({
  id: count,
  /** Number of its stream: groups of survivors continue a stream. */
  stream: count,
  /** Ids of its members, the sender first. */
  members: list(memberId, 2),
  algorithm: words,
  blockBytes: either(choice(['auto']), whole(1)),
  /** Absent: the worker. */
  relay: optional(choice(['worker', 'device'])),
  racks: optional(list(either(words, whole()))),
  /** Secret of the run, from which the key of its messages is derived; only in an encrypted cast. */
  secret: optional(hash),
});

const problem = record({ path: words, code, message: words });

const senderFrame = variants('type', {
  call: { version: count, software: words },
  invite: {
    castId: uuid,
    senderName: words,
    /** Totals of the cast; zeros where entries are compared: then `offered` has them. */
    files: count,
    directories: count,
    links: count,
    bytes,
    contentBytes: bytes,
    connectTimeoutMs: milliseconds,
    stallTimeoutMs: milliseconds,
    /** Of the packets of all members. */
    trafficClass: whole(0, MAX_TRAFFIC_CLASS),
    serviceLevel: whole(0, MAX_SERVICE_LEVEL),
    checksum: choice(checksums),
    checksumKey: hash,
    /** Whether messages are encrypted. */
    encrypted: flag,
    /** Entries are compared before they are sent. */
    comparison: optional(comparison),
    /** It is one file whose length is not known; `bytes` is 0. */
    isStream: optional(flag),
    /** Receivers may begin at different times. */
    gathering: optional(record({ by: choice(comparisons), resume: flag })),
  },
  offer: { first: count, count: pieceEntries, data: packed },
  offered: { files: count, directories: count, links: count, bytes },
  hashes: blocks,
  check: {},
  members: {
    /** The receiver's own id. */
    id: memberId,
    members: list(record({ id: memberId, host: words, port }), 2),
    messageBytes: whole(1, MAX_MESSAGE_BYTES),
  },
  /** Nothing where the file has no tensors. */
  head: { ...head, data: text(MAX_HEAD_CHARACTERS), last: flag },
  pulse: {},
  part: { groupId: count },
  group: { group, nextMessage: count },
  /** Hash of the outline of a message of a run. */
  outline: { groupId: count, message: whole(0, MAX_COUNTER), sha256: hash },
  finish: {
    messages: count,
    files: count,
    bytes,
    /** Whether surplus entries are removed. */
    remove: flag,
  },
  /** `again`: the sender will call again at once, without a receiver that was lost. */
  abort: { ...failure, again: optional(flag) },
});

const receiverFrame = variants('type', {
  hello: {
    version: count,
    software: words,
    hostName: words,
    pid: count,
    /** Distinguishes one receiver with two addresses from two receivers. */
    instance: uuid,
    /** The ways to compress that it can undo: names of `compression/codec.ts`, or others. */
    codecs: optional(list(text(MAX_CODEC_CHARACTERS), 0, MAX_CODECS)),
  },
  ready: {
    meshPort: port,
    freeBytes: bytes,
    /** Each message must end with a CHECK: the receiver passes bytes on before it has whole files. */
    checked: optional(flag),
    /** It takes ranges of files; it may say that it lacks only a part of one. */
    ranges: optional(flag),
  },
  refused: failure,
  gathered: {},
  compared: { first: count, states: packed },
  surplus: {
    count,
    paths: list(text(SHOWN_PATH)),
    last: flag,
    /** In the last one: what interrupted casts have left, as far as it is not sent again. */
    resumedBytes: optional(bytes),
    /**
     * In the last one: bytes that the files which it lacks may take on its disk, with what there is of them already.
     * Absent: `freeBytes` of `ready`.
     */
    roomBytes: optional(bytes),
  },
  held: blocks,
  /** Bits as in `held`, of all blocks, where the head was the last one. */
  wanted: { ...head, data: optional(text(MAX_HASHES_CHARACTERS)) },
  unbuilt: { entries: list(count, 0, MAX_UNBUILT_IN_FRAME), last: flag },
  progress: reception,
  parted: { groupId: count, receivedMessages: count },
  failed: failure,
  done: {
    files: count,
    directories: count,
    links: count,
    bytes,
    keptBytes: bytes,
    resumedBytes: optional(bytes),
    unchangedFiles: count,
    unchangedBytes: bytes,
    removed: count,
    /** Attributes of an archive cast that it has not set. */
    unset: optional(
      record({
        accepted: flag,
        owners: count,
        modes: count,
        attributes: count,
        attributeCode: optional(code),
      }),
    ),
    problems: list(problem),
    problemCount: whole(0),
  },
});

export type SenderFrame = Shaped<typeof senderFrame>;
export type ReceiverFrame = Shaped<typeof receiverFrame>;
export type GroupFacts = Shaped<typeof group>;
export type Invitation = Extract<SenderFrame, { type: 'invite' }>;
export type MembersFrame = Extract<SenderFrame, { type: 'members' }>;
export type OutlineFrame = Extract<SenderFrame, { type: 'outline' }>;
export type OfferFrame = Extract<SenderFrame, { type: 'offer' }>;
export type FinishFrame = Extract<SenderFrame, { type: 'finish' }>;
export type HashesFrame = Extract<SenderFrame, { type: 'hashes' }>;
export type HeadFrame = Extract<SenderFrame, { type: 'head' }>;
export type WantedFrame = Extract<ReceiverFrame, { type: 'wanted' }>;
export type HeldFrame = Extract<ReceiverFrame, { type: 'held' }>;
export type UnbuiltFrame = Extract<ReceiverFrame, { type: 'unbuilt' }>;
export type SurplusFrame = Extract<ReceiverFrame, { type: 'surplus' }>;
export type ProgressFrame = Extract<ReceiverFrame, { type: 'progress' }>;
export type DoneFrame = Extract<ReceiverFrame, { type: 'done' }>;
export type HelloFrame = Extract<ReceiverFrame, { type: 'hello' }>;

export const shapes = { sender: senderFrame, receiver: receiverFrame };
