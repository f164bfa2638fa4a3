import type { Protocol, ProtocolContext } from '@rdmc/dataplane';
import { WATCH_INTERVAL_MS } from '../constants.js';
import {
  Command,
  decodeJson,
  decodeNumbers,
  encodeJson,
  type GroupSetup,
  type PairAddress,
} from '../records.js';
import { countersAt } from './counters.js';
import { WorkerGroup } from './worker-group.js';

/** All groups of a node, in the data plane's worker. They share its completion queue in turns. */
export class GroupProtocol implements Protocol {
  readonly #groups = new Map<number, WorkerGroup>();
  /** Groups that something happened to in this turn. */
  readonly #active: WorkerGroup[] = [];

  /** Runs while a message is under way in any group, so that an idle node is never woken. */
  #watchTimer: NodeJS.Timeout | undefined;
  #lookDue = false;

  constructor(private readonly context: ProtocolContext) {}

  onCommand(kind: number, request: number, payload: Uint8Array): void {
    switch (kind) {
      case Command.OPEN:
        this.#open(request, decodeJson<GroupSetup>(payload));
        break;
      case Command.PAIR:
        this.#createPair(request, decodeJson(payload));
        break;
      case Command.CONNECT:
        void this.#connect(request, decodeJson(payload));
        break;
      case Command.START:
        this.#groups.get(decodeNumbers(payload)[0]!)?.start();
        this.context.reply(request);
        break;
      case Command.SEND:
        this.#send(decodeNumbers(payload));
        break;
      case Command.PLACE:
        this.#place(decodeNumbers(payload));
        break;
      case Command.ABORT:
        void this.#abort(request, decodeNumbers(payload)[0]!);
        break;
      default:
        this.context.fail(request, 'ERR_RDMC_UNKNOWN_COMMAND', `There is no group command ${kind}`);
    }
  }

  onTurn(): void {
    for (let i = 0; i < this.#active.length; i += 1) this.#active[i]!.advance();
    if (this.#watchTimer === undefined) this.#watchBusy();
    else if (this.#lookDue) this.#look();
    this.#active.length = 0;
  }

  waitsForSolicited(): boolean {
    for (const group of this.#groups.values()) {
      if (!group.waitsForNeighbours) return false;
    }
    return true;
  }

  async stop(): Promise<void> {
    this.#stopWatching();
    await Promise.all([...this.#groups.values()].map((group) => group.abort()));
    this.#groups.clear();
  }

  readonly #want = (group: WorkerGroup): void => {
    if (group.wantsAdvance) return;
    group.wantsAdvance = true;
    this.#active.push(group);
  };

  #watchBusy(): void {
    if (!this.#active.some((group) => group.isBusy)) return;
    this.#watchTimer = setInterval(() => {
      // The look itself comes in the turn that this asks for, behind the completions that are there.
      this.#lookDue = true;
      this.context.wake();
    }, WATCH_INTERVAL_MS);
    this.#watchTimer.unref();
  }

  #look(): void {
    this.#lookDue = false;
    let goesOn = false;
    for (const group of this.#groups.values()) goesOn = group.look() || goesOn;
    if (!goesOn) this.#stopWatching();
  }

  #stopWatching(): void {
    clearInterval(this.#watchTimer);
    this.#watchTimer = undefined;
  }

  #open(request: number, setup: GroupSetup): void {
    const table = this.context.data as SharedArrayBuffer;
    this.#try(request, () => {
      const counters = countersAt(table, setup.group);
      this.#groups.set(setup.group, new WorkerGroup(this.context, setup, counters, this.#want));
      return undefined;
    });
  }

  #createPair(request: number, { group, pair }: { group: number; pair: number }): void {
    this.#try(request, () => encodeJson(this.#groups.get(group)!.createPair(pair)));
  }

  async #connect(
    request: number,
    { group, pair, address }: { group: number; pair: number; address: PairAddress },
  ): Promise<void> {
    try {
      const transport = await this.#groups.get(group)!.connect(pair, address);
      this.context.reply(request, encodeJson(transport));
    } catch (error) {
      this.#fail(request, error);
    }
  }

  /** The group may be gone when what was sent to it arrives. */
  #send([number, message, address, lkey, sizeBytes, blockSizeBytes]: number[]): void {
    const group = this.#groups.get(number!);
    if (!group) return;
    group.machine.send(message!, address!, lkey!, sizeBytes!, blockSizeBytes!);
    this.#want(group);
  }

  #place([number, message, address, lkey]: number[]): void {
    const group = this.#groups.get(number!);
    if (!group) return;
    group.machine.place(message!, address!, lkey!);
    this.#want(group);
  }

  async #abort(request: number, number: number): Promise<void> {
    const group = this.#groups.get(number);
    try {
      await group?.abort();
      this.#groups.delete(number);
      this.context.reply(request);
    } catch (error) {
      this.#fail(request, error);
    }
  }

  #try(request: number, action: () => Uint8Array | undefined): void {
    try {
      this.context.reply(request, action());
    } catch (error) {
      this.#fail(request, error);
    }
  }

  #fail(request: number, error: unknown): void {
    const { code, message } = error as { code?: unknown; message?: unknown };
    this.context.fail(request, typeof code === 'string' ? code : 'ERR_RDMC_WORKER', String(message));
  }
}
