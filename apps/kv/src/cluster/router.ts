import type { AdminService } from '../admin/admin-service.js';
import type { Command } from '../commands/command.js';
import type { CommandTable } from '../commands/command-table.js';
import type { Arguments } from '../resp/arguments.js';
import { LINK_FULL, OUTCOME_UNKNOWN, SLOT_UNAVAILABLE, SLOTS_MOVE } from '../resp/command-error.js';
import { RequestParser } from '../resp/parser.js';
import { ERROR_MARK, INTEGER_MARK } from '../resp/writer.js';
import type { Client } from '../server/client.js';
import type { Executor } from '../server/executor.js';
import { isHttp } from '../server/http.js';
import { refusalOf } from '../server/refusals.js';
import { Transactions } from '../transactions/transactions.js';
import { LocalRequests } from './local-requests.js';
import { ownsAll, slotOfCommand } from './owned.js';
import type { Asker } from './peer-link.js';
import type { PeerLinks } from './peer-links.js';
import { ReplyMerge } from './reply-merge.js';
import { errorReply, type Request } from './request.js';
import { SlotOrder } from './slot-order.js';
import type { SlotTable } from './slot-table.js';
import { type Part, splitByOwner } from './split.js';
import { WaitingRequests } from './waiting-requests.js';

export interface RouterOptions {
  readonly executor: Executor;
  readonly commands: CommandTable;
  readonly self: number;
  readonly table: SlotTable;
  /** Undefined: this server is alone. */
  readonly peers: PeerLinks | undefined;
  /** How long commands wait for slots without a server. */
  readonly slotWaitMs: number;
  /** Whether clients are redirected with MOVED to the servers of their keys (default false: commands are forwarded). */
  readonly redirects?: boolean | undefined;
  /** Undefined: this server is alone. */
  readonly admin?: AdminService | undefined;
  /** Called for each client that was disconnected because it sent HTTP. */
  readonly onHttp?: (address: string) => void;
}

/**
 * Sends every command to the server that has its key. Commands for this server run at once; those for another one are sent at the
 * turn's end, all in one frame, or some turns later; those for slots without a server wait. The commands of a slot are done in the order
 * in which they came, also while it goes from one server to another.
 */
export class Router implements Asker {
  readonly #local: LocalRequests;
  readonly #waiting: WaitingRequests;
  readonly #order = new SlotOrder();
  #lastOrder = 0;
  /** Requests of slots that were refused or lost: commands on all keys may have passed them. */
  #failures = 0;
  #isReleasing = false;
  /** Others of the requests that may go are sent in the next turn. */
  #releasesLater = false;
  readonly #transactions: Transactions;
  readonly #parser = new RequestParser();
  /** Whether a command may run here at once. */
  readonly #isOwn = (slot: number): boolean =>
    this.table.owner(slot) === this.self && this.#order.mayGo(slot, this.table.epoch);
  private readonly executor: Executor;
  private readonly commands: CommandTable;
  private readonly self: number;
  private readonly table: SlotTable;
  private readonly peers: PeerLinks | undefined;
  private readonly onHttp: (address: string) => void;
  private readonly admin: AdminService | undefined;
  private readonly redirects: boolean;

