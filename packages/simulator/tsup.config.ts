import { bundle } from '../../tools/testing/config/bundle.js';

// Of @rdmc/tailwind only the planning of recoveries is used: some functions without imports, and not its dependencies.
export default bundle({ entry: ['src/index.ts'], noExternal: [/^@rdmc\/tailwind/] });
