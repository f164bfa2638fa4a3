import { createHash } from 'node:crypto';
import { type Claim, compareClaims } from './claim.js';

/** A member, as members tell each other of it. */
export interface RosterEntry extends Claim {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  /** For people: where the process runs. */
  readonly process: { readonly host: string; readonly pid: number };
}

/** The incarnations of an id up to this one have left or were removed. */
export interface RosterMark {
  readonly id: number;
  readonly incarnation: number;
}

export interface RosterDelta {
  readonly entries: readonly RosterEntry[];
  readonly marks: readonly RosterMark[];
}

export interface RosterLimits {
  readonly members: number;
  /** Marks that are kept; beyond it the oldest one is forgotten. */
  readonly marks: number;
}

/** Bytes of the digest. */
export const ROSTER_DIGEST_BYTES = 8;

/**
 * The members that one member knows. Rosters converge whatever the order in which they are merged: of two entries of an id the
 * newer claim stays, and a mark removes every claim up to its incarnation.
 */
export class Roster {
  protected readonly present = new Map<number, RosterEntry>();
  protected readonly retired = new Map<number, number>();
  /** The version of this roster at which an entry or mark was added. */
  protected readonly addedAt = new Map<number, number>();
  protected folded = Buffer.alloc(ROSTER_DIGEST_BYTES);
  protected changes = 0;

  constructor(private readonly limits: RosterLimits) {}

  get entries(): ReadonlyMap<number, RosterEntry> {
    return this.present;
  }

  /** Grows with each change. */
  get version(): number {
    return this.changes;
  }

  /** Equal at members whose rosters have the same entries. Marks do not count: members keep different numbers of them. */
  get digest(): Buffer {
    return this.folded;
  }

  get(id: number): RosterEntry | undefined {
    return this.present.get(id);
  }

  /** The highest incarnation of an id that this roster knows; 0: none. */
  incarnationOf(id: number): number {
    return Math.max(this.present.get(id)?.incarnation ?? 0, this.retired.get(id) ?? 0);
  }

  isRetired(id: number, incarnation: number): boolean {
    return incarnation <= (this.retired.get(id) ?? 0);
  }

  /** Whether the entry is newer than what is known of its id. */
  accepts(entry: RosterEntry): boolean {
    if (this.isRetired(entry.id, entry.incarnation)) return false;
    const known = this.present.get(entry.id);
    if (known !== undefined) return compareClaims(entry, known) > 0;
    return this.present.size < this.limits.members;
  }

  /** False where the entry was not taken: it is not newer, or there are too many members. */
  offer(entry: RosterEntry): boolean {
    if (!this.accepts(entry)) return false;
    this.set(entry.id, entry);
    return true;
  }

  /** Marks the incarnations of an id up to this one. False where that was known. */
  retire({ id, incarnation }: RosterMark): boolean {
    if (this.isRetired(id, incarnation)) return false;
    this.retired.delete(id);
    this.retired.set(id, incarnation);
    const known = this.present.get(id);
    if (known !== undefined && known.incarnation <= incarnation) this.set(id, undefined);
    else this.changed(id);
    if (this.retired.size > this.limits.marks) this.forgetOldestMark();
    return true;
  }

  whole(): RosterDelta {
    return { entries: [...this.present.values()], marks: this.marksThat(() => true) };
  }

  /** The changes after a version of this roster. */
  since(version: number): RosterDelta {
    const isLater = (id: number): boolean => (this.addedAt.get(id) ?? 0) > version;
    return {
      entries: [...this.present.values()].filter(({ id }) => isLater(id)),
      marks: this.marksThat(isLater),
    };
  }

  /** What a member with the roster `other` does not know. */
  missingFrom(other: RosterDelta): RosterDelta {
    const theirs = new Map(other.entries.map((entry) => [entry.id, entry]));
    const marks = new Map(other.marks.map(({ id, incarnation }) => [id, incarnation]));
    const isNews = (entry: RosterEntry): boolean => {
      const known = theirs.get(entry.id);
      return known === undefined || compareClaims(entry, known) > 0;
    };
    return {
      entries: [...this.present.values()].filter(isNews),
      // A mark is of use only against an entry: else rosters with different marks would be sent for ever.
      marks: this.marksThat((id, incarnation) => {
        const known = theirs.get(id);
        return known !== undefined && known.incarnation <= incarnation && (marks.get(id) ?? 0) < incarnation;
      }),
    };
  }

  protected marksThat(wanted: (id: number, incarnation: number) => boolean): RosterMark[] {
    return [...this.retired]
      .filter(([id, at]) => wanted(id, at))
      .map(([id, incarnation]) => ({ id, incarnation }));
  }

  protected set(id: number, entry: RosterEntry | undefined): void {
    const known = this.present.get(id);
    if (known !== undefined) this.fold(known);
    if (entry === undefined) this.present.delete(id);
    else {
      this.present.set(id, entry);
      this.fold(entry);
    }
    this.changed(id);
  }

  protected changed(id: number): void {
    this.changes += 1;
    this.addedAt.set(id, this.changes);
  }

  protected forgetOldestMark(): void {
    const [oldest] = this.retired.keys();
    this.retired.delete(oldest!);
    if (!this.present.has(oldest!)) this.addedAt.delete(oldest!);
  }

  /** The digest is the exclusive or of those of all entries, so that a change costs the same in any roster. */
  protected fold({ id, incarnation, instance, host, port }: RosterEntry): void {
    const text = JSON.stringify([id, incarnation, instance, host, port]);
    const hash = createHash('sha256').update(text).digest();
    this.folded = Buffer.from(this.folded.map((byte, index) => byte ^ hash[index]!));
  }
}