  constructor({
    executor,
    commands,
    self,
    table,
    peers,
    slotWaitMs,
    admin,
    redirects = false,
    onHttp = () => {},
  }: RouterOptions) {
    this.executor = executor;
    this.commands = commands;
    this.self = self;
    this.table = table;
    this.peers = peers;
    this.onHttp = onHttp;
    this.admin = admin;
    this.redirects = redirects;
    this.#local = new LocalRequests(executor, commands);
    this.#waiting = new WaitingRequests(slotWaitMs, this.#order);
    this.#transactions = new Transactions({
      executor,
      isAlone: peers === undefined,
      route: (request) => this.route(request),
      runHere: (request) => this.#local.run(request),
    });
    table.onUpdate(() => this.#release());
    peers?.onLinked(() => this.#release());
  }

  /** The command in the client's parser. The client's run is open, before and after. */
  dispatch(client: Client): void {
    const args = client.parser.arguments;
    const command = this.commands.find(args);
    if (!command && isHttp(args)) {
      client.destroy();
      this.onHttp(client.address);
      return;
    }
    const refusal = refusalOf(command, args, client.authenticated);
    if (client.transaction !== undefined && this.#transactions.queued(client, command, refusal)) return;
    if (refusal !== undefined) this.executor.fail(refusal);
    else if (command!.route === 'transaction') this.#transactions.run(client, command!);
    else if (command!.route === 'cluster' && this.admin) this.#askCluster(client, this.admin);
    else if (command!.inSteps) this.#everywhere(client, command!);
    else if (this.peers === undefined || command!.route === 'here' || command!.route === 'cluster')
      this.executor.run(command!, args, client);
    else if (command!.route === 'everywhere') this.#everywhere(client, command!);
    else if (ownsAll(command!, args, this.#isOwn)) this.executor.run(command!, args, client);
    else {
      const redirection = this.redirects ? this.#redirection(command!, args) : undefined;
      if (redirection !== undefined) this.executor.fail(redirection);
      else this.#forward(client, command!);
    }
  }

  /** Sends a request to the server of its slot, behind earlier ones of the slot. No run may be open. */
  route(request: Request): void {
    this.#lastOrder += 1;
    request.order = this.#lastOrder;
    this.#enter(request);
  }

  #enter(request: Request): void {
    if (this.#order.mayAllGo(request, this.table.epoch)) this.#send(request);
    else this.#waiting.add(request);
  }

  #send(request: Request): void {
    const owner = this.table.owner(request.slot);
    const link = owner === this.self ? undefined : this.peers?.link(owner);
    if (owner === this.self) this.#local.run(request);
    else if (link?.isFull) request.done(errorReply(LINK_FULL));
    else if (link) {
      this.#order.sent(request, this.table.epoch);
      link.send(request, this.table.epoch, this);
      this.executor.schedule();
    } else this.#waiting.add(request);
  }

  answered(request: Request): void {
    if (request.slot >= 0 && this.#order.answered(request)) this.#releaseSoon();
  }

  /** It waits for a newer table than the one by which it was sent. */
  refused(request: Request): void {
    this.#failed(request);
    this.#repeat(request);
  }

  /** A write may have happened and is not sent again; a read is. */
  lost(request: Request): void {
    this.#failed(request);
    if (request.writes) {
      request.done(errorReply(OUTCOME_UNKNOWN));
      return;
    }
    request.epoch = 0;
    this.#repeat(request);
  }

  close(): void {
    this.#waiting.close();
  }

  #failed(request: Request): void {
    if (request.slot >= 0) this.#failures += 1;
    this.answered(request);
  }

  #repeat(request: Request): void {
    if (request.slot < 0) {
      request.done(errorReply(this.table.isComplete ? SLOTS_MOVE : SLOT_UNAVAILABLE));
      return;
    }
    this.#waiting.add(request);
    this.#releaseSoon();
  }

  /** Once for all answers of a frame. */
  #releaseSoon(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    queueMicrotask(() => {
      this.#isReleasing = false;
      this.#release();
    });
  }

  /** Sends the requests whose slots have a server now, and no earlier request without an answer. */
  #release(): void {
    if (this.#releasesLater) return;
    const { table, self, peers } = this;
    const mayGo = (request: Request): boolean => {
      const owner = table.owner(request.slot);
      const isServed = owner === self || peers?.link(owner) !== undefined;
      return isServed && (request.epoch ?? 0) < table.epoch && this.#order.mayLeave(request);
    };
    const released = this.#waiting.release(mayGo);
    let done = 0;
    while (done < released.length && (done === 0 || !this.executor.mustYield)) {
      this.#routeAgain(released[done]!);
      done += 1;
    }
    if (done === released.length) return;
    // The others return to their places, and go in the next turn: commands that run here may take long.
    for (const request of released.slice(done)) this.#waiting.add(request);
    this.#releasesLater = true;
    setImmediate(() => {
      this.#releasesLater = false;
      this.#release();
    });
  }

  /** Slots have other owners now: keys that were at one server may be at several. */
  #routeAgain(request: Request): void {
    const { command, bytes } = request;
    if (!command) {
      this.#send(request);
      return;
    }
    this.#parser.feed(bytes);
    this.#parser.next();
    const parts = splitByOwner(command, this.#parser.arguments, (slot) => this.table.owner(slot));
    if (parts.length === 1) this.#send(request);
    else for (const part of requestsOf(parts, command, request)) this.#send(part);
  }

  /**
   * The reply that redirects a client; undefined: the command must be forwarded. Its keys have several slots, their slot has no
   * server at present, or the server is not connected: then the next slot table decides.
   */
  #redirection(command: Command, args: Arguments): string | undefined {
    if (command.route !== 'key' && command.route !== 'keys') return undefined;
    const slot = slotOfCommand(command, args);
    const owner = this.table.owner(slot);
    // Its command waits behind others.
    if (owner === this.self) return undefined;
    if (!ownsAll(command, args, (each) => each === slot)) return undefined;
    const node = this.executor.node.nodes().find(({ member }) => member === owner);
    return node?.connected ? `MOVED ${slot} ${node.host}:${node.port}` : undefined;
  }

  #forward(client: Client, command: Command): void {
    const { executor } = this;
    executor.endRun();
    const { length } = client.parser.command;
    const writes = command.flags.includes('write');
    const isLong = !writes && mayReplyAtLength(command);
    const chunk = client.expect(length, false, isLong);
    const { version } = client;
    const done = (reply: Buffer): void => client.answer(chunk, reply, length, isLong);
    const { arguments: args } = client.parser;
    if (command.route !== 'keys') {
      const slot = slotOfCommand(command, args);
      const bytes = Buffer.from(client.parser.command);
      this.route({ slot, version, receiver: client, writes, bytes, done });
    } else {
      const parts = splitByOwner(command, args, (slot) => this.table.owner(slot));
      this.#lastOrder += 1;
      const order = this.#lastOrder;
      for (const part of requestsOf(parts, command, { version, receiver: client, writes, order, done }))
        this.#enter(part);
    }
    executor.begin(client);
  }

  #everywhere(client: Client, command: Command): void {
    const { executor, table } = this;
    if (!table.isComplete) {
      executor.fail(SLOT_UNAVAILABLE);
      return;
    }
    // A command that waits came before this one.
    if (table.hasStopped || !this.#waiting.isEmpty) {
      executor.fail(SLOTS_MOVE);
      return;
    }
    executor.endRun();
    const { length } = client.parser.command;
    const isLong = mayReplyAtLength(command);
    const chunk = client.expect(length, command.inSteps, isLong);
    const { epoch, members } = table;
    const failures = this.#failures;
    const isWhole = (): boolean => table.epoch === epoch && this.#failures === failures;
    const merge = new ReplyMerge(
      members.map(() => ({ positions: [] })),
      command.merge!,
      client,
      // A slot that moved meanwhile may have been at neither server, or at both. An earlier command that was refused meanwhile
      // is done after this one.
      (reply) => client.answer(chunk, isWhole() ? reply : errorReply(SLOTS_MOVE), length, isLong),
    );
    const bytes = Buffer.from(client.parser.command);
    const writes = command.flags.includes('write');
    const part = { slot: -1, version: client.version, receiver: client, writes, bytes };
    for (const [index, member] of members.entries()) {
      const ask = (done: Request['done']): void => this.#ask(member, { ...part, done });
      const take = (reply: Buffer): void => merge.take(index, reply);
      ask(command.inSteps ? inSteps(ask, take) : take);
    }
    executor.begin(client);
  }

  /** The client's next command waits for the reply: a page of a snapshot counts as output only when it is there. */
  #askCluster(client: Client, admin: AdminService): void {
    const { executor } = this;
    executor.endRun();
    const { arguments: args, command } = client.parser;
    const { length } = command;
    const chunk = client.expect(length, true);
    const words = Array.from({ length: args.count - 1 }, (_, index) => args.string(index + 1));
    void admin.run(words).then((reply) => client.answer(chunk, reply, length));
    executor.begin(client);
  }

  /** Sends a member its part. No run may be open. */
  #ask(member: number, request: Request): void {
    const link = this.peers?.link(member);
    if (member === this.self) this.#local.run(request);
    else if (link) {
      link.send(request, this.table.epoch, this);
      this.executor.schedule();
    } else this.refused(request);
  }
}

