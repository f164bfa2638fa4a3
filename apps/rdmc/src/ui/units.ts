const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 2 ** 10,
  kib: 2 ** 10,
  m: 2 ** 20,
  mib: 2 ** 20,
  g: 2 ** 30,
  gib: 2 ** 30,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
};

/** Bytes of a size such as `64KiB`, `256MiB`, `1.5GiB` or `1000`; K, M and G are binary, kB, MB and GB decimal. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  if (!match) return undefined;
  const unit = UNITS[match[2]!.toLowerCase()];
  if (unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

const DURATION_UNITS: Readonly<Record<string, number>> = {
  '': 1000,
  ms: 1,
  s: 1000,
  min: 60_000,
  m: 60_000,
  h: 3_600_000,
};

/** Milliseconds of a duration such as `30` (seconds), `30s`, `500ms`, `2min` or `1h`. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/.exec(text.trim());
  const unit = DURATION_UNITS[match?.[2] ?? 'none'];
  if (!match || unit === undefined) return undefined;
  return Math.round(Number(match[1]) * unit);
}

const BIT_UNITS: Readonly<Record<string, number>> = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };

/** Bytes per second of `40MiB/s`, `40MB/s` or `40MB`; or of `300Mbit/s`, in bits as for networks. */
export function parseRate(text: string): number | undefined {
  const amount = text.trim().replace(/\/s$/i, '');
  const match = /^(\d+(?:\.\d+)?)\s*([kmg]?bit)$/i.exec(amount);
  if (!match) return parseSize(amount);
  return Math.floor((Number(match[1]) * BIT_UNITS[match[2]!.toLowerCase()]!) / 8);
}

const BINARY = ['KiB', 'MiB', 'GiB', 'TiB'];

/** Formats a size: `94.3 MiB`, `64 KiB`, `17 B`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  while (value >= 1024 && unit < BINARY.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = Number.isInteger(value) || value >= 1000 ? 0 : 1;
  return `${value.toFixed(digits)} ${BINARY[unit]}`;
}

/** Formats a duration given in seconds: `87.4 ms`, `3.2 µs`, `1.25 s`. */
export function formatSeconds(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 1e-3) return `${(seconds * 1e3).toFixed(1)} ms`;
  return `${(seconds * 1e6).toFixed(1)} µs`;
}

/** Formats bytes per second in the units of sizes, so that a size divided by a time is the rate: `45.8 MiB/s`. */
export function formatRate(bytesPerSecond: number): string {
  const whole = Math.round(bytesPerSecond);
  return `${formatBytes(whole)}/s`;
}

/** Formats the rate of a link, in bits per second as usual for links: `400 Mbit/s`, `1.5 Gbit/s`. */
export function formatBitRate(bitsPerSecond: number): string {
  const [divisor, unit] = bitsPerSecond < 1e9 ? [1e6, 'Mbit/s'] : [1e9, 'Gbit/s'];
  return `${Number((bitsPerSecond / divisor).toFixed(1))} ${unit}`;
}

/** Formats a count without `Intl`, whose first use takes 20 ms: the receivers of a cast wait for each other. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 block`, `5 blocks`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
