import { createInterface } from 'node:readline/promises'
import { createClient } from '../client.js'
import { type Command, succeeded } from './command.js'
import { createCompletionScript, shells } from './completion.js'
import { UsageError } from './output.js'
import { storeSettings } from './settings.js'

/** Commands for sign-in, receipt verification and shell completion. */
export const localCommands: Record<string, Command> = {
  login: {
    usage: 'login --url URL [--key KEY]',
    description: "Stores the service's URL and the API key for the current user.",
    options: {
      url: { value: 'URL', description: 'Service URL. Default: the value of ASSAY_URL.' },
      key: {
        value: 'KEY',
        description: 'API key. Default: the value of ASSAY_KEY. If neither is set, the command prompts for the key.',
      },
    },
    argumentCount: [0, 0],
    examples: ['assay login --url https://files.example.com'],
    async run({ options, output, env }) {
      const url = options.url ?? env.ASSAY_URL
      if (!url || !URL.canParse(url))
        throw new UsageError('Missing or invalid service URL. Set --url to an absolute URL, such as https://files.example.com.')
      const key = options.key ?? env.ASSAY_KEY ?? (await promptForKey())
      await createClient({ baseUrl: url, apiKey: key }).contexts.list({ page_size: 1 })
      const path = await storeSettings(env, { url, key })
      output.note(`Signed in to ${url}. The credentials are stored in ${path}.`)
      return succeeded
    },
  },
  verify: {
    usage: 'verify RECEIPT [FILE] --keys JWKS',
    description: 'Verifies a receipt offline and prints the result of each check.',
    options: {
      keys: {
        value: 'JWKS',
        description: "The service's public keys: a copy of /.well-known/jwks.json, downloaded over a trusted connection.",
      },
    },
    argumentCount: [1, 2],
    examples: [
      'curl -o jwks.json https://files.example.com/.well-known/jwks.json',
      'assay verify receipt.jws invoice.pdf --keys jwks.json',
    ],
    async run({ positionals: [receiptPath, filePath], options, output }) {
      if (!options.keys)
        throw new UsageError(
          'Missing public keys. Download /.well-known/jwks.json from the service, and set --keys to the path of that file.',
        )
      const { verifyFiles } = await import('./verify.js')
      const findings = await verifyFiles({ receiptPath: receiptPath!, filePath, keysPath: options.keys })
      for (const finding of findings) output.row(finding, finding.proven ? 'proven' : 'NOT PROVEN', finding.message)
      if (filePath === undefined)
        output.note('No file was compared with the receipt. To compare one, add its path after the receipt.')
      return findings.every(({ proven }) => proven)
    },
  },
  completion: {
    usage: 'completion bash | zsh | fish',
    description: 'Prints a shell script that completes commands and options with the Tab key.',
    options: {},
    actions: shells,
    argumentCount: [1, 1],
    examples: [
      'source <(assay completion bash)     # in ~/.bashrc',
      'source <(assay completion zsh)      # in ~/.zshrc, after compinit',
      'assay completion fish | source      # in ~/.config/fish/config.fish',
    ],
    async run({ positionals: [shell], commands }) {
      process.stdout.write(createCompletionScript(shell!, commands))
      return succeeded
    },
  },
}

async function promptForKey(): Promise<string> {
  if (!process.stdin.isTTY)
    throw new UsageError('Missing API key. The command cannot prompt for it without a terminal. Set --key KEY or ASSAY_KEY.')
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await prompt.question('API key: ')).trim()
  } finally {
    prompt.close()
  }
}
