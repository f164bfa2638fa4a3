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
 *                                      ←     ready{meshPort, freeBytes} or refused{code, message}
 *   members{id, members, group}        →     (all join the mesh and make the group)
 *   pulse{}                            →     once a second, as a sign of life
 *                                      ←     progress{…}, five times a second, as a sign of life
 *   part{groupId}                      →     when a group has failed
 *                                      ←     parted{groupId, receivedMessages}
 *   regroup{group, nextMessage}        →     (the survivors make another one)
 *   finish{messages, files, bytes}     →
 *                                      ←     done{files, bytes, links, problems, …}
 *   abort{code, message}               →     at any time
 *                                      ←     failed{code, message}, at any time
 */
import * as z from 'zod';
import { checksums } from '../checksum.js';
import { MAX_ENTRIES, MAX_MESSAGE_BYTES, MAX_PORT, MAX_TARGETS } from '../constants.js';

// Compiling a parser takes longer than parsing the few frames of a cast without one.
z.config({ jitless: true });

const MAX_TEXT = 4096;
const count = z.number().int().min(0).max(MAX_ENTRIES);
const bytes = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const text = z.string().max(MAX_TEXT);
const port = z.number().int().min(1).max(MAX_PORT);
const milliseconds = z.number().int().min(1).max(0x7fff_ffff);
const code = z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/);
const failure = { code, message: text };
const memberId = z.number().int().min(0).max(MAX_TARGETS);

const group = z.strictObject({
  id: count,
  /** Ids of its members, the sender first. */
  members: z.array(memberId).min(2),
  algorithm: text,
  blockBytes: z.union([z.literal('auto'), z.number().int().min(1)]),
  racks: z.array(z.union([z.string(), z.number().int()])).optional(),
});

const problem = z.strictObject({ path: text, code, message: text });

const senderFrame = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('call'), version: count, software: text }),
  z.strictObject({
    type: z.literal('invite'),
    castId: z.uuid(),
    senderName: text,
    files: count,
    directories: count,
    links: count,
    bytes,
    contentBytes: bytes,
    messageBytes: z.number().int().min(1).max(MAX_MESSAGE_BYTES),
    connectTimeoutMs: milliseconds,
    stallTimeoutMs: milliseconds,
    checksum: z.enum(checksums),
    checksumKey: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  z.strictObject({
    type: z.literal('members'),
    /** The receiver's own. */
    id: memberId,
    members: z.array(z.strictObject({ id: memberId, host: text, port })).min(2),
    group,
  }),
  z.strictObject({ type: z.literal('pulse') }),
  z.strictObject({ type: z.literal('part'), groupId: count }),
  z.strictObject({ type: z.literal('regroup'), group, nextMessage: count }),
  z.strictObject({ type: z.literal('finish'), messages: count, files: count, bytes }),
  z.strictObject({ type: z.literal('abort'), ...failure }),
]);

const receiverFrame = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    version: count,
    software: text,
    hostName: text,
    pid: count,
    /** Tells one receiver reached by two addresses from two receivers. */
    instance: z.uuid(),
  }),
  z.strictObject({ type: z.literal('ready'), meshPort: port, freeBytes: bytes }),
  z.strictObject({ type: z.literal('refused'), ...failure }),
  z.strictObject({
    type: z.literal('progress'),
    /** Messages that have come whole, and bytes of those that have come in part. */
    receivedMessages: count,
    partialBytes: bytes,
    storedMessages: count,
    /** How long the writer has not got on with what it has; 0 when it has nothing. */
    writerBusyMs: z.number().int().min(0),
  }),
  z.strictObject({ type: z.literal('parted'), groupId: count, receivedMessages: count }),
  z.strictObject({ type: z.literal('failed'), ...failure }),
  z.strictObject({
    type: z.literal('done'),
    files: count,
    directories: count,
    links: count,
    bytes,
    problems: z.array(problem),
    problemCount: z.number().int().min(0),
  }),
]);

export type SenderFrame = z.infer<typeof senderFrame>;
export type ReceiverFrame = z.infer<typeof receiverFrame>;
export type GroupFacts = z.infer<typeof group>;
export type Invitation = Extract<SenderFrame, { type: 'invite' }>;
export type MembersFrame = Extract<SenderFrame, { type: 'members' }>;
export type ProgressFrame = Extract<ReceiverFrame, { type: 'progress' }>;
export type DoneFrame = Extract<ReceiverFrame, { type: 'done' }>;
export type HelloFrame = Extract<ReceiverFrame, { type: 'hello' }>;

export const schemas = { sender: senderFrame, receiver: receiverFrame };
