/** Bytes of what the contract calls 1 MB. */
export const megabyte = 1_048_576

/** The most MB that any setting may name: 1 TiB. */
export const mostMegabytes = 1_048_576
