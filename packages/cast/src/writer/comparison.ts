import type { ArchivedEntries } from '../archive/archived-entries.js';
import type { Checksum } from '../checksum.js';
import { MAX_PATH_BYTES } from '../constants.js';
import { protocolError } from '../errors.js';
import { Filter } from '../filters/filter.js';
import { ContentComparison } from '../manifest/content-comparison.js';
import { EntryState, isLacking } from '../manifest/entry-states.js';
import type { ManifestEntry } from '../manifest/manifest-entry.js';
import { ManifestOrder } from '../manifest/manifest-order.js';
import { decodePiece } from '../manifest/piece-decoder.js';
import type { ComparisonPolicy } from '../manifest/policy.js';
import type { KeptStore } from '../resume/kept-store.js';
import { shown } from '../stream/paths.js';
import type { DirectoryRecord } from '../stream/records.js';
import type { ReceivingTree } from './directory-tree.js';
import { Examiner } from './examiner.js';
import { ExistingFile } from './existing-file.js';
import type { NeededRoom } from './needed-room.js';
import type { OlderFiles } from './older-files.js';
import type { Outcomes } from './outcomes.js';
import { Removal } from './removal.js';
import { Surplus } from './surplus.js';

export interface ComparisonParts {
  readonly policy: ComparisonPolicy;
  readonly checksum: Checksum;
  readonly tree: ReceivingTree;
  readonly older: OlderFiles;
  /** Undefined where the cast tells only modes. */
  readonly archived: ArchivedEntries | undefined;
  readonly outcomes: Outcomes;
  readonly timeUnitNs: bigint;
  /** Whether everything is synced before the cast is reported as complete. */
  readonly durable: boolean;
  /** A directory needs mode and time at the end of the cast. */
  readonly onDirectory: (directory: DirectoryRecord) => void;
  readonly active: () => void;
  /** What interrupted casts have left; undefined where the receiver keeps nothing. */
  readonly kept: KeptStore | undefined;
  /** Called after every entry that was removed; throws where the cast was given up. */
  readonly step: () => void;
}

/** The surplus entries of a receiver: their number, and their paths where they were asked for. */
export interface SurplusReport {
  readonly count: number;
  readonly paths: readonly string[];
}

/** The manifest of one cast, compared with the receiving directory. */
export class Comparison {
  readonly #examiner: Examiner;
  readonly #surplus: Surplus | undefined;
  readonly #removal: Removal;
  readonly #order = new ManifestOrder();

  constructor(private readonly parts: ComparisonParts) {
    const { policy, checksum, tree, older, outcomes, timeUnitNs, durable, active, kept, archived } = parts;
    const filter = new Filter(policy.rules);
    const onDirectory = (entry: ManifestEntry, index: number): void => this.#defer(entry, index);
    const file = new ExistingFile(new ContentComparison(checksum), durable, active, archived);
    const shared = { tree, outcomes, older, timeUnitNs, kept, archived };
    this.#examiner = new Examiner(policy, { ...shared, file, onDirectory });
    this.#surplus = policy.remove ? new Surplus(tree, filter, onDirectory) : undefined;
    this.#removal = new Removal(tree, filter, outcomes, parts.step);
  }

  get unchanged(): { readonly files: number; readonly bytes: number } {
    return this.#examiner.unchanged;
  }

  /** What the files that it lacks take on its disk. */
  get room(): NeededRoom {
    return this.#examiner.room;
  }

  /** Sizes of files that an interrupted cast has brought completely. */
  get restoredBytes(): number {
    return this.#examiner.restoredBytes;
  }

  /** Names of the paths that were given at the sender, as latin1. */
  get roots(): ReadonlySet<string> {
    return this.#order.roots;
  }

  get removed(): number {
    return this.#removal.removed;
  }

  /** Compares a piece of the manifest, one entry per step. Returns a state for each. @throws CastError */
  *examine(first: number, count: number, data: string): Generator<void, Uint8Array, undefined> {
    if (first !== this.#examiner.count)
      throw protocolError(`a piece of the manifest begins with entry ${first}, not ${this.#examiner.count}`);
    const states = new Uint8Array(count);
    let at = 0;
    for (const entry of decodePiece(count, data, this.parts.policy.archive)) {
      this.#order.add(entry);
      this.#surplus?.add(entry, first + at);
      this.parts.archived?.note(entry, first + at);
      states[at] = this.#examiner.examine(entry);
      at += 1;
      this.parts.active();
      yield;
    }
    return states;
  }

  /** After the last piece. */
  surplus(): SurplusReport {
    this.#surplus?.end();
    const found = this.#surplus?.found ?? [];
    const paths = this.parts.policy.dryRun
      ? found.map(({ path, isDirectory }) => `${shown(path, MAX_PATH_BYTES)}${isDirectory ? '/' : ''}`)
      : [];
    return { count: found.length, paths };
  }

  /** Whether an entry of the stream is stored; others are in the stream for other receivers. */
  isWanted(index: number): boolean {
    return isLacking(this.#stateOf(index));
  }

  /** Whether a directory of the stream gets its mode and time, and is made where it is missing. */
  isWantedDirectory(index: number): boolean {
    return this.#stateOf(index) !== EntryState.SKIPPED;
  }

  /** Removes surplus entries, one per step. @throws CastError where nothing more can be stored */
  *remove(): Generator<void, void, undefined> {
    // A directory that was moved since it was compared may be outside of the receiving directory now: all are found again.
    this.parts.tree.close();
    for (const entry of this.#surplus?.found ?? []) {
      this.#removal.remove(entry);
      yield;
    }
  }

  #stateOf(index: number): number {
    const state = this.#examiner.state(index);
    if (state === undefined) throw protocolError(`entry ${index} was sent, and is not in the manifest`);
    return state;
  }

  #defer({ path, mode, time }: ManifestEntry, index: number): void {
    if (this.parts.policy.dryRun) return;
    this.parts.onDirectory({ type: 'directory', index, path: Buffer.from(path), mode, time });
  }
}
