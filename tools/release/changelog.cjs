// How changesets writes the packages' CHANGELOG.md: the texts of the changesets, without commits, and without a list of
// the packages of this repository that were released with it, because all have one version.

async function getReleaseLine({ summary }) {
  return `\n${summary.trim()}\n`;
}

async function getDependencyReleaseLine() {
  return '';
}

module.exports = { getReleaseLine, getDependencyReleaseLine };
