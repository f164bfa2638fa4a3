import type { Subscription } from '@rdmc/common';
import type { Counters } from '@rdmc/dataplane';
import type { Member, MemberListener, Mesh } from '@rdmc/mesh';
import type { Device, ProtectionDomain } from '@rdmc/verbs';
import type { Node } from './node.js';

/** Base class of nodes with one protocol, such as `RdmcNode`: all members of `Node` except the protocol's API. */
export abstract class ShortForm<Whole extends Node> implements AsyncDisposable {
  protected constructor(
    /** The node itself. */
    readonly node: Whole,
  ) {}

  /** This member's id. */
  get id(): number {
    return this.node.id;
  }

  /** Connections to the other members. The application may use them, with its own topics. */
  get mesh(): Mesh {
    return this.node.mesh;
  }

  /** As `Node.members`. */
  get members(): readonly Member[] {
    return this.node.members;
  }

  /** As `Node.incarnation`. */
  get incarnation(): number {
    return this.node.incarnation;
  }

  /** As `Node.onMember`. */
  onMember(listener: MemberListener): Subscription {
    return this.node.onMember(listener);
  }

  /** The device in use: its kind, limits and counters. */
  get device(): Device {
    return this.node.device;
  }

  /** The protection domain of the data plane. */
  get protectionDomain(): ProtectionDomain {
    return this.node.protectionDomain;
  }

  /** Counters of the worker. */
  counters(): Counters {
    return this.node.counters();
  }

  /** As `Node.signal`. */
  get signal(): AbortSignal {
    return this.node.signal;
  }

  /** As `Node.closed`. */
  get closed(): Promise<void> {
    return this.node.closed;
  }

  /** As `Node.ref`. */
  ref(): void {
    this.node.ref();
  }

  /** As `Node.unref`. */
  unref(): void {
    this.node.unref();
  }

  /** Leaves, as `Node.close`. Idempotent. */
  close(): Promise<void> {
    return this.node.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
