/** URL of the service and API key for the session. */
export const settings = { url: process.env.ASSAY_URL!, key: process.env.ASSAY_KEY! }

export const file = (name: string, content: string) => new File([content], name, { type: 'text/plain' })

export function expectEqual(got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Error(`${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}.`)
}

/** Ends a session after checking the allowed extensions in the typed details of a rejection. */
export function refused(allowed: string[] | undefined): void {
  expectEqual(allowed, ['txt'])
  console.log('done')
}
