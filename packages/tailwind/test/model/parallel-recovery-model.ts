import type { ObjectModel } from '@rdmc/testing';
import { encodeDigest } from '../../src/format/payloads.js';
import { type DividedSegment, planSources } from '../../src/recovery/division.js';
import { type BackupInventory, planRecovery } from '../../src/recovery/plan.js';
import { PullMachine } from '../../src/recovery/pull-machine.js';
import { hasPrefix, RecoveryAttempts, type ToldDivision } from '../../src/recovery/recovery-attempts.js';
import type { InventoryEntry } from '../../src/rpc/messages.js';

const LOG = 1n;
const HEIRS = ['A', 'B'] as const;
type Heir = (typeof HEIRS)[number];
const BACKUPS = [1, 2] as const;
const ATTEMPTS = 2;
const MEMBER: Record<Heir, number> = { A: 11, B: 12 };
const CLOSED = 1n;
const HEAD = 2n;
/** What is in each group of a segment: an entry for each slot, of which there are two. */
const ENTRIES = 2;

/** The rules that backups, heirs and leaders follow. Wrong variants have others. */
export interface Rules {
  /** An heir says that it has its part when all segments have arrived. */
  readonly waitsForAll: boolean;
  /** What a backup knows of attempts at its start. */
  readonly attempts: () => RecoveryAttempts;
  /** Heirs count what arrives for their own attempt only. */
  readonly countsOwnAttempt: boolean;
  /** A backup serves a replica only where it is the planned one. */
  readonly has: typeof hasPrefix;
  /** Only backups that answered the inventory are asked for parts. */
  readonly asksAnswered: boolean;
  /** A backup that comes back does not know of attempts. */
  readonly forgets: boolean;
}

export const RULES: Rules = {
  waitsForAll: true,
  attempts: () => new RecoveryAttempts(),
  countsOwnAttempt: true,
  has: hasPrefix,
  asksAnswered: true,
  forgets: true,
};

interface Replica {
  readonly segmentId: bigint;
  readonly isClosed: boolean;
  /** Whole groups at its beginning, and what its certificate promises. */
  readonly groups: number;
  readonly certified: number;
}

interface Attempt {
  /** From backups that answered. */
  readonly inventories: BackupInventory[];
  segments: DividedSegment[] | undefined;
  /** Backups that know the plan. */
  readonly told: number[];
  /** By heir. */
  readonly pulls: Map<Heir, Pull>;
  isOver: boolean;
}

interface Pull {
  readonly machine: PullMachine;
  readonly has: string[];
  isDurable: boolean;
}

interface Answer {
  readonly heir: Heir;
  readonly attempt: number;
  readonly segmentId: bigint;
  readonly source: number;
  /** Undefined: refused. */
  readonly entries: readonly string[] | undefined;
}

/**
 * A dead log with a closed segment and a head, of which two backups have replicas: one closed replica is damaged, and one
 * backup has a last append that the other one does not have, and that was not acknowledged. Each append has an entry in two
 * slots, which two heirs get; they change places in the second attempt. A leader may fail at any time, and a backup may end
 * once and come back with its files. Messages are late, and overtake each other.
 */
export class ParallelRecoveryModel implements ObjectModel {
  private readonly attempts: Attempt[] = [];
  private readonly backups: Map<number, RecoveryAttempts>;
  private readonly away: number[] = [];
  private readonly requests: Omit<Answer, 'entries'>[] = [];
  private readonly answers: Answer[] = [];
  private recovered = 0;

  /** @param ends how often a backup ends and comes back */
  constructor(
    private readonly rules: Rules = RULES,
    private ends = 1,
  ) {
    this.backups = new Map(BACKUPS.map((id) => [id, rules.attempts()]));
  }

  steps(): string[] {
    if (this.recovered > 0) return [];
    const { attempts, away } = this;
    const last = attempts.length;
    const steps: string[] = [];
    if (last < ATTEMPTS) steps.push('begin');
    for (const id of BACKUPS) {
      if (away.includes(id)) steps.push(`return ${id}`);
      else if (this.ends > 0 && last > 0) steps.push(`end ${id}`);
    }
    attempts.forEach((attempt, index) => {
      steps.push(...this.ofAttempt(attempt, index + 1));
    });
    this.requests.forEach(({ source }, index) => {
      steps.push(away.includes(source) ? `lose ${index}` : `serve ${index}`);
    });
    this.answers.forEach((_, index) => {
      steps.push(`deliver ${index}`);
    });
    return steps;
  }

  take(step: string): void {
    const [what, first, second] = step.split(' ');
    const number = Number(first);
    if (what === 'begin') this.begin();
    else if (what === 'end') this.end(number);
    else if (what === 'return') this.away.splice(this.away.indexOf(number), 1);
    else if (what === 'inventory') this.inventory(number, Number(second));
    else if (what === 'plan') this.plan(number);
    else if (what === 'tell') this.tell(number, Number(second));
    else if (what === 'pull') this.pull(number, second as Heir);
    else if (what === 'durable') this.attempts[number - 1]!.pulls.get(second as Heir)!.isDurable = true;
    else if (what === 'finish') this.finish(number);
    else if (what === 'serve') this.serve(this.requests.splice(number, 1)[0]!);
    else if (what === 'lose') this.answer({ ...this.requests.splice(number, 1)[0]!, entries: undefined });
    else this.deliver(this.answers.splice(number, 1)[0]!);
  }

