/** Hosts in one cast. A list that means more is a slip: `node[1-99999999]`. The limit of `castFiles`. */
export const MAX_HOSTS = 4095;
