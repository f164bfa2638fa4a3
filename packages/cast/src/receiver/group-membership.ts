import { hostname } from 'node:os';
import { SerialQueue } from '@rdmc/common';
import type { RdmcNode } from '@rdmc/group';
import { JOIN_GRACE_MS, SENDER_ID } from '../constants.js';
import type { ControlChannel } from '../control/control-channel.js';
import type {
  GroupFacts,
  Invitation,
  MembersFrame,
  OutlineFrame,
  ReceiverFrame,
  SenderFrame,
} from '../control/frames.js';
import { codeOf, messageOf, protocolError } from '../errors.js';
import { joinMesh } from '../join-mesh.js';
import { meshTimeoutMs } from '../mesh-timeout.js';
import { listenWithin, portOf } from '../ports.js';
import type { CheckedReceiveOptions } from '../receive-options.js';
import type { SpareNode } from '../spare-node.js';
import { Outlines } from './outlines.js';
import { StreamReceiver } from './stream-receiver.js';
import type { WriterThread } from './writer-thread.js';

/** Failures of a group that this receiver caused; after other failures the sender makes a group of survivors. */
const OWN_FAILURES = new Set(['ERR_RDMC_INCOMING_FAILED', 'ERR_RDMC_POST_FAILED', 'ERR_RDMC_DATAPLANE_DIED']);

export interface MembershipParts {
  readonly channel: ControlChannel<ReceiverFrame, SenderFrame>;
  readonly invitation: Invitation;
  readonly options: CheckedReceiveOptions;
  readonly writer: WriterThread;
  readonly spare: SpareNode;
  /** Aborted when the cast is over. */
  readonly over: AbortSignal;
  /** The first group is formed. */
  readonly onRoute: (node: RdmcNode, transports: readonly string[]) => void;
  /** The cast fails at this receiver. */
  readonly fail: (error: unknown) => void;
}

/** The mesh and the groups of one cast at a receiver. Orders of the sender are followed one after the other. */
export class GroupMembership {
  #server: Awaited<ReturnType<typeof listenWithin>> | undefined;
  #node: RdmcNode | undefined;
  #stream: StreamReceiver | undefined;
  #groupOver = new AbortController();
  readonly #grouping = new SerialQueue();
  /** Hashes that the sender sends beside the messages, where contents are checked by SHA-256. */
  readonly #outlines: Outlines | undefined;

  constructor(private readonly parts: MembershipParts) {
    this.#outlines = parts.invitation.checksum === 'sha256' ? new Outlines() : undefined;
  }

  /** Complete messages of all streams. */
  get messages(): number {
    return this.#stream?.messages ?? 0;
  }

  /** Bytes of incomplete messages. */
  get partialBytes(): number {
    return this.#stream?.partialBytes ?? 0;
  }

  get bytes(): number {
    return this.#stream?.bytes ?? 0;
  }

  /** Returns the port at which it expects the other members. @throws CastError ERR_RDMC_LISTEN_FAILED and others */
  async listen(): Promise<number> {
    this.#server = await listenWithin(this.parts.channel.localHost, this.parts.options.meshPorts);
    return portOf(this.#server);
  }

  join(frame: MembersFrame): void {
    void this.#grouping.run(async () => {
      try {
        await this.#join(frame);
      } catch (error) {
        this.parts.fail(error);
      }
    });
  }

  /**
   * The sender handles the failure of a group, except one that this end caused.
   * @throws CastError ERR_RDMC_CAST_PROTOCOL
   */
  start(facts: GroupFacts, nextMessage: number): void {
    const { invitation, options, fail } = this.parts;
    if ((facts.secret !== undefined) !== invitation.encrypted)
      throw protocolError('the stream is encrypted and the invitation says it is not, or the reverse');
    const controller = new AbortController();
    this.#groupOver = controller;
    void this.#grouping.run(async () => {
      try {
        if (!this.#stream) throw protocolError('a group came before its members');
        await this.#stream.run(facts, nextMessage, controller.signal);
      } catch (error) {
        options.logger?.debug?.({ group: facts.id, reason: messageOf(error) }, 'group ended');
        const isOwn = OWN_FAILURES.has(codeOf(error) ?? '') || this.#node === undefined;
        if (isOwn) fail(error);
      }
    });
  }

  /** @throws CastError ERR_RDMC_CAST_PROTOCOL */
  outline(frame: OutlineFrame): void {
    if (!this.#outlines) throw protocolError('the sender sent a hash in a cast without SHA-256');
    this.#outlines.arrived(frame);
  }

  /** Leaves the group; resolves when no group is in progress. */
  part(): Promise<void> {
    this.#groupOver.abort();
    return this.#grouping.idle();
  }

  /** Resolves when everything that arrived is with the writer: messages may wait for the hashes of their outlines. */
  async passed(): Promise<void> {
    await this.#grouping.idle();
    await this.#stream?.passed();
  }

  /** Ends the groups; does not wait. */
  abort(): void {
    this.#groupOver.abort();
  }

  /** Resolves when no group is in progress. The node stays open for those that still read from it. */
  leave(): Promise<void> {
    this.#server?.close();
    return this.part();
  }

  async close(): Promise<void> {
    await this.#node?.close();
  }

  async #join({ id, members, messageBytes }: MembersFrame): Promise<void> {
    if (this.#node) throw protocolError('the sender sent the members twice');
    const { channel, invitation, options, writer, spare, over, onRoute, fail } = this.parts;
    const { key, device, transport, meshPorts, logger, trace } = options;
    const server = this.#server!;
    this.#server = undefined;
    const node = await joinMesh({
      ...{ id, members, server, key, device, transport, logger, trace },
      localHost: channel.localHost,
      ports: meshPorts,
      prepared: () => spare.take(),
      // The sender decides which member is missing, and then ends the connection; receivers must not give up before it.
      timeoutMs: meshTimeoutMs(invitation.connectTimeoutMs + JOIN_GRACE_MS, members.length),
      signal: over,
    });
    this.#node = node;
    trace?.nameMember(SENDER_ID, invitation.senderName);
    trace?.nameMember(id, hostname());
    this.#stream = new StreamReceiver(
      node,
      { ...invitation, messageBytes, outlines: this.#outlines },
      writer,
      ({ transports }) => onRoute(node, transports),
      fail,
    );
    // The first group forms meanwhile.
    for (const each of [writer.attach(node.device.handle), this.#stream.prepare()]) each.catch(fail);
  }
}
