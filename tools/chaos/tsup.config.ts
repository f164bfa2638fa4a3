import { bundle } from '../testing/config/bundle.js';

// main: the command. member: one process of the cluster that is tested. gate: into the host of kv servers.
// group-member: one member of a group. random: choices by seed, for others too.
export default bundle({
  entry: {
    main: 'src/main.ts',
    member: 'src/member/main.ts',
    gate: 'src/kv/gate.ts',
    'group-member': 'src/group/member.ts',
    random: 'src/random.ts',
  },
});