/** A request for each part of a command with many keys. */
function requestsOf(
  parts: readonly Part[],
  command: Command,
  whole: Pick<Request, 'version' | 'receiver' | 'writes' | 'order' | 'deadline' | 'done'>,
): Request[] {
  const { version, receiver, writes, order, deadline } = whole;
  const merge = new ReplyMerge(parts, command.merge!, receiver, whole.done);
  return parts.map(({ slot, slots, bytes }, index) => ({
    slot,
    version,
    receiver,
    bytes,
    writes,
    command,
    ...(slots.length > 1 && { slots }),
    ...(order !== undefined && { order }),
    ...(deadline !== undefined && { deadline }),
    done: (reply) => merge.take(index, reply),
  }));
}

/** Whether a read may have a reply that is much longer than one value. */
function mayReplyAtLength({ isBrief, merge }: Command): boolean {
  return !isBrief && merge !== 'sum' && merge !== 'ok';
}

/** Sends the command again in another turn as long as the reply is a number; an error tells whether a part was done. */
function inSteps(ask: (done: Request['done']) => void, take: Request['done']): Request['done'] {
  let steps = 0;
  const done = (reply: Buffer): void => {
    if (reply[0] === INTEGER_MARK) {
      steps += 1;
      setImmediate(() => ask(done));
    } else take(steps > 0 && reply[0] === ERROR_MARK ? partly(reply) : reply);
  };
  return done;
}

function partly(error: Buffer): Buffer {
  return Buffer.from(`${error.toString('latin1').trimEnd()} (a part of the keys was removed)\r\n`, 'latin1');
}
