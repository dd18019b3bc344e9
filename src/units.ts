/** Bytes of what the contract calls 1 MB. */
export const megabyte = 1_048_576
