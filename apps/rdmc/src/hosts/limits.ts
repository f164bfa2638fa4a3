/** Most hosts in one cast; the limit of `castFiles`. A longer list is a typing error: `node[1-99999999]`. */
export const MAX_HOSTS = 4095;
