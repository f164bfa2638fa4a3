// Versions in the manifests of this repository: all public packages have one, and need each other in exactly that one.
const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];

function ownRanges(manifest) {
  return DEPENDENCIES.flatMap((kind) => Object.entries(manifest[kind] ?? {})).filter(([name]) =>
    name.startsWith('@rdmc/'),
  );
}

/** What a release would publish wrongly, or npm would look for in the registry, one line each. */
export function versionProblems(manifests) {
  const isPublic = new Map(manifests.map(({ name, private: hidden }) => [name, !hidden]));
  const shown = manifests.filter(({ name }) => isPublic.get(name));
  const expected = shown[0]?.version;
  const wrong = shown.filter(({ version }) => version !== expected);
  const ranges = manifests.flatMap((manifest) =>
    ownRanges(manifest).flatMap(([name, range]) => {
      const wanted = isPublic.get(manifest.name) && isPublic.get(name) ? expected : '*';
      return range === wanted ? [] : [`${manifest.name} needs ${name} ${range}; write ${wanted}`];
    }),
  );
  return [
    ...wrong.map(({ name, version }) => `${name} has version ${version}, others have ${expected}`),
    ...ranges,
  ];
}
