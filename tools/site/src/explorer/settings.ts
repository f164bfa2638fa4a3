import { type Algorithm, algorithms, isAlgorithm } from '@rdmc/schedule';

/** A link, both ways, that is slower than the others. */
export interface SlowLink {
  readonly a: number;
  readonly b: number;
  /** Its share of the others' bandwidth. */
  readonly ratio: number;
}

/** What the explorer shows. The page's address keeps it. */
export interface Settings {
  readonly algorithm: Algorithm;
  /** Shown beside it on the same clock. */
  readonly beside: Algorithm | 'none';
  readonly nodes: number;
  readonly blocks: number;
  /** Racks of about equal size, each with consecutive ranks. */
  readonly racks: number;
  readonly slow: SlowLink | undefined;
  /** Steps per second. */
  readonly rate: number;
}

interface Range {
  readonly least: number;
  readonly most: number;
}

/** Larger schedules are correct, too, but not readable. */
export const LIMITS = {
  nodes: { least: 2, most: 64 },
  blocks: { least: 1, most: 64 },
  racks: { least: 1, most: 8 },
  rate: { least: 1, most: 20 },
} as const satisfies Record<string, Range>;

export const DEFAULTS: Settings = {
  algorithm: 'binomial-pipeline',
  beside: 'sequential',
  nodes: 8,
  blocks: 4,
  racks: 1,
  slow: undefined,
  rate: 2,
};

const SLOW_LINK = /^(\d+)-(\d+)x(0?\.\d+)$/;

/** Settings with all values in their limits: wrong ones are replaced by the nearest, or by the default. */
export function settled(settings: Settings): Settings {
  const nodes = within(LIMITS.nodes, settings.nodes, DEFAULTS.nodes);
  return {
    algorithm: isAlgorithm(settings.algorithm) ? settings.algorithm : DEFAULTS.algorithm,
    beside: settings.beside === 'none' || isAlgorithm(settings.beside) ? settings.beside : DEFAULTS.beside,
    nodes,
    blocks: within(LIMITS.blocks, settings.blocks, DEFAULTS.blocks),
    racks: Math.min(nodes, within(LIMITS.racks, settings.racks, DEFAULTS.racks)),
    slow: settings.slow && settledLink(settings.slow, nodes),
    rate: within(LIMITS.rate, settings.rate, DEFAULTS.rate),
  };
}

function settledLink({ a, b, ratio }: SlowLink, nodes: number): SlowLink | undefined {
  const isRank = (rank: number): boolean => Number.isInteger(rank) && rank >= 0 && rank < nodes;
  return isRank(a) && isRank(b) && a !== b && ratio > 0 && ratio < 1 ? { a, b, ratio } : undefined;
}

function within({ least, most }: Range, value: number, otherwise: number): number {
  if (!Number.isFinite(value)) return otherwise;
  return Math.min(most, Math.max(least, Math.round(value)));
}

/** Reads the part of the page's address behind `#`. */
export function readSettings(hash: string): { readonly settings: Settings; readonly time: number } {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const number = (name: 'nodes' | 'blocks' | 'racks' | 'rate'): number =>
    Number.parseFloat(fields.get(name) ?? `${DEFAULTS[name]}`);
  const settings = settled({
    algorithm: (fields.get('algorithm') ?? DEFAULTS.algorithm) as Algorithm,
    beside: (fields.get('beside') ?? DEFAULTS.beside) as Algorithm,
    nodes: number('nodes'),
    blocks: number('blocks'),
    racks: number('racks'),
    slow: readLink(fields.get('slow') ?? ''),
    rate: number('rate'),
  });
  const time = Number.parseFloat(fields.get('time') ?? '0');
  return { settings, time: Number.isFinite(time) ? Math.max(0, time) : 0 };
}

function readLink(text: string): SlowLink | undefined {
  const found = SLOW_LINK.exec(text);
  return found ? { a: Number(found[1]), b: Number(found[2]), ratio: Number(found[3]) } : undefined;
}

/** The inverse of `readSettings`; values that are the default are left out. */
export function writeSettings(settings: Settings, time: number): string {
  const fields = new URLSearchParams();
  for (const name of ['algorithm', 'beside', 'nodes', 'blocks', 'racks', 'rate'] as const) {
    if (settings[name] !== DEFAULTS[name]) fields.set(name, `${settings[name]}`);
  }
  const { slow } = settings;
  if (slow) fields.set('slow', `${slow.a}-${slow.b}x${slow.ratio}`);
  if (time > 0) fields.set('time', `${Math.round(time * 100) / 100}`);
  return fields.size === 0 ? '' : `#${fields}`;
}

/** The rack of each rank. */
export function racksOf({ nodes, racks }: Pick<Settings, 'nodes' | 'racks'>): number[] {
  return Array.from({ length: nodes }, (_, rank) => Math.floor((rank * racks) / nodes));
}

/** The choices of the page's lists. */
export const ALGORITHMS: readonly Algorithm[] = algorithms;