  key(): string {
    const { rules: _, backups, attempts, ...rest } = this;
    const pulls = attempts.map(({ pulls: all, ...attempt }) => [attempt, [...all].map(textOf)]);
    return JSON.stringify([rest, [...backups].map(textOf), pulls], (__, value: unknown) => {
      if (typeof value === 'bigint') return String(value);
      return value instanceof Map ? [...value] : value;
    });
  }

  done(): boolean {
    return (
      this.recovered > 0 || (this.attempts.length === ATTEMPTS && this.attempts.every(({ isOver }) => isOver))
    );
  }

  private ofAttempt(attempt: Attempt, number: number): string[] {
    if (attempt.isOver) return [];
    const steps: string[] = [];
    const { segments, inventories, told, pulls } = attempt;
    for (const id of BACKUPS) {
      if (this.away.includes(id)) continue;
      const isAnswered = inventories.some(({ member }) => member === id);
      if (!segments && !isAnswered) steps.push(`inventory ${number} ${id}`);
      if (segments && !told.includes(id) && this.isAsked(attempt, id)) steps.push(`tell ${number} ${id}`);
    }
    if (!segments && inventories.length > 0) steps.push(`plan ${number}`);
    for (const heir of segments ? HEIRS : []) {
      const pull = pulls.get(heir);
      if (!pull) steps.push(`pull ${number} ${heir}`);
      else if (!pull.isDurable && this.mayBeDurable(pull)) steps.push(`durable ${number} ${heir}`);
    }
    const isAll = HEIRS.every((heir) => pulls.get(heir)?.isDurable);
    if (isAll && number === this.attempts.length) steps.push(`finish ${number}`);
    return steps;
  }

  private isAsked({ segments }: Attempt, backup: number): boolean {
    return segments!.some(({ sources }) => sources.includes(backup));
  }

  private mayBeDurable({ machine, has }: Pull): boolean {
    return this.rules.waitsForAll ? machine.isComplete : has.length > 0;
  }

  /** The heirs of the attempts before forget what these brought. */
  private begin(): void {
    for (const attempt of this.attempts) over(attempt);
    // They would be refused, and asking does not change a backup.
    this.requests.length = 0;
    this.attempts.push({ inventories: [], segments: undefined, told: [], pulls: new Map(), isOver: false });
  }

  private end(backup: number): void {
    this.ends -= 1;
    this.away.push(backup);
    if (this.rules.forgets) this.backups.set(backup, this.rules.attempts());
  }

  private inventory(number: number, backup: number): void {
    const attempt = this.attempts[number - 1]!;
    this.backups.get(backup)!.begin(LOG, MEMBER.A, number);
    attempt.inventories.push({ member: backup, replicas: this.replicasOf(backup).map(inventoryOf) });
    attempt.inventories.sort((a, b) => a.member - b.member);
  }

  private plan(number: number): void {
    const attempt = this.attempts[number - 1]!;
    try {
      const plan = planRecovery(LOG, attempt.inventories, { segmentId: 0n, epoch: 0 });
      attempt.segments = planSources(plan).map((segment) =>
        this.rules.asksAnswered ? segment : { ...segment, sources: [...BACKUPS] },
      );
    } catch {
      over(attempt);
    }
  }

  private tell(number: number, backup: number): void {
    const attempt = this.attempts[number - 1]!;
    attempt.told.push(backup);
    attempt.told.sort();
    const known = attempt.segments!.filter(({ sources }) => sources.includes(backup));
    const segments = new Map(known.map((segment) => [segment.segmentId, segment]));
    const heirs = heirsOf(number).map((heir) => MEMBER[heir]);
    try {
      if (!this.rules.asksAnswered) this.backups.get(backup)!.begin(LOG, MEMBER.A, number);
      this.backups.get(backup)!.divide(LOG, MEMBER.A, number, { heirs, segments });
    } catch {
      // It is another process now, or takes part in a later attempt.
    }
  }

  private pull(number: number, heir: Heir): void {
    const attempt = this.attempts[number - 1]!;
    const division = { logId: LOG, attempt: number, segments: attempt.segments! };
    const pull = { machine: new PullMachine(division, 1), has: [], isDurable: false };
    attempt.pulls.set(heir, pull);
    this.ask(number, heir, pull);
  }

  private ask(attempt: number, heir: Heir, { machine }: Pull): void {
    try {
      this.requests.push(...machine.next().map((request) => ({ heir, attempt, ...request })));
    } catch {
      over(this.attempts[attempt - 1]!);
    }
    this.requests.sort(byText);
  }

  private serve(request: Omit<Answer, 'entries'>): void {
    this.answer({ ...request, entries: this.entriesFor(request) });
  }

