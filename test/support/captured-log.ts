import { Writable } from 'node:stream'
import pino, { type Logger } from 'pino'

/** A logger whose lines tests can read. */
export class CapturedLog {
  readonly lines: string[] = []
  readonly logger: Logger = pino(
    { level: 'info' },
    new Writable({
      write: (line, _encoding, done) => {
        this.lines.push(String(line))
        done()
      },
    }),
  )

  get text(): string {
    return this.lines.join('')
  }
}
