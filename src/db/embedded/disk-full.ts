/** What to do where the embedded database cannot start for want of room. */
export const diskFull = (folder: string, why: string) =>
  new Error(
    `The disk under '${folder}' is full, and PostgreSQL cannot start on it: make 64 MB of room there, then start again. (${why})`,
  )
