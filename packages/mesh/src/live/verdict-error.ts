import { MeshError } from '../errors.js';
import type { Verdict } from './membership.js';

/** What a process is told that is refused as a member, or that has to stop. */
export function verdictError({ code, holder }: Verdict, memberId: number): MeshError {
  const where = holder && ` on ${holder.process.host} as process ${holder.process.pid}`;
  const details = { memberId, holder: holder?.process };
  switch (code) {
    case 'ERR_RDMC_REPLACED': {
      const text = `a newer process${where ?? ''} is member ${memberId}; end this one`;
      return new MeshError(code, text, details);
    }
    case 'ERR_RDMC_ID_IN_USE': {
      const text = `member ${memberId} runs${where ?? ''}, and answers; use another id, end that process, or give replace: true`;
      return new MeshError(code, text, details);
    }
    case 'ERR_RDMC_MESH_EVICTED': {
      const text = `this incarnation of member ${memberId} has left or was removed; end this process, and start it again`;
      return new MeshError(code, text, details);
    }
    default:
      return new MeshError(code, `a later connection with member ${memberId} was made`, details);
  }
}
