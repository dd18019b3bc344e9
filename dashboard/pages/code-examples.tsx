import { useSignal } from '@preact/signals'
import type { TargetedKeyboardEvent } from 'preact'
import { useId } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.js'
import { texts } from '../texts.js'

const t = texts.codeExamples

const languages = ['curl', 'javascript', 'python'] as const
type Language = (typeof languages)[number]

interface Values {
  key: string
  context: string
  file: string
}

const uploadUrl = `${location.origin}/api/v1/files/upload`

/** test/browser/dashboard-overview.test.ts runs these programs. */
const examples: Record<Language, (values: Values) => string> = {
  curl: ({ key, context, file }) => `curl -H "Authorization: Bearer ${key}" \\
  -F context=${context} \\
  -F file=@${file} \\
  ${uploadUrl}`,
  javascript: ({ key, context, file }) => `// Node.js 20 or later: save as upload.mjs and run "node upload.mjs".
import { readFile } from 'node:fs/promises'

const form = new FormData()
form.append('context', '${context}')
form.append('file', new Blob([await readFile('${file}')]), '${file}')

const response = await fetch('${uploadUrl}', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${key}' },
  body: form,
})
console.log(response.status, await response.json())`,
  python: ({ key, context, file }) => `# Install the package "requests" first: pip install requests
import requests

with open("${file}", "rb") as file:
    response = requests.post(
        "${uploadUrl}",
        headers={"Authorization": "Bearer ${key}"},
        data={"context": "${context}"},
        files={"file": file},
    )
print(response.status_code, response.json())`,
}

interface Props {
  /** Secret of a new API key. If it is undefined, the examples contain a placeholder. */
  secret: string | undefined
  contextKey?: string | undefined
  extension?: string | undefined
}

/** Example programs that upload a file, with one tab per language. */
export function CodeExamples({ secret, contextKey, extension }: Props) {
  const language = useSignal<Language>('curl')
  const id = useId()
  const code = examples[language.value]({
    key: secret ?? 'YOUR_API_KEY',
    context: contextKey ?? 'YOUR_CONTEXT',
    file: `example.${extension ?? 'pdf'}`,
  })
  const selectByArrowKey = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (!step) return
    const next = (languages.indexOf(language.value) + step + languages.length) % languages.length
    language.value = languages[next]!
    event.currentTarget.querySelectorAll('button')[next]?.focus()
  }
  return (
    <div class="code-examples">
      <div class="row between">
        <div class="tabs" role="tablist" aria-label={t.languages} onKeyDown={selectByArrowKey}>
          {languages.map((each) => (
            <button
              key={each}
              type="button"
              role="tab"
              id={`${id}-${each}`}
              aria-selected={each === language.value}
              aria-controls={`${id}-panel`}
              tabIndex={each === language.value ? 0 : -1}
              onClick={() => (language.value = each)}
            >
              {t.names[each]}
            </button>
          ))}
        </div>
        <CopyButton text={code} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable panel must be reachable by keyboard. */}
      <pre role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${language.value}`} tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  )
}
