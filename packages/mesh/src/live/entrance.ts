import { pause } from '@rdmc/common';
import { DIAL_BACKOFF_FACTOR, DIAL_BACKOFF_FIRST_MS, DIAL_BACKOFF_MAX_MS } from '../constants.js';
import { invalidOption, MeshError } from '../errors.js';
import type { Hello } from '../hello.js';
import type { Member } from '../member.js';
import type { ResolvedLiveOptions } from '../options.js';
import type { Security } from '../security.js';
import { nextIncarnation } from './claim.js';
import type { RosterNews } from './frames.js';
import { IncarnationFile } from './incarnation-file.js';
import { IntroductionCall } from './introduction-call.js';
import type { RosterEntry } from './roster.js';
import { verdictError } from './verdict-error.js';

/** Refusals after which no other address is tried. */
const FINAL_CODES: ReadonlySet<string> = new Set([
  'ERR_RDMC_MESH_VERSION',
  'ERR_RDMC_MESH_MEMBERS_DIFFER',
  'ERR_RDMC_MESH_OTHER_CLUSTER',
  'ERR_RDMC_MESH_WRONG_KEY',
  'ERR_RDMC_MESH_DIRECTORY',
  'ERR_RDMC_ID_IN_USE',
]);

export interface EntranceContext {
  readonly options: ResolvedLiveOptions;
  readonly security: Security | undefined;
  /** How long the process that has the id may take to answer. */
  readonly holderTimeoutMs: number;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
  /** A HELLO of an introduction by this member, which has no incarnation yet. */
  hello(): Hello;
  /** The process has this incarnation from now on: it accepts connections, and connects to nobody yet. */
  begin(incarnation: number): RosterEntry;
  /** The process was admitted to a mesh with these members. */
  admitted(news: RosterNews): void;
}

/** How a newcomer becomes a member: through any live member, or as the first one. */
export class Entrance {
  readonly #context: EntranceContext;
  readonly #file: IncarnationFile | undefined;
  #lastError: MeshError | undefined;

  constructor(context: EntranceContext) {
    this.#context = context;
    const { directory, id } = context.options;
    if (directory !== undefined) this.#file = new IncarnationFile(directory, id);
  }

  /** The error of the last attempt. */
  get lastError(): MeshError | undefined {
    return this.#lastError;
  }

  /** Resolves when the process is admitted. @throws MeshError with a final code; the reason of the signal */
  async enter(): Promise<void> {
    const { options, signal } = this.#context;
    const kept = (await this.#file?.read()) ?? 0;
    if (options.contacts.length === 0) {
      await this.#begin(nextIncarnation(kept, 0));
      this.#context.admitted({ entries: [], marks: [], lost: [], isWhole: false });
      return;
    }
    const { host, port } = options.self;
    const contacts = options.contacts.filter((each) => each.host !== host || each.port !== port);
    if (contacts.length === 0) {
      throw invalidOption("join: it has only this member's own address; [] begins a new mesh");
    }
    for (let pauseMs = DIAL_BACKOFF_FIRST_MS; ; pauseMs *= DIAL_BACKOFF_FACTOR) {
      for (const contact of contacts) if (await this.#enterThrough(contact, kept)) return;
      await pause(Math.min(pauseMs, DIAL_BACKOFF_MAX_MS) * (0.75 + Math.random() / 2), signal);
      signal.throwIfAborted();
    }
  }

  /** False: another attempt may succeed. */
  async #enterThrough(contact: Member, kept: number): Promise<boolean> {
    const { signal } = this.#context;
    try {
      await this.#introduce(contact, kept);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const given = inUse(error);
      if (!(given instanceof MeshError) || FINAL_CODES.has(given.code)) throw given;
      this.#lastError = given;
      return false;
    }
  }

  async #introduce(contact: Member, kept: number): Promise<void> {
    const { options } = this.#context;
    const call = await this.#call(contact, this.#context.signal);
    try {
      const { from: id, attributes } = call.answer;
      options.examine?.({ id, attributes });
      const news = await call.roster();
      const holder = news.entries.find(({ id }) => id === options.id);
      const isOther = holder !== undefined && holder.instance !== options.instance.toString('hex');
      // A holder that the introducer has not lost is connected there, and the introducer refuses.
      if (isOther && !options.replace && news.lost.includes(options.id)) await this.#refuseIfAnswers(holder);
      const marked = news.marks.find(({ id }) => id === options.id)?.incarnation ?? 0;
      const taken = isOther ? holder.incarnation : 0;
      const entry = await this.#begin(nextIncarnation(kept, Math.max(marked, taken)));
      await call.introduce({ entry, replace: options.replace });
      this.#context.admitted(news);
    } finally {
      call.close();
    }
  }

  async #begin(incarnation: number): Promise<RosterEntry> {
    await this.#file?.write(incarnation);
    return this.#context.begin(incarnation);
  }

  #call(to: Member, signal: AbortSignal): Promise<IntroductionCall> {
    const { options, security } = this.#context;
    const { maxFrameBytes } = options;
    return IntroductionCall.dial({ to, hello: this.#context.hello(), security, maxFrameBytes, signal });
  }

  /** The introducer has lost the process that has the id. It may run behind a partition of the network. */
  async #refuseIfAnswers(holder: RosterEntry): Promise<void> {
    const limit = AbortSignal.timeout(this.#context.holderTimeoutMs);
    try {
      const call = await this.#call(holder, AbortSignal.any([limit, this.#context.signal]));
      call.close();
    } catch {
      // It does not answer, or another process has its address.
      this.#context.signal.throwIfAborted();
      return;
    }
    throw verdictError({ code: 'ERR_RDMC_ID_IN_USE', holder }, holder.id);
  }
}

/** To a newcomer, a newer process of its id is one that joined at the same time. */
export function inUse(error: unknown): unknown {
  if (!(error instanceof MeshError) || error.code !== 'ERR_RDMC_REPLACED') return error;
  const { memberId, holder, message } = error;
  const about = { ...(memberId !== undefined && { memberId }), holder, cause: error };
  return new MeshError(
    'ERR_RDMC_ID_IN_USE',
    `another process took the id at the same time: ${message}`,
    about,
  );
}
