import { formatBytes, formatCount, plural } from '../ui/units.js';

/** The counts of a cast, from its survey or its summary. */
export interface Contents {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
}

/** `3 files, 1 directory, 38.1 MiB`; counts of zero are left out, except for files. */
export function describeContents({ files, directories, links, bytes }: Contents): string {
  const parts = [plural(files, 'file')];
  if (directories > 0)
    parts.push(directories === 1 ? '1 directory' : `${formatCount(directories)} directories`);
  if (links > 0) parts.push(plural(links, 'link'));
  return [...parts, formatBytes(bytes)].join(', ');
}
