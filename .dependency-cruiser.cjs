// Imports go down, never up. `may` lists what each layer may import beside itself.
const may = {
  'packages/common': [],
  'packages/schedule': ['packages/common'],
  'packages/verbs': ['packages/common'],
  'packages/mesh': ['packages/common'],
  'packages/verbs-compliance': ['packages/common', 'packages/verbs'],
  'packages/dataplane': ['packages/common', 'packages/verbs'],
  'packages/node': ['packages/common', 'packages/verbs', 'packages/dataplane', 'packages/mesh'],
  'packages/group': [
    'packages/common',
    'packages/node',
    'packages/schedule',
    'packages/verbs',
    'packages/dataplane',
    'packages/mesh',
  ],
  'packages/tailwind': [
    'packages/common',
    'packages/node',
    'packages/verbs',
    'packages/dataplane',
    'packages/mesh',
  ],
  'packages/cast': [
    'packages/common',
    'packages/schedule',
    'packages/verbs',
    'packages/mesh',
    'packages/group',
  ],
  'packages/hipower': [
    'packages/common',
    'packages/node',
    'packages/verbs',
    'packages/dataplane',
    'packages/mesh',
  ],
  'tools/mutants': [],
  'tools/netlab': ['packages/common'],
  'tools/roce-vm': ['packages/common'],
  'tools/chaos': [
    'packages/verbs',
    'packages/node',
    'packages/mesh',
    'packages/tailwind',
    'tools/netlab',
    'apps/kv',
  ],
  'apps/kv': ['packages/common', 'packages/node', 'packages/mesh', 'packages/tailwind'],
  'apps/paramserver': ['packages/common', 'packages/mesh', 'packages/hipower'],
  'apps/rdmc': [
    'packages/common',
    'packages/schedule',
    'packages/verbs',
    'packages/dataplane',
    'packages/mesh',
    'packages/group',
    'packages/cast',
  ],
};

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...Object.entries(may).map(([layer, below]) => ({
      name: `layers: ${layer}`,
      severity: 'error',
      comment: `${layer} may import only ${['itself', ...below].join(', ')}`,
      from: { path: `^${layer}/src/` },
      to: { path: '^(packages|apps|tools)/', pathNot: `^(${[layer, ...below].join('|')})/` },
    })),
    {
      name: 'no cycles',
      severity: 'error',
      from: { path: '/src/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'unresolvable (build first)',
      severity: 'error',
      from: { path: '/src/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'sources do not import tests',
      severity: 'error',
      from: { path: '^(packages|apps)/[^/]+/src/' },
      to: { path: '/test/' },
    },
    {
      name: 'published code imports only declared dependencies',
      severity: 'error',
      from: { path: '^(packages|apps)/[^/]+/src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: '(^|/)(node_modules|dist|native)/' },
    exclude: { path: '(^|/)(native/build|coverage)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
