import { bundle } from '../../tools/testing/config/bundle.js';

// main: the command. member: what it runs in the processes of the server and of the workers.
export default bundle({ entry: { main: 'src/main.ts', index: 'src/index.ts', member: 'src/member.ts' } });
