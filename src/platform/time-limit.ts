/** Waits for `work`, but no longer than `ms`. Returns false if `work` is still pending by then. */
export async function settlesWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false)
  })
  return Promise.race([work.then(() => true), timeout]).finally(() => clearTimeout(timer))
}
