import type { Queries } from '../db/client.js'

/** Keeps the ranges of ids that pages of files are found by small. Each step holds the files of one tenant for some milliseconds. */
export async function splitFileRanges(database: Queries, most = 4096): Promise<void> {
  for (let cuts = 1; cuts > 0; ) {
    const { rows } = await database.query<{ cuts: number }>('SELECT split_file_ranges($1) AS cuts', [most])
    cuts = rows[0]!.cuts
  }
}
