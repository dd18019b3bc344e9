import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { describeWith, getProgramPath } from '../../../test/support/installed-programs.js'
import { commands } from '../src/command/commands.js'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../dist/command/main.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'assay-command-'))
const env = { PATH: process.env.PATH, HOME: folder, TERM: 'dumb' }
const assay = (...args: string[]) => run(process.execPath, [program, ...args], { env })
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('command-line help', () => {
  test.each(Object.keys(commands))('prints help for `assay %s --help` and exits with status 0', async (name) => {
    const { stdout, stderr } = await assay(name, '--help')
    expect([stderr, stdout]).toEqual(['', expect.stringMatching(new RegExp(`^Usage: assay ${name}`))])
    expect(stdout).toMatch(/^Examples:\n {2}/m)
    for (const option of [...Object.keys(commands[name]!.options), 'json', 'help']) expect(stdout).toContain(`  --${option} `)
  })

  test('`assay help COMMAND` prints the same text as `assay COMMAND --help`', async () => {
    expect((await assay('help', 'link')).stdout).toBe((await assay('link', '--help')).stdout)
  })

  test('`assay --help` lists all commands', async () => {
    const { stdout } = await assay('--help')
    for (const name of Object.keys(commands)) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, 'm'))
  })

  test('prints help to standard error and exits with status 2 if the command is missing', async () => {
    await expect(assay()).rejects.toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage: assay COMMAND') })
  })
})

describe('shell completion', () => {
  beforeAll(async () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      writeFileSync(join(folder, `completion.${shell}`), (await assay('completion', shell)).stdout)
  })

  test('completes commands, subcommands and options in bash', async () => {
    const complete = async (...words: string[]) => {
      const list = words.map((word) => `'${word}'`).join(' ')
      const script = `source completion.bash; COMP_WORDS=(assay ${list}); COMP_CWORD=${words.length}; _assay; echo "\${COMPREPLY[*]}"`
      return (await run('bash', ['-c', script], { env, cwd: folder })).stdout.trim()
    }
    expect(await complete('up')).toBe('upload')
    expect(await complete('link', '--max')).toBe('--max-files --max-size-mb')
    expect(await complete('keys', 'cr')).toBe('create')
    expect(await complete('upload', 'report.p')).toBe('')
  })

  test('exits with status 2 if `assay completion` names an unknown shell', async () => {
    await expect(assay('completion', 'csh')).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("'csh'") })
  })

  describeWith('zsh')('in zsh', () => {
    test('completes commands and options in an interactive zsh', async () => {
      const typed = `zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal 'autoload -Uz compinit && compinit -u -D; source completion.zsh; assay() { print -r -- "ran $*" }'
zpty -w terminal $'assay up\\t--context notes\\n'
zpty -w terminal $'assay link --max-f\\t\\n'
zpty -w terminal exit
while zpty -r terminal line; do print -r -- $line; done`
      const { stdout } = await run(getProgramPath('zsh'), ['-f', '-c', typed], { env, cwd: folder })
      expect(stdout).toContain('ran upload --context notes')
      expect(stdout).toContain('ran link --max-files')
    })
  })

  describeWith('fish')('in fish', () => {
    test('completes commands, subcommands and options in fish, with their descriptions', async () => {
      const complete = async (line: string) => {
        const script = `source completion.fish; complete -C '${line}'`
        return (await run(getProgramPath('fish'), ['-c', script], { env, cwd: folder })).stdout
      }
      expect(await complete('assay up')).toBe(`upload\t${commands.upload!.description}\n`)
      expect(await complete('assay link --max-f')).toBe(`--max-files\t${commands.link!.options['max-files']!.description}\n`)
      expect(await complete('assay keys cr')).toBe('create\n')
    })
  })
})
