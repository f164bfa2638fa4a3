import type { Mutant } from '../mutant.js';
import { cast } from './cast.js';
import { common } from './common.js';
import { dataplane } from './dataplane.js';
import { group } from './group.js';
import { groupFirstBlocks } from './group-first-blocks.js';
import { groupOrders } from './group-orders.js';
import { groupSmall } from './group-small.js';
import { hipower } from './hipower.js';
import { kv } from './kv.js';
import { kvHandOver } from './kv-hand-over.js';
import { kvIndex } from './kv-index.js';
import { kvSalvage } from './kv-salvage.js';
import { levels } from './levels.js';
import { mesh } from './mesh.js';
import { quotas } from './quotas.js';
import { schedule } from './schedule.js';
import { tailwind } from './tailwind.js';
import { tailwindCoordinator } from './tailwind-coordinator.js';
import { tailwindDurability } from './tailwind-durability.js';
import { tailwindFormat } from './tailwind-format.js';
import { tailwindRecovery } from './tailwind-recovery.js';
import { verbs } from './verbs.js';
import { verbsRequests } from './verbs-requests.js';

/** Every mutant of the repository. */
export const MUTANTS: readonly Mutant[] = [
  ...cast,
  ...common,
  ...dataplane,
  ...group,
  ...groupFirstBlocks,
  ...groupOrders,
  ...groupSmall,
  ...hipower,
  ...kv,
  ...kvHandOver,
  ...kvIndex,
  ...kvSalvage,
  ...levels,
  ...mesh,
  ...quotas,
  ...schedule,
  ...tailwind,
  ...tailwindCoordinator,
  ...tailwindDurability,
  ...tailwindFormat,
  ...tailwindRecovery,
  ...verbs,
  ...verbsRequests,
];
