import { type Signal, useSignal } from '@preact/signals'
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { graphql } from '../api/graphql.js'
import { useQuery } from '../api/use-query.js'
import { Icon, type IconName } from '../components/icon.js'
import { navigate } from '../router.js'
import { hasScope, type Scope, signOut } from '../session.js'
import { texts } from '../texts.js'
import { theme } from '../theme.js'
import { getVisibleViews } from '../views.js'
import { useContexts } from './use-contexts.js'

const t = texts.palette

const filesDocument = graphql(`
  query PaletteFiles($name: String!) {
    filesConnection(first: 6, search: $name) { edges { node { id originalFilename contextKey } } }
  }
`)

interface Entry {
  id: string
  group: keyof typeof t.groups
  title: string
  hint?: string
  icon: IconName
  run: () => unknown
}

const searchDelayMs = 150

/** Finds pages, actions, contexts and files, and opens the selected entry. */
export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const text = useSignal('')
  const selected = useSignal(0)
  const entries = usePaletteEntries(text)
  const activeIndex = Math.min(selected.value, entries.length - 1)
  useEffect(() => {
    const element = dialog.current!
    element.showModal()
    return () => element.close()
  }, [])
  useEffect(() => {
    document.getElementById(`${id}-${activeIndex}`)?.scrollIntoView({ block: 'nearest' })
  }, [activeIndex])
  const runEntry = (entry: Entry | undefined) => {
    if (!entry) return
    onClose()
    entry.run()
  }
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && entries.length > 0) {
      event.preventDefault()
      selected.value = (activeIndex + step + entries.length) % entries.length
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      runEntry(entries[activeIndex])
    }
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click outside closes the dialog, and keyboard users can press Escape.
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label={t.title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <SearchField
        listId={`${id}-list`}
        activeId={activeIndex >= 0 ? `${id}-${activeIndex}` : undefined}
        text={text}
        onChange={() => (selected.value = 0)}
        onKeyDown={onKeyDown}
      />
      <Results
        id={id}
        entries={entries}
        activeIndex={activeIndex}
        onSelect={(index) => (selected.value = index)}
        onRun={runEntry}
      />
      {entries.length === 0 && <p class="palette-empty dim">{t.noResults}</p>}
    </dialog>
  )
}

interface SearchFieldProps {
  listId: string
  activeId: string | undefined
  text: Signal<string>
  onChange: () => void
  onKeyDown: (event: TargetedKeyboardEvent<HTMLInputElement>) => void
}

const SearchField = ({ listId, activeId, text, onChange, onKeyDown }: SearchFieldProps) => (
  <div class="palette-input">
    <Icon name="search" />
    <input
      type="text"
      role="combobox"
      aria-label={t.title}
      aria-expanded="true"
      aria-controls={listId}
      aria-activedescendant={activeId}
      placeholder={t.placeholder}
      autocomplete="off"
      autofocus
      value={text.value}
      onInput={(event) => {
        text.value = event.currentTarget.value
        onChange()
      }}
      onKeyDown={onKeyDown}
    />
    <kbd>Esc</kbd>
  </div>
)

interface ResultsProps {
  id: string
  entries: readonly Entry[]
  activeIndex: number
  onSelect: (index: number) => void
  onRun: (entry: Entry) => void
}

const Results = ({ id, entries, activeIndex, onSelect, onRun }: ResultsProps) => (
  <div id={`${id}-list`} role="listbox" aria-label={t.results} class="palette-list">
    {(Object.keys(t.groups) as Entry['group'][]).map((group) => {
      const members = entries.flatMap((entry, index) => (entry.group === group ? [{ entry, index }] : []))
      if (members.length === 0) return null
      return (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset is for form fields, and these are options.
        <div key={group} role="group" aria-label={t.groups[group]}>
          <p aria-hidden="true">{t.groups[group]}</p>
          {members.map(({ entry, index }) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles keyboard events.
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input, which names the active option.
            <div
              key={entry.id}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === activeIndex}
              class="palette-option"
              onPointerMove={() => index !== activeIndex && onSelect(index)}
              onClick={() => onRun(entry)}
            >
              <Icon name={entry.icon} />
              <span>{entry.title}</span>
              {entry.hint && <small>{entry.hint}</small>}
            </div>
          ))}
        </div>
      )
    })}
  </div>
)