  /** Only its attempt can make a late answer wrong. */
  private answer(answer: Answer): void {
    if (this.rules.countsOwnAttempt || answer.attempt === ATTEMPTS) {
      this.deliver(answer);
      return;
    }
    this.answers.push(answer);
    this.answers.sort(byText);
  }

  private entriesFor({ heir, attempt, segmentId, source }: Omit<Answer, 'entries'>): string[] | undefined {
    const attempts = this.backups.get(source)!;
    try {
      const { part, prefix } = attempts.admit(LOG, MEMBER[heir], attempt, segmentId);
      const replica = this.replicasOf(source).find((each) => each.segmentId === segmentId)!;
      const scan = scanOf(replica);
      if (!this.rules.has(prefix, scan)) return undefined;
      return Array.from({ length: replica.groups }, (_, group) => `${segmentId}.${group}.${part}`);
    } catch {
      return undefined;
    }
  }

  private deliver({ heir, attempt, segmentId, source, entries }: Answer): void {
    const { attempts, rules } = this;
    // Another attempt of the same heir may have begun.
    const current = rules.countsOwnAttempt ? attempt : attempts.length;
    const pull = attempts[current - 1]!.pulls.get(heir);
    if (!pull || attempts[current - 1]!.isOver) return;
    if (entries === undefined) pull.machine.failed({ segmentId, source }, 'refused');
    else if (pull.machine.arrived(current, segmentId)) {
      pull.has.push(...entries);
      pull.has.sort();
    }
    this.ask(current, heir, pull);
  }

  /** @throws where an heir lacks an entry that was acknowledged, has another one's, or an append is at one heir only */
  private finish(number: number): void {
    this.recovered = number;
    const { pulls } = this.attempts[number - 1]!;
    const lasts = heirsOf(number).map((heir, part) => {
      const { has } = pulls.get(heir)!;
      for (const entry of [`${CLOSED}.0.${part}`, `${HEAD}.0.${part}`]) {
        if (!has.includes(entry)) throw new Error(`an acknowledged entry is lost: ${entry}`);
      }
      const others = has.filter((entry) => !entry.endsWith(`.${part}`));
      if (others.length > 0) throw new Error(`heir ${heir} has entries of another part: ${others}`);
      return has.includes(`${HEAD}.1.${part}`);
    });
    if (new Set(lasts).size > 1) throw new Error('an append is half applied');
  }

  private replicasOf(backup: number): readonly Replica[] {
    const isFirst = backup === BACKUPS[0];
    const closed = { segmentId: CLOSED, isClosed: true, groups: isFirst ? 0 : 1, certified: 1 };
    return [closed, { segmentId: HEAD, isClosed: false, groups: isFirst ? 2 : 1, certified: 0 }];
  }
}

/** The heir of each part; in the second attempt they have changed places. */
function heirsOf(attempt: number): readonly Heir[] {
  return attempt === 1 ? HEIRS : [...HEIRS].reverse();
}

/** Lengths are in entries; the checksum of a prefix is its length. */
function scanOf({ groups, certified, isClosed }: Replica) {
  const offset = groups * ENTRIES;
  const status = isClosed && groups < certified ? ('corrupt' as const) : ('ok' as const);
  return { status, offset, checksum: offset, reason: 'end' as const };
}

function inventoryOf(replica: Replica): InventoryEntry {
  const { segmentId, isClosed, certified } = replica;
  const length = certified * ENTRIES;
  return {
    segmentId,
    incarnation: 1,
    epoch: 1,
    state: isClosed ? 'closed' : 'open',
    survivor: false,
    byteLength: isClosed ? length : 100,
    checksum: isClosed ? length : 0,
    scan: isClosed ? null : scanOf(replica),
    digest: isClosed ? null : Buffer.from(encodeDigest([CLOSED, HEAD])).toString('base64'),
  };
}

/** Nothing of an attempt that is over counts any more. */
function over(attempt: Attempt): void {
  attempt.isOver = true;
  attempt.inventories.length = 0;
  attempt.pulls.clear();
}

function byText(a: Omit<Answer, 'entries'>, b: Omit<Answer, 'entries'>): number {
  return nameOf(a) < nameOf(b) ? -1 : 1;
}

function nameOf({ heir, attempt, segmentId, source }: Omit<Answer, 'entries'>): string {
  return `${heir} ${attempt} ${segmentId} ${source}`;
}

function textOf([name, value]: readonly [unknown, object]): unknown {
  return [name, { ...value }];
}

/** A backup that serves heirs of whatever attempt it was told of last. */
export class MixedAttempts extends RecoveryAttempts {
  private told: ToldDivision | undefined;

  override divide(logId: bigint, member: number, attempt: number, told: ToldDivision): void {
    super.divide(logId, member, attempt, told);
    this.told = told;
  }

  override admit(_logId: bigint, heir: number, _attempt: number, segmentId: bigint) {
    const told = this.told!;
    return { part: told.heirs.indexOf(heir), prefix: told.segments.get(segmentId)!, told };
  }
}
