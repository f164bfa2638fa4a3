import { formatBytes, formatCount, plural } from '../ui/units.js';

/** What a cast has in it, as its survey or its summary counts that. */
export interface Contents {
  readonly files: number;
  readonly directories: number;
  readonly links: number;
  readonly bytes: number;
}

/** `3 files, 1 directory, 38.1 MiB`; what there is none of is left out, but for files. */
export function describeContents({ files, directories, links, bytes }: Contents): string {
  const parts = [plural(files, 'file')];
  if (directories > 0)
    parts.push(directories === 1 ? '1 directory' : `${formatCount(directories)} directories`);
  if (links > 0) parts.push(plural(links, 'link'));
  return [...parts, formatBytes(bytes)].join(', ');
}