/** Returns the entries that match the text, ordered by group. */
function usePaletteEntries(text: Signal<string>): Entry[] {
  const contexts = useContexts()
  const name = useDebouncedText(text)
  const files = useQuery(filesDocument, { name }, { isEnabled: name !== '' && hasScope('metadata') })
  const wanted = text.value.trim().toLowerCase()
  const matchesSearchText = ({ title, hint }: Entry) => `${title} ${hint ?? ''}`.toLowerCase().includes(wanted)
  const contextEntries = contexts.list.map(
    ({ contextKey, displayName }): Entry => ({
      id: `context-${contextKey}`,
      group: 'contexts',
      title: displayName,
      hint: contextKey,
      icon: 'contexts',
      run: () => navigate(`/contexts/${contextKey}`),
    }),
  )
  const fileEntries =
    wanted === '' ? [] : toFileEntries(text.value.trim(), files.data?.filesConnection?.edges.map(({ node }) => node) ?? [])
  const shownContexts = wanted === '' ? contextEntries.slice(0, 5) : contextEntries.filter(matchesSearchText).slice(0, 8)
  return [
    ...getPageEntries().filter(matchesSearchText),
    ...getActionEntries().filter(matchesSearchText),
    ...shownContexts,
    ...fileEntries,
  ]
}

/** Returns the text only after a pause in typing. */
function useDebouncedText(text: Signal<string>): string {
  const delayed = useSignal('')
  const current = text.value.trim()
  useEffect(() => {
    const timer = setTimeout(() => (delayed.value = current), searchDelayMs)
    return () => clearTimeout(timer)
  }, [current])
  return delayed.value
}

function toFileEntries(
  searchText: string,
  files: readonly { id: string; originalFilename: string; contextKey: string }[],
): Entry[] {
  if (!hasScope('metadata')) return []
  const found = files
    .filter(({ originalFilename }) => originalFilename.toLowerCase().includes(searchText.toLowerCase()))
    .map(
      ({ id, originalFilename, contextKey }): Entry => ({
        id,
        group: 'files',
        title: originalFilename,
        hint: contextKey,
        icon: 'files',
        run: () => navigate(`/files/${id}`),
      }),
    )
  const search: Entry = {
    id: 'search-files',
    group: 'files',
    title: t.searchFiles(searchText),
    icon: 'search',
    run: () => navigate(`/files?search=${encodeURIComponent(searchText)}`),
  }
  return [...found, search]
}

const getPageEntries = (): Entry[] => [
  ...getVisibleViews().map(
    ({ name, title, icon }): Entry => ({
      id: `page-${name}`,
      group: 'pages',
      title,
      icon,
      run: () => navigate(`/${name}`),
    }),
  ),
  { id: 'page-account', group: 'pages', title: texts.nav.account, icon: 'person', run: () => navigate('/account') },
]

function getActionEntries(): Entry[] {
  const createActionEntry = (id: string, title: string, icon: IconName, address: string, scope: Scope): Entry[] =>
    hasScope(scope) ? [{ id, group: 'actions', title, icon, run: () => navigate(address) }] : []
  const nextTheme = getComputedStyle(document.documentElement).colorScheme === 'dark' ? 'light' : 'dark'
  return [
    ...createActionEntry('verify', texts.proof.verify, 'proof', '/proof', 'metadata'),
    ...createActionEntry('upload', texts.files.upload, 'upload', '/files', 'upload'),
    ...createActionEntry('new-context', texts.contexts.newTitle, 'plus', '/contexts/new-context', 'admin'),
    ...createActionEntry('new-key', texts.keys.newTitle, 'plus', '/keys?new=1', 'admin'),
    ...createActionEntry('new-user', texts.users.newTitle, 'plus', '/users?new=1', 'admin'),
    ...createActionEntry('new-webhook', texts.webhooks.newTitle, 'plus', '/webhooks?new=1', 'admin'),
    { id: 'theme', group: 'actions', title: t.useTheme[nextTheme], icon: 'sun', run: () => (theme.value = nextTheme) },
    { id: 'sign-out', group: 'actions', title: texts.nav.signOut, icon: 'out', run: signOut },
  ]
}
