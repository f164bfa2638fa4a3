// `prepublishOnly` of every public package: npm runs it before it publishes a folder, and not for the tarballs of a release.
// A folder of the workspace is not what users should get: it has no licence, and @rdmc/verbs has no native addon.
console.error(
  `${process.env.npm_package_name ?? 'This package'} is published with all others: run 'npm run release -- --dry-run', then 'npm run release', at the root of the repository`,
);
process.exit(1);
