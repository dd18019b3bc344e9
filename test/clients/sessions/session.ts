/** Where the service is, and the key that the session uses. */
export const settings = { url: process.env.ASSAY_URL!, key: process.env.ASSAY_KEY! }

export const file = (name: string, content: string) => new File([content], name, { type: 'text/plain' })

export function expectEqual(got: unknown, wanted: unknown): void {
  if (JSON.stringify(got) !== JSON.stringify(wanted))
    throw new Error(`${JSON.stringify(got)} where ${JSON.stringify(wanted)} is expected.`)
}

/** The end of a session: the refusal was typed by its code, and says what is allowed. */
export function refused(allowed: string[] | undefined): void {
  expectEqual(allowed, ['txt'])
  console.log('done')
}
