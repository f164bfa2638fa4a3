// The order of publication: a package after all that it needs, so that nobody can install it without them.
import { ownDependencies } from './manifest.mjs';

/** Sorts entries { manifest } so; entries without dependencies between them stay in their order. */
export function publishOrder(entries) {
  const byName = new Map(entries.map((entry) => [entry.manifest.name, entry]));
  const ordered = new Set();
  const visit = (entry, above) => {
    const { name } = entry.manifest;
    if (above.includes(name)) throw new Error(`Packages need each other: ${[...above, name].join(' > ')}`);
    for (const below of ownDependencies(entry.manifest)) {
      const found = byName.get(below);
      if (!found) throw new Error(`${name} needs ${below}, which is not in this release`);
      visit(found, [...above, name]);
    }
    ordered.add(entry);
  };
  for (const entry of entries) visit(entry, []);
  return [...ordered];
}

/** The entries { manifest } of these packages and of all that they need, in the order of `entries`. */
export function withNeeded(entries, names) {
  const byName = new Map(entries.map((entry) => [entry.manifest.name, entry]));
  const needed = new Set();
  const visit = (name) => {
    if (needed.has(name)) return;
    needed.add(name);
    ownDependencies(byName.get(name).manifest).forEach(visit);
  };
  names.forEach(visit);
  return entries.filter(({ manifest }) => needed.has(manifest.name));
}
