import { bundle } from '../testing/config/bundle.js';

// main: the command. member: one process of the cluster that is tested. gate: into the host of kv servers. random: choices by seed, for others too.
export default bundle({
  entry: {
    main: 'src/main.ts',
    member: 'src/member/main.ts',
    gate: 'src/kv/gate.ts',
    random: 'src/random.ts',
  },
});
