/** The API defines 1 MB as 1024 × 1024 bytes. */
export const megabyte = 1_048_576

/** Maximum value of any setting in MB: 1 TiB. */
export const maxMegabytes = 1_048_576
