import { useSignal } from '@preact/signals'
import { change, forgetLists } from '../api/client.js'
import { graphql } from '../api/graphql.js'
import { Page } from '../components/page.js'
import { go } from '../router.js'
import { texts } from '../texts.js'
import { type ContextDraft, ContextForm, rulesOf } from './context-form.js'

const t = texts.contexts

const createDocument = graphql(
  `mutation CreateContext($input: CreateContextInput!) { createContext(input: $input) { contextKey } }`,
)

const blank: ContextDraft = {
  contextKey: '',
  displayName: '',
  description: '',
  extensions: 'pdf, png, jpg',
  maxFileSizeMb: '10',
  storageQuotaMb: '10240',
  rejectBlankFiles: true,
  rejectCorruptFiles: true,
  scanForViruses: true,
}

export function NewContext() {
  const draft = useSignal(blank)
  const save = async () => {
    const { contextKey } = draft.value
    const { fault } = await change(createDocument, { input: { contextKey, ...rulesOf(draft.value) } })
    if (fault) return fault
    forgetLists()
    go(`/files?context=${contextKey}`)
    return undefined
  }
  return (
    <Page title={t.newTitle} parent={{ href: '/contexts', title: t.title }}>
      <ContextForm draft={draft} isNew act={t.create} save={save} />
    </Page>
  )
}
